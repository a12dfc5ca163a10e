"""Facts of runs in words: labels, machine, badges, transport, provenance."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.known_errors import PAGE, known_errors, shortly
from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.record.activity import LaunchActivity
from kiviat.record.run import Interface, Launch, Model, Placement, PlanOfRun, Run
from kiviat.record.units import UNAVAILABLE, counted, format_bytes, format_value, listed
from kiviat.report.facts.simulated_machines import network, nodes
from kiviat.report.html.figure import RunLabel
from kiviat.report.table import Column, Table, tabled

Facts = list[tuple[str, str]]

_CLOCK_WORDS = {"wall": "", "simulated": " (simulated)", "reported": " (as reported)"}


def labels(runs: Sequence[Run]) -> list[RunLabel]:
    """Return short, distinct labels: machine and MPI, and what else differs between runs that share both.

    Runs of one machine that differ in placement only are named by that.
    """
    plain, palettes = [_label(run) for run in runs], Counter[str]()
    differences = []
    for run, name in zip(runs, plain, strict=True):
        same = [other for other, its in zip(runs, plain, strict=True) if its == name]
        differences.append([one for one in _difference(run, same) if one] if len(same) > 1 else [])
    arranged = len(set(plain)) == 1 and all(
        words and {_shape(run), _placed(run)}.issuperset(words)
        for run, words in zip(runs, differences, strict=True)
    )
    found = []
    for run, name, words in zip(runs, plain, differences, strict=True):
        palette = "simulated" if run.clock == "simulated" else "categorical"
        colour = palette, palettes[palette]
        palettes[palette] += 1
        label = " · ".join(words) + _CLOCK_WORDS[run.clock] if arranged else " · ".join((name, *words))
        found.append(RunLabel(run.id, label, run.clock, colour))
    return found


def _difference(run: Run, same: Sequence[Run]) -> list[str]:
    """Return the facts that tell a run from others of its machine, as few as possible; "" where it has none.

    They are nodes and ranks on each, placement and binding, plan, start, identifier.
    """
    kept: list[_Fact] = []
    for fact in _DIFFERENCES:
        if len({fact(other) for other in same}) > 1:
            kept.append(fact)
            distinct = {tuple(one(other) for one in kept) for other in same}
            if len(distinct) == len(same):
                break
    # The fewest of these that still tell all runs apart.
    for fact in list(kept):
        rest = [one for one in kept if one is not fact]
        if rest and len({tuple(one(other) for one in rest) for other in same}) == len(same):
            kept = rest
    return [fact(run) for fact in kept]


def _shape(run: Run) -> str:
    """Return nodes and ranks on each, such as "16x1", of the largest launch; on one node "on node"."""
    world = max((launch.world or 0 for launch in run.launches), default=0)
    nodes = nodes_of(run, world) if world else None
    if nodes is None:
        return ""
    counts = Counter(nodes.of)
    if len(counts) == 1:
        return f"on node, {counted(world, 'rank')}"
    each = (
        f"{min(counts.values())}-{max(counts.values())}"
        if len(set(counts.values())) > 1
        else str(min(counts.values()))
    )
    return f"{len(counts)}x{each}"


def _placed(run: Run) -> str:
    """Return the requested placement and binding in a few words."""
    return ", ".join(filter(None, (run.place, run.bind)))


def _plan_name(run: Run) -> str:
    return run.plan.name if run.plan else ""


def _started(run: Run) -> str:
    """Return the start to the minute."""
    return run.created[:16].replace("T", " ")


def _identifier(run: Run) -> str:
    return run.id


_Fact = Callable[[Run], str]
_DIFFERENCES: tuple[_Fact, ...] = (_shape, _placed, _plan_name, _started, _identifier)


def _label(run: Run) -> str:
    """Return machine and MPI; simulated runs omit the MPI, which is the simulator's."""
    words = [machine_name(run)] + ([] if run.clock == "simulated" else run.mpis)
    return " · ".join(words) + _CLOCK_WORDS[run.clock]


def machine_name(run: Run) -> str:
    """Return the machine's name without "simulated:"."""
    return run.machine.name.removeprefix("simulated:")


