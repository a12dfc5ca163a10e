"""Machine files (docs/reference/machines.md): parts of a modelled machine, every number with its source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kiviat.machine.modelled import networks
from kiviat.machine.modelled.networks import Network
from kiviat.machine.modelled.quantity import Quantity, read_quantity
from kiviat.machine.topology import Node, Topology
from kiviat.record import InputError, data_path
from kiviat.record.files import read_toml
from kiviat.record.published import uses
from kiviat.record.schema import refuse_other_version
from kiviat.record.site import by_name
from kiviat.record.suggestion import suggestion

MACHINE_SCHEMA = "kiviat.machine/1"
LEVELS = ("socket", "node", "network")

# Unit of each number by its key, and whether it is required.
_FIELDS: Mapping[str, tuple[str, bool]] = {
    "node.count": ("1", True),
    "node.sockets": ("1", True),
    "node.cores": ("1", True),
    "node.memory": ("B", True),
    "node.cache": ("B", True),
    "core.flops": ("flop/s", True),
    "core.memory_bandwidth": ("B/s", True),
    "core.copy_bandwidth": ("B/s", False),
    "memory.bandwidth": ("B/s", True),
    "memory.passes": ("1", True),
    "memory.network_passes": ("1", True),
    "memory.message_cache": ("B", False),
    "memory.cold_passes": ("1", False),
    "interconnect.bandwidth": ("B/s", False),
    "nic.bandwidth": ("B/s", True),
    "nic.host_bus": ("B/s", False),
    "nic.bucket_out": ("B", False),
    "nic.bucket_in": ("B", False),
    "nic.packet": ("B", False),
    "nic.trailer_from": ("B", False),
    "nic.frame": ("B", False),
    "nic.header": ("B", False),
    "topology.link": ("B/s", True),
    "topology.hop": ("s", True),
    "mpi.eager": ("B", True),
    "mpi.crossing_ranks": ("1", False),
    "mpi.collective.block": ("s", False),
    "mpi.collective.per_byte": ("s/B", False),
    "mpi.collective.allgather_short": ("B", False),
    "mpi.shared_memory.latency": ("s", False),
    "mpi.shared_memory.flag": ("s", False),
    "mpi.shared_memory.bandwidth": ("B/s", False),
    "mpi.shared_memory.largest": ("B", False),
    "power.node": ("W", False),
}
_SEGMENT: Mapping[str, tuple[str, bool]] = {
    "from": ("B", True),
    "latency": ("s", True),
    "bandwidth": ("B/s", True),
    "send": ("s", False),
    "send_per_byte": ("s/B", False),
    "receive": ("s", False),
    "receive_per_byte": ("s/B", False),
    "after": ("s", False),
    "crossing": ("s", False),
    "crossing_per_byte": ("s/B", False),
}
# Values of mpi.collectives that stand for the decisions of a version of MPICH itself.
MPICH_VERSIONS: Mapping[str, int] = {"mpich3": 3, "mpich4": 4}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "memory.buses": ("socket", "node"),
    "core.copy_duplex": ("half", "full"),
    "core.copy_reach": ("node", "network"),
    "nic.host_bus_duplex": ("half", "full"),
    "mpi.collectives": ("mpich", *MPICH_VERSIONS, "ompi", "mvapich2", "impi", "default"),
}
# Places of the numbers and words of a machine file, and the costs of a message in a segment.
NUMBERS, WORDS = _FIELDS.keys(), _WORDS.keys()
SWITCHES = ("node_aware", "one_connection")  # keys of [mpi] that are true or false
PARTS = tuple(part for part in _SEGMENT if part != "from")
# Collectives for which SMPI accepts an algorithm.
_COLLECTIVES = {
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier"),
    *("bcast", "gather", "reduce", "reduce_scatter", "scatter"),
}
_ALGORITHM = re.compile(r"\w+")
_MOST_CORES = 8_000_000  # the platform text has a line for each
_MOST_PASSES = 64
_TABLES = {"sources", "node", "core", "memory", "interconnect", "nic", "topology", "mpi", "power"}
_TEXTS = {"title", "summary", "uncalibrated"}
_LISTS = {"calibrated_on", "open_questions", "losses"}
# Keys that a variant does not inherit, because they describe the file itself.
_OWN = ("summary", "uncalibrated", "published")
_TOGETHER = (
    *(("core.copy_bandwidth", "core.copy_duplex"), ("core.copy_bandwidth", "core.copy_reach")),
    ("nic.host_bus", "nic.host_bus_duplex"),
)
_BUCKET = ("nic.bucket_out", "nic.bucket_in", "nic.packet")
_FRAMES = ("nic.frame", "nic.header")
_COLD = ("memory.message_cache", "memory.cold_passes")
_SHARED = tuple(f"mpi.shared_memory.{key}" for key in ("latency", "flag", "bandwidth", "largest"))
# Rates that a data sheet, STREAM or DGEMM on one core provides.
_CORE_RATES = ("core.flops", "core.memory_bandwidth")
_TOP = {
    *("schema", "name", "title", "summary", "version", "base", "uncalibrated", "calibrated_on"),
    *("open_questions", "losses", "sources", "node", "core", "memory", "interconnect", "nic", "topology"),
    *("mpi", "power", "published"),
}


@dataclass(frozen=True)
class Segment:
    """Costs of messages of at least `start_bytes` between two ranks of a level."""

    start_bytes: float
    latency: Quantity
    bandwidth: Quantity
    send: Quantity | None
    send_per_byte: Quantity | None
    receive: Quantity | None
    receive_per_byte: Quantity | None
    after: Quantity | None
    crossing: Quantity | None
    crossing_per_byte: Quantity | None


@dataclass(frozen=True)
class Machine:
    """A modelled machine. Keys of `numbers` are places in the file, such as "nic.bandwidth".

    `uncalibrated` is the reason why no published row was fitted. `base_rows` are the published rows that the
    base of a variant was fitted to, or the machine before changes; the changed machine need not fit them.

    `published` has the (machine, mode) names of its results in published/. `node_aware` collectives go
    through one rank of each node (native/simgrid/smpi_overrides/node_aware.hpp). With `one_connection`, a
    rendezvous waits for one of the opposite direction (native/simgrid/platform.cpp). `changes`
    are those with which the file was loaded.
    """

    name: str
    title: str
    summary: str
    version: int
    path: Path
    base: str | None
    uncalibrated: str | None
    calibrated_on: tuple[str, ...]
    base_rows: tuple[str, ...]
    open_questions: tuple[str, ...]
    losses: tuple[str, ...]
    published: tuple[tuple[str, str], ...]
    sources: Mapping[str, str]
    numbers: Mapping[str, Quantity]
    words: Mapping[str, str]
    topology_kind: str
    topology_parameters: Mapping[str, tuple[int, ...]]
    segments: Mapping[str, tuple[Segment, ...]]
    in_flight: Mapping[str, Quantity]
    algorithms: Mapping[str, str]
    node_aware: bool = False
    one_connection: bool = False
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def switches(self) -> dict[str, bool]:
        """Return the position of each of SWITCHES."""
        return {key: getattr(self, key) for key in SWITCHES}

    def number(self, place: str) -> float | None:
        """Return the number at `place` in SI units, None if the file has none."""
        quantity = self.numbers.get(place)
        return None if quantity is None else quantity.value

    def whole(self, place: str) -> int:
        """Return an integer parameter, such as "node.cores". Raise KeyError if the file lacks it."""
        return int(self.numbers[place].value)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.whole("node.count")

    @property
    def cores_per_node(self) -> int:
        """Cores of all sockets of a node."""
        return self.whole("node.sockets") * self.whole("node.cores")

    @property
    def cores(self) -> int:
        """Cores of all nodes."""
        return self.nodes * self.cores_per_node

    @cached_property
    def network(self) -> Network:
        """The nodes, switches and arcs of the network. Raise InputError for impossible parameters."""
        return networks.build(
            self.topology_kind, self.nodes, self.topology_parameters, f"topology of {self.path}"
        )

    def topology(self) -> Topology:
        """Return the nodes with their sockets and cores; a node's cores are numbered socket by socket."""
        per_socket = self.whole("node.cores")
        sockets = tuple(
            tuple(range(socket * per_socket, (socket + 1) * per_socket))
            for socket in range(self.whole("node.sockets"))
        )
        return Topology(tuple(Node(f"n{index}", sockets) for index in range(self.nodes)))

    @property
    def hash(self) -> str:
        """SHA-256 of everything that a simulation depends on; titles, notes and sources are excluded."""
        # Hashes the network itself, not its name, because its construction may change.
        network = self.network
        arcs = [(arc.start, arc.end, arc.width) for arc in network.arcs]
        facts = [repr((network.node_divisor, network.divisors, arcs, sorted(network.relays)))]
        facts += [f"{place}={number.value!r}" for place, number in sorted(self.numbers.items())]
        facts += [f"{place}={word}" for place, word in sorted({**self.words, **self.algorithms}.items())]
        facts += [f"in_flight {level}={number.value!r}" for level, number in sorted(self.in_flight.items())]
        facts += [f"mpi.{key}" for key, on in self.switches.items() if on]
        for level, segments in sorted(self.segments.items()):
            for segment in segments:
                numbers = segment_numbers(segment)
                facts.append(f"{level} {numbers[: _hashed(segment)]!r}")
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _hashed(segment: Segment) -> int:
    """Return how many of `segment_numbers` the hash covers: earlier hashes did not cover the last three."""
    return 10 if segment.crossing or segment.crossing_per_byte else 8 if segment.after else 7


