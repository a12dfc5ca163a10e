"""Translates a machine into simulator input: text for native/simgrid/platform.cpp, and SMPI's options."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.machine.modelled.machine import LEVELS, MPICH_VERSIONS, Machine, segment_numbers

_LIST_END = "-"
_UNLIMITED = 1e15  # in B/s
_NEVER_BYTES = 1e18  # longer than any message
_MOST_BYTES = 2**31 - 1  # SMPI's options are of C's type int


class _Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._links = 0

    def add(self, *words: object) -> None:
        self.lines.append(" ".join(map(_word, words)))

    def link(self, rate: float) -> int:
        self.add("link", rate)
        self._links += 1
        return self._links - 1


def _word(word: object) -> str:
    if isinstance(word, float):
        return f"{word:.17g}"
    if isinstance(word, list | tuple):
        return ",".join(map(str, word)) or _LIST_END
    return str(word)


def platform(machine: Machine) -> str:
    """Return the platform description of all nodes; nodes without ranks do not slow the simulation down."""
    text = _Lines()
    if version := MPICH_VERSIONS.get(machine.words["mpi.collectives"]):
        text.add("mpich", version, machine.number("mpi.collective.allgather_short") or -1)
    nics = [_nic(machine, text) for _ in range(machine.nodes)]
    buses = [_buses(machine, text) for _ in range(machine.nodes)]
    _network(machine, text, nics)
    if "nic.bucket_out" in machine.numbers:
        sizes = [machine.numbers[f"nic.{word}"].value for word in ("bucket_out", "bucket_in", "packet")]
        trailer = machine.number("nic.trailer_from")
        # Bytes that pass at once save the time that the slower of adapter and cable would need for them.
        rate = min(machine.numbers[place].value for place in ("nic.bandwidth", "topology.link"))
        frames = (machine.number("nic.frame") or 1, machine.number("nic.header") or 0)
        text.add("bucket", *sizes, _NEVER_BYTES if trailer is None else trailer, rate, *frames)
    if machine.one_connection:
        text.add("one_connection")
    for node in range(machine.nodes):
        _cores(machine, text, node, buses[node], nics[node])
    if cache := machine.number("memory.message_cache"):
        memory = machine.numbers["memory.bandwidth"].value
        count = machine.whole("node.sockets") if machine.words["memory.buses"] == "socket" else 1
        cold = (machine.numbers["memory.cold_passes"].value, machine.numbers["core.memory_bandwidth"].value)
        levels = len(LEVELS) if machine.words.get("core.copy_reach") == "network" else len(LEVELS) - 1
        text.add("cold", cache, *cold, memory * count, levels)
    for level, name in enumerate(LEVELS):
        for segment in machine.segments[name]:
            text.add("segment", level, *segment_numbers(segment))
        if name in machine.in_flight:
            text.add("in_flight", level, machine.in_flight[name].value)
    if crowd := machine.number("mpi.crossing_ranks"):
        text.add("crossing_ranks", int(crowd))
    packing = [machine.number(f"mpi.collective.{key}") or 0.0 for key in ("block", "per_byte")]
    if any(packing):
        text.add("packing", *packing)
    if "mpi.shared_memory.latency" in machine.numbers:
        keys = ("latency", "flag", "bandwidth", "largest")
        text.add("shared_memory", *(machine.numbers[f"mpi.shared_memory.{key}"].value for key in keys))
    if machine.node_aware:
        text.add("node_aware")
    return "\n".join(text.lines) + "\n"


def _nic(machine: Machine, text: _Lines) -> tuple[list[int], list[int]]:
    """Return the links that all traffic out of a node crosses, and those of all traffic into it."""
    rate = machine.numbers["nic.bandwidth"].value
    out, into = [text.link(rate)], [text.link(rate)]
    if bus := machine.number("nic.host_bus"):
        first = text.link(bus)
        out.insert(0, first)
        into.append(first if machine.words["nic.host_bus_duplex"] == "half" else text.link(bus))
    return out, into


def _buses(machine: Machine, text: _Lines) -> list[int]:
    """Return the memory bus of each socket; sockets may share one."""
    rate = machine.numbers["memory.bandwidth"].value
    sockets = machine.whole("node.sockets")
    if machine.words["memory.buses"] == "node":
        return [text.link(rate)] * sockets
    return [text.link(rate) for _ in range(sockets)]


def _network(machine: Machine, text: _Lines, nics: Sequence[tuple[list[int], list[int]]]) -> None:
    network = machine.network
    memory = int(machine.numbers["node.memory"].value / machine.cores_per_node)
    for node in range(machine.nodes):
        cross = machine.number("interconnect.bandwidth")
        between = [text.link(cross)] if cross and machine.whole("node.sockets") > 1 else []
        cache = int(machine.numbers["node.cache"].value)
        text.add("node", f"n{node}", network.node_divisor, memory, cache, between)
    for divisor in network.divisors:
        text.add("switch", divisor)
    link, hop = machine.numbers["topology.link"].value, machine.numbers["topology.hop"].value
    for arc in network.arcs:
        costs = hop if network.hop_costs(arc) else 0.0
        # A link at least as fast as the node's adapter never limits; leaving it out speeds the simulation up.
        at_node = not network.direct and min(arc.start, arc.end) < network.nodes
        idle = at_node and link * arc.width >= machine.numbers["nic.bandwidth"].value
        text.add("arc", arc.start, arc.end, -1 if idle else text.link(link * arc.width), costs)


def _cores(
    machine: Machine, text: _Lines, node: int, buses: Sequence[int], nic: tuple[list[int], list[int]]
) -> None:
    """Add the links of each core: to memory, and for copying messages at the core's copy rate."""
    passes, far = machine.whole("memory.passes"), machine.whole("memory.network_passes")
    copies = machine.number("core.copy_bandwidth")
    cached = "memory.message_cache" in machine.numbers
    per_socket = machine.whole("node.cores")
    for core in range(machine.cores_per_node):
        socket = core // per_socket
        bus = buses[socket]
        to_memory = text.link(machine.numbers["core.memory_bandwidth"].value)
        sends: list[int] = []
        receives: list[int] = []
        if copies:
            sends = [text.link(copies)]
            half = machine.words["core.copy_duplex"] == "half"
            receives = sends if half else [text.link(copies)]
        # Messages that stay in the cache load no bus; a route needs a link, though.
        near = (
            ([text.link(_UNLIMITED)], [])
            if cached
            else ([bus] * (passes // 2), [bus] * (passes - passes // 2))
        )
        # With DMA, the adapter moves messages that leave the node, and no processor copies them.
        by_adapter = machine.words.get("core.copy_reach") == "node"
        far_sends, far_receives = ([], []) if by_adapter else (sends, receives)
        text.add(
            *("core", node, socket, core, machine.numbers["core.flops"].value),
            [to_memory, bus],
            [*sends, *near[0]],
            [*near[1], *receives],
            [*far_sends, *[bus] * far, *nic[0]],
            [*nic[1], *[bus] * far, *far_receives],
        )


def options(machine: Machine) -> dict[str, str]:
    """Return SMPI's configuration, passed to smpirun as --cfg name:value."""
    eager = str(min(int(machine.numbers["mpi.eager"].value), _MOST_BYTES))
    collectives = machine.words["mpi.collectives"]
    selector = "mpich" if collectives in MPICH_VERSIONS else collectives
    return {
        "smpi/privatization": "no",
        "smpi/simulate-computation": "no",
        "smpi/shared-malloc": "global",
        "smpi/test": "1e-7",
        "smpi/iprobe": "1e-7",
        "smpi/async-small-thresh": eager,
        "smpi/send-is-detached-thresh": eager,
        **({} if selector == "default" else {"smpi/coll-selector": selector}),
        **{f"smpi/{name}": algorithm for name, algorithm in sorted(machine.algorithms.items())},
        # The platform sets the rates of flows and how they share links (native/simgrid/platform.cpp).
        "network/TCP-gamma": "2e9",
        "network/optim": "Full",
        "network/weight-S": "0",
        "network/crosstraffic": "0",
        "surf/precision": "1e-12",
    }


def host(node: int, core: int) -> str:
    """Return the platform's name of a core."""
    return f"c{node}.{core}"
