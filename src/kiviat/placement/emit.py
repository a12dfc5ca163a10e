"""Translates layouts into options and files of launchers.

Tried with Open MPI 4.1.4 and 5.0.11, MPICH 4.0.2 and 5.0.2, Intel MPI 2021.18.1; Slurm's options
are from srun(1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, groupby, islice

from kiviat.machine.topology import Node
from kiviat.placement.layout import Layout
from kiviat.record import InputError

_ASSUMED = (
    "the numbers of cores are assumed, socket by socket from 0 or as on this machine, but the launcher takes "
    "those of the nodes' operating system: compare them with `lscpu -e` there"
)


@dataclass(frozen=True)
class Emitted:
    """Options, environment and files of a launcher. "{folder}" is a placeholder for the launch's folder.

    `files` are written into that folder; `notes` are limitations of the launcher.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def emit(layout: Layout, family: str, version: str, assumed: bool = False) -> Emitted:
    """Return what a launcher needs to realise `layout`.

    `family`: "openmpi", "mpich", "intelmpi" or "slurm" (srun). `assumed`: the numbers of the cores are not
    those of the nodes' operating system. Raise InputError for other families, and for bindings that the
    launcher does not support.
    """
    emitters: dict[str, Callable[[Layout, int], Emitted]] = {
        "openmpi": _openmpi,
        "mpich": _mpich,
        "intelmpi": _intelmpi,
        "slurm": _slurm,
    }
    if family not in emitters:
        raise InputError(
            f"--place supports the launchers of {', '.join(emitters)}, not of {family}; leave it out"
        )
    major = int(version.split(".", maxsplit=1)[0])
    emitted = emitters[family](layout, major)
    # Open MPI 5 counts cores socket by socket itself.
    by_number = layout.binding is not None and not (family == "openmpi" and major > 4)
    if assumed and by_number:
        emitted = replace(emitted, notes=(*emitted.notes, _ASSUMED))
    return emitted


def _openmpi(layout: Layout, major: int) -> Emitted:
    """Use a sequence of hosts without binding, because a rank file of version 4 always binds."""
    # Sets what the default mappers set themselves: idle ranks yield if cores are oversubscribed.
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
        # Open MPI 4 takes the OS's numbers of hardware threads, and binds the rank to the thread's core.
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
    """Use a host file; Hydra cycles through its lines and treats each as a node, even if names repeat."""
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
            "MPICH before 5 treats ranks of a node that are not consecutive as ranks of several nodes: "
            "its collectives do not use shared memory between them",
        )
    if layout.binding is not None:
        arguments += ("-bind-to", f"user:{_common_list(layout, parts, 'MPICH')}")
    return Emitted(arguments, {}, {"hosts": _lines(lines)}, notes)


def _intelmpi(layout: Layout, major: int) -> Emitted:
    """Use the host file of MPICH before 5; variables bind, because Intel MPI ignores Hydra's options.

    Only as a machine file do its lines have numbers of ranks.
    """
    hosts = _mpich(replace(layout, binding=None), 4)
    pinning = {"I_MPI_PIN": "0"}
    if layout.binding is not None:
        pinning = {"I_MPI_PIN_PROCESSOR_LIST": _common_list(layout, _parts(layout), "Intel MPI")}
    notes = tuple(note.replace("MPICH before 5", "Intel MPI") for note in hosts.notes)
    arguments = ("-machinefile", "{folder}/hosts")
    return replace(hosts, arguments=arguments, environment=pinning, notes=notes)


def _slurm(layout: Layout, major: int) -> Emitted:
    """Use Slurm's own distribution if every used node has the same number of ranks, else a host file.

    Nodes of the topology are in the order of the job's node list. A list of cores requires whole nodes.
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
    """Return the ranks of each used node."""
    return [ranks for ranks in map(layout.ranks_of, range(len(layout.topology.nodes))) if ranks]


def _logical(node: Node) -> dict[int, int]:
    """Return hwloc's logical number of each core, which Open MPI 5 requires: packages by their first core.

    hwloc counts all cores of the node. If the topology has only some, ranks run on other cores, which
    `differences` reports.
    """
    by_first = sorted((sorted(socket) for socket in node.sockets if socket), key=lambda socket: socket[0])
    return {core: index for index, core in enumerate(core for socket in by_first for core in socket)}


def _common_list(layout: Layout, parts: Sequence[Sequence[int]], launcher: str) -> str:
    """Return the cores that the ranks of a node take in turn; launchers have a single list for all nodes."""
    lists = [[layout.places[rank].core for rank in part] for part in parts]
    longest = max(lists, key=len)
    for part, cores in zip(parts, lists, strict=True):
        if cores != longest[: len(cores)]:
            node = layout.topology.nodes[layout.places[part[0]].node].name
            raise InputError(
                f"{launcher} binds the ranks of every node to the same cores in turn, {_words(longest)}, but "
                f"ranks {_words(part)} on {node} need {_words(cores)}; do not bind, or use Open MPI"
            )
    return _words(longest)


def _words(numbers: Sequence[int | None]) -> str:
    return ",".join(map(str, numbers))
