"""What a launcher is told so that ranks come to their places.

Tried with Open MPI 4.1.4 and 5.0.11, MPICH 4.0.2 and 5.0.2; Slurm's words are those of srun(1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, groupby, islice

from kiviat.machine.topology import Node
from kiviat.placement.layout import Layout
from kiviat.record import InputError


@dataclass(frozen=True)
class Emitted:
    """`files` go into the launch's folder, for which "{folder}" stands in arguments and environment.

    `notes` say what the launcher cannot do as asked.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def emit(layout: Layout, family: str, version: str) -> Emitted:
    """For the launcher of an MPI, "openmpi" or "mpich", or for "slurm", which is srun."""
    emitters: dict[str, Callable[[Layout, int], Emitted]] = {
        "openmpi": _openmpi,
        "mpich": _mpich,
        "slurm": _slurm,
    }
    if family not in emitters:
        raise InputError(
            f"--place does not know the launcher of {family}; it knows {', '.join(emitters)}, leave it out"
        )
    return emitters[family](layout, int(version.split(".")[0]))


def _openmpi(layout: Layout, major: int) -> Emitted:
    """A sequence of hosts where nobody is bound, because a rank file of version 4 binds in any event."""
    # Both mappers leave idle ranks spinning where there are too few cores; the usual ones do not.
    environment = {"OMPI_MCA_mpi_yield_when_idle": "1"} if layout.crowded else {}
    hostfile = ("--hostfile", "{folder}/hosts")
    if layout.binding is None:
        arguments = ("--map-by", "seq", *hostfile, "--bind-to", "none")
        return Emitted(arguments, environment, {"hosts": _lines(_names(layout))})
    mapping: tuple[str, ...]
    if major > 4:
        numbers = [_logical(node) for node in layout.topology.nodes]
        shared = len(set(layout.places)) < len(layout.places)
        to = "core:overload-allowed" if shared else "core"
        mapping = ("--map-by", "rankfile:file={folder}/ranks", "--bind-to", to)
    else:
        # Physical numbers are those of the OS; the rank gets the core to which the thread belongs.
        numbers = [{core: core for core in node.cores} for node in layout.topology.nodes]
        mapping = ("--rankfile", "{folder}/ranks", "--mca", "rmaps_rank_file_physical", "1")
    ranks = [
        f"rank {rank}={layout.topology.nodes[place.node].name} slot={numbers[place.node][place.core]}"
        for rank, place in enumerate(layout.places)
        if place.core is not None
    ]
    files = {"hosts": _lines(_with_counts(layout, " slots=")), "ranks": _lines(ranks)}
    return Emitted((*hostfile, *mapping), environment, files)


def _mpich(layout: Layout, major: int) -> Emitted:
    """Hydra goes round the lines of the host file; each line is a node to it, even of the same name."""
    names = _names(layout)
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    turn: dict[str, int] = {}
    for name, count in runs:
        if name in turn:
            break
        turn[name] = count
    parts = _parts(layout)
    arguments: tuple[str, ...] = ("-f", "{folder}/hosts")
    notes: tuple[str, ...] = ()
    if list(islice(cycle(name for name, count in turn.items() for _ in range(count)), len(names))) == names:
        lines = [f"{name}:{count}" for name, count in turn.items()]
    elif major > 4:
        lines = _with_counts(layout, ":")
        number = {node.name: index for index, node in enumerate(layout.used)}
        arguments += ("-rankmap", ",".join(str(number[name]) for name in names))
    else:
        lines = [f"{name}:{count}" for name, count in runs]
        ranks = iter(range(len(names)))
        parts = [tuple(islice(ranks, count)) for _, count in runs]
        notes = (
            "MPICH before 5 takes ranks of a node for ranks of several where other nodes come between: "
            "its collectives do not share memory among them",
        )
    if layout.binding is not None:
        arguments += ("-bind-to", f"user:{_common_list(layout, parts, 'MPICH')}")
    return Emitted(arguments, {}, {"hosts": _lines(lines)}, notes)


def _slurm(layout: Layout, major: int) -> Emitted:
    """Slurm's own distribution where it means the same: every node used has equally many ranks.

    Nodes of the topology are in the order of the job's node list. A list of cores needs whole nodes.
    """
    counts = {count for count in layout.ranks_per_node() if count}
    distribution = _distribution(layout.policy, min(counts)) if len(counts) == 1 else "arbitrary"
    arguments = [f"--distribution={distribution}"]
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    if distribution == "arbitrary":
        environment["SLURM_HOSTFILE"] = "{folder}/hosts"
        files["hosts"] = _lines(_names(layout))
    else:
        arguments += [f"--nodes={len(layout.used)}", f"--ntasks-per-node={min(counts)}"]
        if layout.used != layout.topology.nodes:
            arguments.append(f"--nodelist={','.join(node.name for node in layout.used)}")
    if layout.crowded:
        arguments.append("--overcommit")
    bound = layout.binding is not None
    bind = f"map_cpu:{_common_list(layout, _parts(layout), 'srun')}" if bound else "none"
    return Emitted((*arguments, f"--cpu-bind={bind}"), environment, files)


def _distribution(policy: str, per_node: int) -> str:
    kind, _, argument = policy.partition(":")
    if kind == "plane" and per_node % int(argument) == 0:
        return f"plane={argument}"
    return {"blocked": "block", "cyclic": "cyclic"}.get(kind, "arbitrary")


def _names(layout: Layout) -> list[str]:
    return [layout.topology.nodes[place.node].name for place in layout.places]


def _with_counts(layout: Layout, between: str) -> list[str]:
    counts = filter(None, layout.ranks_per_node())
    return [f"{node.name}{between}{count}" for node, count in zip(layout.used, counts, strict=True)]


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _parts(layout: Layout) -> list[tuple[int, ...]]:
    """The ranks of each node used."""
    return [ranks for ranks in map(layout.ranks_of, range(len(layout.topology.nodes))) if ranks]


def _logical(node: Node) -> dict[int, int]:
    """hwloc's number of each core, the only one that Open MPI 5 takes: packages by their first core.

    That counts all cores of the node. Where the topology shows only some, ranks come to others, and
    `differences` says so.
    """
    by_first = sorted((sorted(socket) for socket in node.sockets if socket), key=lambda socket: socket[0])
    return {core: index for index, core in enumerate(core for socket in by_first for core in socket)}


def _common_list(layout: Layout, parts: Sequence[Sequence[int]], launcher: str) -> str:
    """The cores that the ranks of each part take in turn: launchers have one list for all."""
    lists = [[layout.places[rank].core for rank in part] for part in parts]
    longest = max(lists, key=len)
    for part, cores in zip(parts, lists, strict=True):
        if cores != longest[: len(cores)]:
            node = layout.topology.nodes[layout.places[part[0]].node].name
            raise InputError(
                f"{launcher} binds the ranks of every node to the same cores in turn, {_words(longest)}, but "
                f"ranks {_words(part)} on {node} are to have {_words(cores)}; do not bind, or use Open MPI"
            )
    return _words(longest)


def _words(numbers: Sequence[int | None]) -> str:
    return ",".join(map(str, numbers))