def about(machine: Machine) -> dict[str, Any]:
    """Return the JSON description of a machine: identity, size and calibration rows."""
    return {
        "name": machine.name,
        "title": machine.title,
        "summary": machine.summary,
        "version": machine.version,
        "hash": machine.hash,
        "base": machine.base,
        "nodes": machine.nodes,
        "sockets": machine.whole("node.sockets"),
        "cores": machine.whole("node.cores"),
        "topology": {
            "kind": machine.topology_kind,
            "parameters": {name: list(values) for name, values in machine.topology_parameters.items()},
        },
        "calibrated_on": list(machine.calibrated_on),
        "uncalibrated": machine.uncalibrated,
    }


def segment_numbers(segment: Segment) -> tuple[float, ...]:
    """Return the numbers of a segment in SI units, in the order of machine files; 0 for missing ones."""
    of_processors = (segment.send, segment.send_per_byte, segment.receive, segment.receive_per_byte)
    optional = (*of_processors, segment.after, segment.crossing, segment.crossing_per_byte)
    fixed = (segment.start_bytes, segment.latency.value, segment.bandwidth.value)
    return (*fixed, *(0.0 if quantity is None else quantity.value for quantity in optional))


def unit_of(place: str) -> str | None:
    """Return the unit of a number that machine files may have, such as "core.copy_bandwidth", else None.

    Costs of messages are "mpi.LEVEL.PART", for all segments of a level.
    """
    if place in _FIELDS:
        return _FIELDS[place][0]
    table, _, key = place.partition(".")
    level, _, part = key.partition(".")
    if table != "mpi":
        return None
    if level == "in_flight":
        return "B" if part in LEVELS else None
    return _SEGMENT[part][0] if level in LEVELS and part in _SEGMENT else None