def title(runs: Sequence[Run]) -> str:
    """Return the names of the machines, for the title of the page."""
    names = (machine_name(run) + (" (simulated)" if run.clock == "simulated" else "") for run in runs)
    machines = list(dict.fromkeys(names))
    if len(machines) > 3:
        return f"{len(machines)} machines"
    return " and ".join(filter(None, (", ".join(machines[:-1]), *machines[-1:]))) or "No runs"


@dataclass(frozen=True, slots=True)
class Badge:
    """A qualification of all numbers of a run. `kind` is plain, warning or simulated."""

    text: str
    kind: str
    meaning: str


_SIMULATED = Badge("Simulated", "simulated", "These times come from a model; nothing was measured.")
_UNCALIBRATED = "Uncalibrated network"
# The word for the times of a run, by its clock.
_VERBS = {"wall": "Measured", "simulated": "Simulated", "reported": "Ingested"}
_REPORTED = Badge("As reported", "plain", "Another program reported these values; there are no samples.")
_EMULATED = Badge("Emulated network", "warning", "Real MPI over emulated links of a set rate.")
_EMBEDDED = Badge(
    "Embedded MPI, not for publication",
    "warning",
    "This MPI came with a Python package, not with the machine.",
)
_DISTURBED = Badge("Disturbed", "warning", "Other programs used the processors: such results get no verdict.")
_OVERSUBSCRIBED = Badge("Oversubscribed", "warning", "More ranks than cores: such results get no verdict.")
_UNVERIFIED = Badge("Unverified", "warning", "An older Kiviat wrote no checksums: damage cannot be detected.")
_TCP = Badge("Fell back to TCP", "warning", "MPI did not use the faster network.")


def badges(run: Run) -> list[Badge]:
    """Return all badges that apply to a run."""
    launches = run.launches
    unfinished = Badge("Incomplete", "warning", f"This run is {run.state}; cases are missing.")
    conditions = (
        (_DISTURBED, any(launch.activity and launch.activity.disturbed for launch in launches)),
        (_SIMULATED, run.clock == "simulated"),
        (_uncalibrated(run.machine.model), bool(run.machine.model and run.machine.model.uncalibrated)),
        (_REPORTED, run.clock == "reported"),
        (_EMULATED, run.substrate == "emulated"),
        (_EMBEDDED, any(launch.embedded for launch in launches)),
        (_OVERSUBSCRIBED, any(launch.oversubscribed for launch in launches)),
        (_TCP, any(launch.transport.fallback_to_tcp for launch in launches)),
        (_UNVERIFIED, run.unverified > 0),
        (unfinished, run.state != "complete"),
    )
    return [badge for badge, applies in conditions if applies]


def _uncalibrated(model: Model | None) -> Badge:
    known = known_errors(model) if model else None
    if known and known.tested:
        meaning = "No published result calibrated it; its known error is stated above."
    elif known and known.stale:
        meaning = (
            f"No published result calibrated it, and it was not validated since the model changed ({PAGE})."
        )
    else:
        meaning = "No published result of this network calibrated or validated the model."
    return Badge(_UNCALIBRATED, "warning", meaning)


def facts(run: Run) -> Facts:
    """Return names and values for the head of the page."""
    machine, plan = run.machine, run.plan
    if model := machine.model:
        return _present(
            ("Machine", model.title),
            ("Nodes", nodes(model)),
            ("Network", network(model) + (", uncalibrated" if model.uncalibrated else "")),
            ("Model", f"{model.name}, version {model.version}, {model.hash[:12]}"),
            ("Known error", shortly(known_errors(model))),
            ("Simulator", ", ".join(run.mpis) or "unknown"),
            ("Ranks", _ranks(run)),
            ("Plan", _plan(plan)),
            ("Simulated", _when(run)),
        )
    sizes = (machine.sockets, "socket"), (machine.cores, "core"), (machine.threads, "thread")
    return _present(
        ("Processor", machine.cpu),
        ("Cores", ", ".join(counted(size, noun) for size, noun in sizes if size)),
        ("Memory", format_bytes(machine.memory_bytes) if machine.memory_bytes else None),
        ("Network", ", ".join(map(interface_text, machine.interfaces))),
        ("System", ", ".join(filter(None, (machine.os, machine.kernel, machine.virtualization)))),
        ("MPI", ", ".join(run.mpis) or "unknown"),
        ("Ranks", _ranks(run)),
        ("Plan", _plan(plan)),
        ("Launches", str(len(run.launches))),
        (_VERBS[run.clock], _when(run)),
    )


