"""`kiviat place`: computes a placement of a program's ranks and compares it with others."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from kiviat.cli.options.request import PlaceRequest
from kiviat.cli.options.substrate import substrate_of
from kiviat.cli.options.traffic import Program, in_words, read_program
from kiviat.cli.subcommands.place_verify import verify
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import bold, dim, print_table
from kiviat.launch.mpi.vendors import placements
from kiviat.launch.programs import scotch
from kiviat.launch.substrates.substrate import Substrate
from kiviat.machine.modelled.machine import find_machine
from kiviat.machine.topology import Topology, local_topology
from kiviat.placement import Layout, Place, emit, place
from kiviat.placement.automatic import Found, automatic, layout_of_nodes
from kiviat.placement.prediction import Prediction, of_layout
from kiviat.placement.target import Target, of_machine, of_shape, of_topology
from kiviat.record import InputError, write_whole
from kiviat.record.files import read_text
from kiviat.report.table import Column, tabled

AUTOMATIC = "automatic"
_COLUMNS: tuple[Column[tuple[str, Prediction]], ...] = (
    Column("predicted", lambda one: one[0], key="placement"),
    Column("between nodes", lambda one: one[1].nodes, "B", key="between_nodes_bytes"),
    Column("between sockets", lambda one: one[1].sockets, "B", key="between_sockets_bytes", absent="–"),
    Column("worst link", lambda one: one[1].worst_link, "B", key="worst_link_bytes"),
    Column("", lambda one: one[1].link or None, key="worst_link", absent="–"),
    Column("hop-bytes", lambda one: one[1].hop_bytes, "B", key="hop_bytes"),
)
_WORDS = {"bytes": "bytes between nodes", "max-link": "bytes on the worst link", "hop-bytes": "hop-bytes"}


def execute(request: PlaceRequest) -> int:
    """Print the predictions of all placements and write the best; with `--verify`, run and compare each."""
    _refuse(request)
    program = read_program(request.profile, request.case)
    ranks = program.traffic.ranks
    substrate = substrate_of(request.on) if request.on else None
    target = _target(request, substrate, ranks)
    target.refuse(ranks)
    layouts = _others(request, program, target)
    found = automatic(
        program.traffic,
        target,
        request.objective,
        list(layouts.values()),
        None if request.no_scotch else scotch.mapped,
    )
    layouts[AUTOMATIC] = layout_of_nodes(program.traffic, target, found.node, bool(request.bind))
    predictions = {name: of_layout(program.traffic, layout, target) for name, layout in layouts.items()}
    # The launcher may be unable to realise the placement, which does not make the predictions worthless.
    if request.format == "table":
        _print(program, target, predictions, found, request)
    elif not request.verify:
        proved: Column[tuple[str, Prediction]] = Column(
            None, lambda one: found.proved if one[0] == AUTOMATIC else None, key="proved_optimal"
        )
        print_table(tabled("Predictions", (*_COLUMNS, proved), predictions.items()), request.format)
    _write(request, layouts[AUTOMATIC], target.assumed)
    if request.verify:
        assert substrate is not None
        return verify(request, program, substrate, layouts, predictions)
    return 0


def _refuse(request: PlaceRequest) -> None:
    kind, _, machine = (request.on or "").partition(":")
    if kind == "simulated":
        raise InputError(
            f"--on {request.on}: nothing runs on a simulated machine here; use --machine {machine or 'NAME'}"
        )
    if request.program and not request.verify:
        raise InputError(
            f"-- {request.program[0]}: only --verify runs a program; add --verify, or leave the program out"
        )
    if request.verify and not request.program:
        raise InputError("--verify needs the program: --verify -- mpirun -n 16 ./program")
    if request.verify and not request.on:
        raise InputError(
            "--verify needs nodes to run on: --on emulated:4x4, --on slurm within a job, or --on native"
        )
    if request.emit and request.emit not in placements():
        raise InputError(f"--emit {request.emit} is not a known launcher; give {', '.join(placements())}")
    if request.emit and not request.output:
        raise InputError(f"--emit {request.emit} writes a file; name it: -o FILE")


def _target(request: PlaceRequest, substrate: Substrate | None, ranks: int) -> Target:
    there = substrate.topology() if substrate else None
    names = _hosts(request.hosts)
    if request.machine:
        target = of_machine(find_machine(request.machine), ranks, request.nodes, names)
    elif request.nodes:
        target = _with_local_sockets(of_shape(request.nodes, names), request)
    elif there is not None and request.on:
        if names:
            raise InputError(f"--hosts: the nodes of --on {request.on} have names; leave --hosts out")
        return of_topology(request.on, there)
    else:
        raise InputError("where should the ranks run? Give --nodes 4x8, --machine NAME, or --on emulated:4x2")
    return target if names or there is None else _named_as(there, target, f"--on {request.on}")


def _named_as(there: Topology, target: Target, where: str) -> Target:
    """Give the nodes of a target the names of existing ones, `where` they are."""
    if len(there.nodes) < target.nodes:
        raise InputError(
            f"{where} has {len(there.nodes)} of the {target.nodes} nodes asked for; give fewer by --nodes, "
            "or name all of them by --hosts"
        )
    names = [node.name for node in there.nodes]
    nodes = tuple(replace(node, name=name) for node, name in zip(target.topology.nodes, names, strict=False))
    return replace(target, topology=Topology(nodes))


def _with_local_sockets(target: Target, request: PlaceRequest) -> Target:
    """With --bind, but without sockets in the options, assume nodes like this one if it has enough cores."""
    if not request.bind or any(node.cores for node in target.topology.nodes):
        return target
    (here,) = local_topology().nodes
    slots = int(target.room.max())
    if len(here.cores) < slots:
        raise InputError(
            f"--bind {request.bind}: the sockets of the nodes are not known, and this machine has "
            f"{len(here.cores)} cores, not {slots}; give them: --nodes NODESxSOCKETSxSLOTS"
        )
    nodes = tuple(replace(node, sockets=here.sockets) for node in target.topology.nodes)
    return replace(target, topology=Topology(nodes))


def _hosts(text: str | None) -> tuple[str, ...] | None:
    """Return host names given as a comma-separated list, or as a file with one per line."""
    if text is None:
        return None
    path = Path(text)
    words = read_text(path, errors="replace").splitlines() if path.is_file() else text.split(",")
    names = [word.partition("#")[0].split()[0] for word in words if word.partition("#")[0].strip()]
    if not names:
        raise InputError(f"--hosts {text} names no node; give n1,n2,… or a file with a name in each line")
    return tuple(names)


def _others(request: PlaceRequest, program: Program, target: Target) -> dict[str, Layout]:
    ranks, binding = program.traffic.ranks, request.bind
    layouts = {
        policy: place(target.topology, ranks, policy, binding=binding) for policy in ("cyclic", "blocked")
    }
    if given := _given(program, target):
        layouts["given"] = given
    for policy in request.compare_with:
        layouts[policy] = place(
            target.topology, ranks, policy, binding=None if policy.startswith("file:") else binding
        )
    return layouts


def _given(program: Program, target: Target) -> Layout | None:
    """Return the placement of the ranks while they were profiled, None if it does not fit."""
    nodes = program.nodes_in(target.topology)
    if nodes is None or max(nodes) >= target.nodes:
        return None
    used = np.bincount(np.array(nodes), minlength=target.nodes)
    if (used > target.room).any():
        return None
    return Layout("given", target.topology, tuple(Place(node) for node in nodes))


def _print(
    program: Program,
    target: Target,
    predictions: Mapping[str, Prediction],
    found: Found,
    request: PlaceRequest,
) -> None:
    print(bold(f"{in_words(program)}"))
    network = "its network" if target.known else "one switch between the nodes"
    print(f"onto {target.label} ({network}), for the fewest {_WORDS[request.objective]}\n")
    print_table(tabled("Predictions", _COLUMNS, predictions.items()))
    print()
    print(_verdict(predictions, request.objective, found.proved))
    if all(one.sockets is None for one in predictions.values()):
        print(dim("ranks are not bound to sockets; --bind core places ranks on sockets too"))
    if reason := _without_scotch(request, found):
        print(dim(f"without Scotch's mapping to begin with: {reason}"))


def _without_scotch(request: PlaceRequest, found: Found) -> str | None:
    if request.no_scotch:
        return "as asked"
    if scotch.program() is None:
        return "scotch_gmap is not installed (Debian: scotch)"
    if found.mapper_failed:
        return "scotch_gmap gave none, because it failed, took over a minute, or does not map so many nodes"
    return None


def _verdict(predictions: Mapping[str, Prediction], objective: str, proved: bool) -> str:
    """Return a sentence that compares the found placement with the best of the others."""
    ours = predictions[AUTOMATIC].by(objective)
    name = min(
        (name for name in predictions if name != AUTOMATIC), key=lambda name: predictions[name].by(objective)
    )
    best = predictions[name].by(objective)
    what = _WORDS[objective]
    if not best:
        return f"{name} already has no {what}"
    if ours >= best:
        if proved:
            return f"no placement has fewer {what} than {name}"
        return f"nothing was found that has fewer {what} than {name}"
    least = "; no placement has fewer" if proved else ""
    return (
        f"{AUTOMATIC} has {100 * (1 - ours / best):.1f} % fewer {what} than {name}, "
        f"the best of the others{least}"
    )


def _write(request: PlaceRequest, layout: Layout, assumed: bool) -> None:
    """Write the rank file, and print how to use it."""
    if not request.output:
        return
    path = Path(request.output)
    if not request.emit:
        write_whole("".join(f"{line}\n" for line in layout.lines()), path, "placement")
        used = f"`kiviat run --place file:{shlex.quote(str(path))} …`"
        print(typeable(f"\nwrote {path}: {used}"), file=sys.stderr)
        return
    family, version = placements()[request.emit]
    emitted = emit(layout, family, version, assumed)
    # The file with the ranks gets the requested name; a list of hosts gets a name derived from it.
    main = "ranks" if "ranks" in emitted.files else "hosts"
    names = {name: path if name == main else path.with_name(f"{path.name}.{name}") for name in emitted.files}
    for name, file in names.items():
        if file != path and os.path.lexists(file) and not _holds(file, emitted.files[name]):
            raise InputError(
                f"--emit {request.emit} also writes {file}, which exists; give another -o, or remove that"
            )
    for name, text in emitted.files.items():
        write_whole(text, names[name], "placement")
    words = [_filled(word, names) for word in emitted.arguments]
    variables = [
        f"{name}={shlex.quote(_filled(value, names))}" for name, value in emitted.environment.items()
    ]
    launcher = "srun" if family == "slurm" else "mpirun"
    command = " ".join(
        [*variables, shlex.join([launcher, "-n", str(len(layout.places)), *words]), "./program"]
    )
    written = " and ".join(map(str, names.values()))
    print(f"\n{f'wrote {written}' if names else 'no file is needed'}: {command}", file=sys.stderr)
    for note in emitted.notes:
        print(f"note: {note}", file=sys.stderr)


def _holds(file: Path, text: str) -> bool:
    """True if a file has this text already, as after the same command."""
    return file.is_file() and file.read_bytes() == text.encode()


def _filled(word: str, names: Mapping[str, Path]) -> str:
    for name, path in names.items():
        word = word.replace(f"{{folder}}/{name}", str(path))
    return word