def machines() -> dict[str, Path]:
    """Return the machine files by name, Kiviat's and those of sites; frozen.toml is not a machine."""
    return {
        name: path for name, path in by_name("machines", data_path("machines")).items() if name != "frozen"
    }


def find_machine(name: str) -> Machine:
    """Return the known machine of that name, or load the file at that path."""
    known = machines()
    if name in known:
        return load_machine(known[name])
    path = Path(name)
    if "/" in name or name.endswith(".toml"):
        return load_machine(path)
    raise InputError(
        f"there is no machine {name!r}"
        + suggestion(name, known, "`kiviat model list` lists them, and a path names your own file")
    )


def load_machine(path: Path, changes: Mapping[str, Any] | None = None) -> Machine:
    """Read and check a machine file. `changes` replace or add parts, as a variant does with its base.

    Raise InputError for anything invalid.
    """
    data = _table(path)
    # Changes apply to the whole: what a variant inherits, such as the kind of its topology, decides on them.
    whole = _merged(_with_base(data, path), changes or {})
    if changes:
        whole["base_rows"] = [*whole.get("base_rows", ()), *whole.pop("calibrated_on", ())]
        whole.setdefault("uncalibrated", f"{path.stem} with changes: its fit may not hold for them")
    try:
        return _machine(whole, path, changes or {})
    except InputError:
        if base := data.get("base"):
            load_machine(_base_path(base, path))  # errors of the base name the base's file
        raise


def with_changes(machine: Machine, changes: Mapping[str, Any]) -> Machine:
    """Return the machine with `changes` on top of those that it already has."""
    return load_machine(machine.path, _merged(machine.changes, changes))