def origin(run: Run) -> Facts:
    """Return the provenance of a run: identifiers, versions, plan."""
    plan, machine = run.plan, run.machine
    return _present(
        ("Run", run.id),
        ("State", run.state),
        ("Kiviat", run.version),
        ("Schema", run.schema),
        ("Substrate", f"{run.substrate}, {run.clock} clock"),
        ("Plan", plan.name if plan else None),
        ("Plan hash", plan.hash if plan else None),
        ("Governor", machine.governor),
        (
            "Caches",
            ", ".join(f"L{each.level} {format_bytes(each.bytes)}" for each in machine.caches),
        ),
    )


def transports(runs: Sequence[Run], names: Mapping[str, str]) -> Table:
    """Return the table of the transports of each run; launches with equal transport share a row."""
    groups = [
        (names[run.id], launches)
        for run in runs
        if run.clock != "simulated"
        for launches in _alike(run.launches, lambda launch: launch.transport)
    ]
    notes = [] if groups else ["No launch reported its transport."]
    return tabled("Transports", _TRANSPORTS, groups, notes=notes)


def _far(launches: Sequence[Launch]) -> str:
    nodes = max(len({rank.node_or_host for rank in launch.ranks}) for launch in launches)
    return launches[0].transport.far or ("none: one node" if nodes == 1 else UNAVAILABLE)


_FELL_BACK = {True: "yes", False: "no", None: "unknown"}
_TRANSPORTS: tuple[Column[tuple[str, Sequence[Launch]]], ...] = (
    Column("run", lambda one: one[0], kind="line"),
    Column("launches", lambda one: _numbers(one[1])),
    Column("near ranks", lambda one: one[1][0].transport.near),
    Column("far ranks", lambda one: _far(one[1])),
    Column("fell back to TCP", lambda one: _FELL_BACK[one[1][0].transport.fallback_to_tcp]),
    Column("evidence", lambda one: one[1][0].transport.evidence, kind="wide"),
)


@dataclass(frozen=True, slots=True)
class LaunchGroup:
    """Launches that differ only in their times and process numbers."""

    numbers: str
    single: bool
    command: str
    facts: Facts


def launch_groups(run: Run) -> list[LaunchGroup]:
    """Return the launches of a run, grouped if they share command and context."""
    groups = _alike(run.launches, lambda launch: (_command(launch), *_launch_facts(launch)))
    return [
        LaunchGroup(_numbers(group), len(group) == 1, _command(group[0]), _launch_facts(group[0]))
        for group in groups
    ]


def _plan(plan: PlanOfRun | None) -> str | None:
    return None if plan is None else f"{plan.name}, {counted(plan.cases, 'case')}"


def interface_text(interface: Interface) -> str:
    """Return name, kind and speed of a network interface: "ib0 (infiniband, 100 Gbit/s)"."""
    speed = interface.speed_bits_per_s
    rate = f", {format_value(speed, '1/s').removesuffix('/s')}bit/s" if speed else ""
    return f"{interface.name} ({interface.kind}{rate})"


def _ranks(run: Run) -> str:
    worlds = sorted({launch.world for launch in run.launches if launch.world})
    hosts = max((len({rank.host for rank in launch.ranks}) for launch in run.launches), default=0)
    noun = "host"
    if run.clock == "simulated":
        asked = [launch.placement.nodes for launch in run.launches if launch.placement]
        hosts, noun = max((len(set(nodes)) for nodes in asked), default=hosts), "modelled node"
    return f"{listed([str(world) for world in worlds])} on {counted(hosts, noun)}" if worlds and hosts else ""