def _table(path: Path) -> dict[str, Any]:
    """Return a machine file's data, whose keys are its own and whose lists have texts."""
    try:
        data = read_toml(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be read as a machine file: {reason}; correct it") from None
    for key in {"base_name", "base_rows"} & set(data):  # of `_with_base`
        raise InputError(f"unknown key {key!r} in {path}; known: {', '.join(sorted(_TOP))}")
    for key in _LISTS & set(data):
        if not isinstance(data[key], list) or not all(isinstance(word, str) for word in data[key]):
            raise InputError(f"{key} is {data[key]!r} in {path}; give a list of texts")
    return data


def _with_base(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return `data` merged over its bases; keys in `_OWN` are not inherited."""
    chain = [path.stem]
    first = data.get("base")
    says = {"uncalibrated", "calibrated_on"} & set(data)
    while name := data.get("base"):
        if not isinstance(name, str):
            raise InputError(f"base is {name!r} in {path}; give the name of a machine")
        if name in chain:
            raise InputError(f"{path}: circular base ({' → '.join([*chain, name])})")
        chain.append(name)
        at = _base_path(name, path)
        if not at.exists():
            raise InputError(
                f"base is {name!r} in {path}, which is neither a known machine nor the file {at}; "
                "`kiviat model list` lists them"
            )
        base = _table(at)
        own = {key: value for key, value in data.items() if key != "base"}
        data = _merged({k: v for k, v in base.items() if k not in _OWN}, own)
    if first:
        data["base_name"] = first
        if "calibrated_on" not in says:
            data["base_rows"] = data.pop("calibrated_on", [])
        if not says:
            data["uncalibrated"] = f"a variant of {first}, whose fit may not hold for it"
    return data


def _base_path(name: str, path: Path) -> Path:
    beside = path.parent / f"{name}.toml"
    return beside if beside.exists() else machines().get(name, beside)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the tables of `over` merged in; numbers and other topologies are replaced."""
    merged = dict(base)
    for key, value in over.items():
        here = merged.get(key)
        if not isinstance(value, dict) or not isinstance(here, dict) or "value" in value or "value" in here:
            merged[key] = value
        elif key == "topology" and value.get("kind", here.get("kind")) != here.get("kind"):
            merged[key] = {**{k: v for k, v in here.items() if k in ("link", "hop")}, **value}
        else:
            merged[key] = _merged(here, value)
    return merged


def _machine(data: dict[str, Any], path: Path, changes: Mapping[str, Any]) -> Machine:
    where = str(path)
    base, base_rows = data.pop("base_name", None), data.pop("base_rows", ())
    if "schema" not in data:
        raise InputError(f'{path} lacks "schema"; a machine file begins with schema = "{MACHINE_SCHEMA}"')
    try:
        refuse_other_version(data.get("schema"), MACHINE_SCHEMA)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    for key in data:
        if key not in _TOP:
            raise InputError(f"unknown key {key!r} in {where}; known: {', '.join(sorted(_TOP))}")
    for key in ("name", "title", "summary", "version", "sources", "topology", "mpi"):
        if key not in data:
            raise InputError(f"{where} lacks {key!r}; docs/reference/machines.md describes machine files")
    for key in _TABLES & set(data):
        if not isinstance(data[key], dict):
            raise InputError(f"{key} is {data[key]!r} in {where}; it must be a table, [{key}]")
    for key in _TEXTS & set(data):
        if not isinstance(data[key], str) or not data[key].strip():
            raise InputError(f"{key} is {data[key]!r} in {where}; give a text")
    for key, text in data["sources"].items():
        if not isinstance(text, str):
            raise InputError(f"sources.{key} is {text!r} in {where}; give a text")
    if data["name"] != path.stem:
        raise InputError(f"name is {data['name']!r} in {where}; give the name of the file, {path.stem!r}")
    if type(data["version"]) is not int or data["version"] < 1:
        raise InputError(f"version is {data['version']!r} in {where}; give a whole number of at least 1")
    sources = data["sources"]
    numbers, words = _numbers(data, sources, where)
    kind, parameters = _topology(data["topology"], where)
    segments, in_flight = _levels(data["mpi"], sources, where)
    machine = Machine(
        name=data["name"],
        title=data["title"],
        summary=data["summary"],
        version=data["version"],
        path=path,
        base=base,
        uncalibrated=data.get("uncalibrated") or _unsaid(data, segments),
        calibrated_on=tuple(data.get("calibrated_on", ())),
        base_rows=tuple(base_rows),
        open_questions=tuple(data.get("open_questions", ())),
        losses=tuple(data.get("losses", ())),
        published=_published(data.get("published", []), where),
        sources=sources,
        numbers=numbers,
        words=words,
        topology_kind=kind,
        topology_parameters=parameters,
        segments=segments,
        in_flight=in_flight,
        algorithms=_algorithms(data["mpi"], where),
        node_aware=_switch(data["mpi"], "node_aware", where, words["mpi.collectives"] in MPICH_VERSIONS),
        one_connection=_switch(data["mpi"], "one_connection", where, False),
        changes=changes,
    )
    _refuse_contradictions(machine)
    return machine


def _numbers(
    data: Mapping[str, Any], sources: Mapping[str, str], where: str
) -> tuple[dict[str, Quantity], dict[str, str]]:
    numbers: dict[str, Quantity] = {}
    words: dict[str, str] = {}
    for table in ("node", "core", "memory", "interconnect", "nic", "power"):
        for key, value in data.get(table, {}).items():
            place = f"{table}.{key}"
            if place in _WORDS:
                words[place] = _word(value, place, where)
            elif place in _FIELDS:
                numbers[place] = read_quantity(value, _FIELDS[place][0], f"{place} of {where}", sources)
            else:
                raise InputError(f"unknown {place!r} in {where}; docs/reference/machines.md lists the keys")
    for place in ("topology.link", "topology.hop", "mpi.eager", "mpi.crossing_ranks"):
        table, key = place.split(".")
        if key in data[table]:
            numbers[place] = read_quantity(
                data[table][key], _FIELDS[place][0], f"{place} of {where}", sources
            )
    for table in ("collective", "shared_memory"):
        for key, value in _table_of(data["mpi"], table, where).items():
            place = f"mpi.{table}.{key}"
            if place not in _FIELDS:
                raise InputError(f"unknown {place!r} in {where}; docs/reference/machines.md lists the keys")
            numbers[place] = read_quantity(value, _FIELDS[place][0], f"{place} of {where}", sources)
    if "collectives" not in data["mpi"]:
        raise InputError(f"{where} lacks mpi.collectives; give one of {', '.join(_WORDS['mpi.collectives'])}")
    words["mpi.collectives"] = _word(data["mpi"].get("collectives"), "mpi.collectives", where)
    for place, (_, needed) in _FIELDS.items():
        if needed and place not in numbers:
            raise InputError(f"{where} lacks {place}; every machine needs it")
    if "memory.buses" not in words:
        raise InputError(f'{where} lacks memory.buses; set it to "socket" or "node"')
    return numbers, words


def _published(rows: object, where: str) -> tuple[tuple[str, str], ...]:
    known = {"machine", "mode"}
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and "machine" in row and known.issuperset(row) for row in rows
    ):
        raise InputError(f"published is {rows!r} in {where}; give a list of {{ machine = …, mode = … }}")
    for row in rows:
        if not all(isinstance(word, str) for word in row.values()):
            raise InputError(f"published has {row!r} in {where}; give texts")
    return tuple((row["machine"], row.get("mode", "")) for row in rows)


def _word(value: object, place: str, where: str) -> str:
    if value not in _WORDS[place]:
        raise InputError(f"{place} is {value!r} in {where}; give one of {', '.join(_WORDS[place])}")
    return str(value)


def _topology(data: Mapping[str, Any], where: str) -> tuple[str, dict[str, tuple[int, ...]]]:
    parameters = {}
    for key, value in data.items():
        if key in ("kind", "link", "hop"):
            continue
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(number, int) and not isinstance(number, bool) for number in listed):
            raise InputError(f"topology.{key} is {value!r} in {where}; give whole numbers")
        parameters[key] = tuple(listed)
    if "kind" not in data:
        raise InputError(f"{where} lacks topology.kind; give one of {', '.join(networks.KINDS)}")
    return str(data["kind"]), parameters


def _levels(
    mpi: Mapping[str, Any], sources: Mapping[str, str], where: str
) -> tuple[dict[str, tuple[Segment, ...]], dict[str, Quantity]]:
    segments = {}
    for level in LEVELS:
        rows = mpi.get(level, [])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(f"mpi.{level} in {where} is not a list of tables; write [[mpi.{level}]]")
        read = [_segment(row, f"mpi.{level}[{i}] of {where}", sources) for i, row in enumerate(rows)]
        if read:
            starts = [segment.start_bytes for segment in read]
            if starts[0] != 0 or starts != sorted(set(starts)):
                raise InputError(
                    f"mpi.{level} of {where} has segments from {starts} B on; give ascending sizes from 0 B "
                    "on"
                )
            segments[level] = tuple(read)
    for level in ("node", "network"):
        if level not in segments:
            raise InputError(f"{where} lacks [[mpi.{level}]]; give the costs of messages")
    segments.setdefault("socket", segments["node"])
    in_flight = {}
    for level, value in _table_of(mpi, "in_flight", where).items():
        if level not in LEVELS:
            raise InputError(f"unknown level mpi.in_flight.{level} in {where}; known: {', '.join(LEVELS)}")
        in_flight[level] = read_quantity(value, "B", f"mpi.in_flight.{level} of {where}", sources)
        if not in_flight[level].value:
            raise InputError(f"mpi.in_flight.{level} is 0 in {where}; leave it out where there is no limit")
    known = {"eager", "crossing_ranks", "collective", "collectives", *SWITCHES, "algorithms", "in_flight"}
    known.update(LEVELS, ("shared_memory",))
    for key in mpi:
        if key not in known:
            raise InputError(f"unknown mpi.{key} in {where}; known: {', '.join(sorted(known))}")
    return segments, in_flight