def _when(run: Run) -> str:
    start, end = (moment[:16].replace("T", " ") for moment in (run.created, run.finished or ""))
    if not end:
        return f"{start} UTC"
    return f"{start} to {end[11:] if end[:10] == start[:10] else end} UTC"


def _alike(launches: Iterable[Launch], key: Callable[[Launch], Hashable]) -> list[list[Launch]]:
    groups: dict[Hashable, list[Launch]] = defaultdict(list)
    for launch in launches:
        groups[key(launch)].append(launch)
    return list(groups.values())


def _numbers(launches: Sequence[Launch]) -> str:
    """Launch numbers, ranges joined: "0–4, 6"."""
    ranges: list[list[int]] = []
    for index in sorted(launch.index for launch in launches):
        if ranges and ranges[-1][-1] == index - 1:
            ranges[-1] = [ranges[-1][0], index]
        else:
            ranges.append([index])
    return ", ".join("–".join(map(str, each)) for each in ranges)


def _command(launch: Launch) -> str:
    # The command is for a shell, so only valid names of shell variables are included.
    environment = (
        f"{name}={shlex.quote(value)}"
        for name, value in sorted(launch.environment.items())
        if name.isidentifier() and name.isascii()
    )
    command = " ".join([*environment, shlex.join(launch.command)])
    # Each launch of a simulation has its own files.
    own = f"/launches/{launch.index}/"
    return command.replace(own, "/launches/N/") if launch.simulated else command


def _launch_facts(launch: Launch) -> Facts:
    # Simulated ranks are always at their requested places.
    ranks = () if launch.simulated else launch.ranks
    binding = (
        f"rank {rank.rank} on {rank.host}, cpus {UNAVAILABLE if rank.cpus is None else rank.cpus}"
        for rank in ranks
    )
    return _present(
        ("Outcome", launch.outcome + (f": {launch.reason}" if launch.reason else "")),
        ("Exit", None if launch.exit is None else str(launch.exit)),
        ("Library", launch.library),
        ("Toolchain", "; ".join(f"{name}: {value}" for name, value in launch.toolchain.items())),
        ("Compiler", launch.compiler),
        ("Flags", launch.flags),
        ("Placement", _placement(launch.placement)),
        ("Binding", "; ".join(binding)),
        ("Others", _activity(launch.activity)),
        ("Clock reading", format_value(launch.clock_cost_s, "s") if launch.clock_cost_s else None),
    )


def _activity(seen: LaunchActivity | None) -> str | None:
    """Return the use of the processors by others during a launch; None if it was not recorded."""
    if seen is None:
        return None
    of = f" of {seen.processors:.0f}" if seen.processors else ""
    known = (
        ("load before", seen.load, "{:.2f}"),
        ("others at most", seen.others, "{:.2f}" + of + " processors"),
        ("stolen at most", None if seen.steal is None else 100 * seen.steal, "{:.1f} %"),
        ("waiting at most", None if seen.wait is None else 100 * seen.wait, "{:.1f} %"),
        ("involuntary switches", seen.involuntary_switches, "{:.0f}"),
        ("throttled", seen.throttled, "{:.2f} processors"),
        ("throttled for heat", seen.heat_throttles, "{:.0f} times"),
        ("frequency from", seen.frequency_min_hz and seen.frequency_min_hz / 1e9, "{:.2f} GHz"),
        ("to", seen.frequency_max_hz and seen.frequency_max_hz / 1e9, "{:.2f} GHz"),
    )
    return ", ".join(f"{name} {form.format(value)}" for name, value, form in known if value is not None)


def _placement(asked: Placement | None) -> str | None:
    """Return the requested placement and observed differences."""
    if asked is None:
        return None
    words = [asked.policy, *([f"bound as {asked.binding}"] if asked.binding else [])]
    return "; ".join([", ".join(words), *(f"but {each}" for each in asked.differences or ())])


def _present(*facts: tuple[str, str | None]) -> Facts:
    """Return the facts that have values."""
    return [(name, value) for name, value in facts if value]