def _segment(row: Mapping[str, Any], where: str, sources: Mapping[str, str]) -> Segment:
    for key in row:
        if key not in _SEGMENT:
            raise InputError(f"unknown key {key!r} in {where}; known: {', '.join(_SEGMENT)}")
    read: dict[str, Quantity | None] = {}
    for key, (unit, needed) in _SEGMENT.items():
        if needed and key not in row:
            raise InputError(f"{where} lacks {key!r}; every segment needs it")
        read[key] = read_quantity(row[key], unit, f"{key} of {where}", sources) if key in row else None
    start, latency, bandwidth = read["from"], read["latency"], read["bandwidth"]
    assert start and latency and bandwidth
    if not bandwidth.value:
        raise InputError(f"bandwidth of {where} is 0; give more than 0")
    optional = (read[key] for key, (_, needed) in _SEGMENT.items() if not needed)
    return Segment(start.value, latency, bandwidth, *optional)


def _algorithms(mpi: Mapping[str, Any], where: str) -> dict[str, str]:
    given = _table_of(mpi, "algorithms", where)
    for name, algorithm in given.items():
        if name not in _COLLECTIVES:
            raise InputError(
                f"unknown mpi.algorithms.{name} in {where}; known: {', '.join(sorted(_COLLECTIVES))}"
            )
        if not isinstance(algorithm, str) or not _ALGORITHM.fullmatch(algorithm):
            raise InputError(
                f"mpi.algorithms.{name} is {algorithm!r} in {where}; give one of SMPI's algorithms"
            )
    return dict(given)


def _table_of(mpi: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    given = mpi.get(key, {})
    if not isinstance(given, dict):
        raise InputError(f"mpi.{key} is {given!r} in {where}; it must be a table, [mpi.{key}]")
    return given


def _switch(mpi: Mapping[str, Any], key: str, where: str, default: bool) -> bool:
    given = mpi.get(key, default)
    if not isinstance(given, bool):
        raise InputError(f"mpi.{key} is {given!r} in {where}; give true or false")
    return given


def _unsaid(data: Mapping[str, Any], segments: Mapping[str, Sequence[Segment]]) -> str | None:
    """Return why a machine that does not declare it counts as uncalibrated; None if it was fitted."""
    network = (part for segment in segments["network"] for part in (segment.latency, segment.bandwidth))
    if data.get("calibrated_on") or any(number.confidence == "calibrated" for number in network):
        return None
    return "its file names no rows that it was fitted to"


def _refuse_contradictions(machine: Machine) -> None:
    where = str(machine.path)
    for place in ("node.count", "node.sockets", "node.cores", "memory.passes", "memory.network_passes"):
        quantity = machine.numbers[place]
        least = 0 if place == "memory.network_passes" else 1
        if not quantity.value.is_integer() or quantity.value < least:
            raise InputError(f"{place} is {quantity.text!r} in {where}; give a whole number from {least}")
        if place.endswith("passes") and quantity.value > _MOST_PASSES:
            raise InputError(f"{place} is {quantity.text!r} in {where}; give at most {_MOST_PASSES}")
    if (crowd := machine.numbers.get("mpi.crossing_ranks")) and not crowd.value.is_integer():
        raise InputError(f"mpi.crossing_ranks is {crowd.text!r} in {where}; give a whole number of ranks")
    if machine.cores > _MOST_CORES:
        raise InputError(
            f"{where} has {machine.cores} cores, {machine.cores_per_node} on each node; "
            f"give at most {_MOST_CORES}"
        )
    for place, quantity in machine.numbers.items():
        if quantity.value == 0 and place not in ("topology.hop", "memory.network_passes", "mpi.eager"):
            raise InputError(f"{place} is {quantity.text!r} in {where}; give more than 0")
    core, memory = machine.numbers["core.memory_bandwidth"], machine.numbers["memory.bandwidth"]
    if core.value > memory.value:
        raise InputError(
            f"core.memory_bandwidth is {core.text!r} and memory.bandwidth {memory.text!r} in {where}: "
            "one core cannot exceed all cores together"
        )
    for value, word in _TOGETHER:
        if (value in machine.numbers) != (word in machine.words):
            raise InputError(f"{where} has only one of {value} and {word}; give both or neither")
    for together in (_BUCKET, _FRAMES, _COLD, _SHARED):
        if 0 < sum(place in machine.numbers for place in together) < len(together):
            raise InputError(f"{where} has only some of {', '.join(together)}; give all or none")
    of_buckets = [place for place in (_FRAMES[0], "nic.trailer_from") if place in machine.numbers]
    if of_buckets and _BUCKET[0] not in machine.numbers:
        raise InputError(f"{where} has {of_buckets[0]}, but not {', '.join(_BUCKET)}; set them, too")
    if (cold := machine.number("memory.cold_passes")) and cold > _MOST_PASSES:
        raise InputError(f"memory.cold_passes is {cold:g} in {where}; give at most {_MOST_PASSES}")
    if _SHARED[0] in machine.numbers and not machine.node_aware:
        raise InputError(f"{where} has mpi.shared_memory, but not mpi.node_aware = true; set it, too")
    if "mpi.collective.allgather_short" in machine.numbers and (
        machine.words["mpi.collectives"] not in MPICH_VERSIONS
    ):
        names = " or ".join(f'"{name}"' for name in MPICH_VERSIONS)
        raise InputError(f"mpi.collective.allgather_short in {where} needs mpi.collectives = {names}")
    _refuse_calibration(machine)
    machine.network  # noqa: B018  building it refuses wrong topologies


def _refuse_calibration(machine: Machine) -> None:
    """Raise InputError unless calibration used only rows of use "calibrate" and documented core rates."""
    of_cores = {
        source
        for place, number in machine.numbers.items()
        if place in _CORE_RATES
        for source in number.source
    }
    known = uses() if machine.calibrated_on else {}
    for name in machine.calibrated_on:
        if name not in known and name not in of_cores:
            raise InputError(
                f"calibrated_on names {name!r} in {machine.path}, which is neither a fact of published/ "
                f"nor a source of {' or '.join(_CORE_RATES)}; correct it"
            )
        if known.get(name, "calibrate") != "calibrate":
            raise InputError(
                f"calibrated_on names {name!r} in {machine.path}, which published/ keeps for "
                f"{known[name]!r}; a model is fitted to 'calibrate' rows only"
            )


def places(machine: Machine) -> Iterator[tuple[str, Quantity]]:
    """Yield the place in the file and the quantity of every number of a machine."""
    yield from machine.numbers.items()
    for level, segments in machine.segments.items():
        if level == "socket" and segments == machine.segments["node"]:
            continue  # inherited from the node level
        for index, segment in enumerate(segments):
            for key, value in vars(segment).items():
                if isinstance(value, Quantity):
                    yield f"mpi.{level}[{index}].{key}", value
    for level, quantity in machine.in_flight.items():
        yield f"mpi.in_flight.{level}", quantity


def assumed(machine: Machine) -> Iterator[tuple[str, Quantity]]:
    """Yield place and quantity of the numbers with confidence "low" or "assumed"."""
    for place, quantity in places(machine):
        if quantity.confidence in ("low", "assumed"):
            yield place, quantity
