"""The traffic matrix for `kiviat place`: from a profile, or from a run that counted messages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kiviat.machine.topology import Topology
from kiviat.profile import Profile, Traffic, is_profile, read_profile
from kiviat.record import InputError, TableRow
from kiviat.record.units import format_bytes
from kiviat.store import find_run, read_run, runs_home
from kiviat.store.tables import load_tables

_TABLES = ("messages", "message_bytes")


@dataclass(frozen=True)
class Program:
    """Traffic of a program.

    `nodes` has the number of each rank's node, None if unknown, and `hosts` the names of their nodes, empty
    if unknown; `counted` describes the matrix.
    """

    name: str
    traffic: Traffic
    nodes: tuple[int, ...] | None
    counted: str
    hosts: tuple[str, ...] = ()

    def nodes_in(self, topology: Topology) -> tuple[int, ...] | None:
        """Return the index in `topology` of each rank's node: by name if it has all, else by number."""
        index = {node.name: at for at, node in enumerate(topology.nodes)}
        if self.nodes is None or not self.hosts or not index.keys() >= set(self.hosts):
            return self.nodes
        named = tuple(index[host] for host in self.hosts)
        # Containers and namespaces of one name are several nodes.
        return named if len(set(named)) == len(set(self.nodes)) else self.nodes


def read_program(text: str, case: str | None) -> Program:
    """Return the traffic of a profile (a path) or of a run's `case`; runs are named as in other commands."""
    path = Path(text)
    if path.is_file() and is_profile(path):
        if case is not None:
            raise InputError(f"--case {case}: {text} is a profile, which has no cases; leave it out")
        return _of_profile(read_profile(path))
    if text.endswith(".profile") and not path.exists():
        raise InputError(f"there is no profile {text}; `kiviat profile -- mpirun …` writes one")
    return _of_run(find_run(text, runs_home()), case)


def _of_profile(profile: Profile) -> Program:
    """Return the messages that the MPI itself counted, else collectives by their participants."""
    if missing := profile.ranks - int(profile.seen.sum()):
        raise InputError(
            f"{profile.path} lacks the data of {missing} of {profile.ranks} ranks; profile the program again"
        )
    nodes = tuple(int(node) for node in profile.node)
    if profile.crossed is not None:
        traffic, counted = (
            profile.crossed,
            f"as the {'simulator' if profile.simulated else 'MPI itself'} counted",
        )
    else:
        traffic, counted = profile.traffic(), "collectives by their participants"
    return Program(profile.program, traffic, None if min(nodes) < 0 else nodes, counted, profile.hosts)


def _of_run(path: Path, case: str | None) -> Program:
    """Return the traffic of a case's first launch; messages are counted on simulated machines only."""
    found: dict[str, dict[str, TableRow]] = {}
    for row in load_tables(path):
        if row.table.name in _TABLES and row.outcome == "ok":
            found.setdefault(row.case, {}).setdefault(row.table.name, row)
    cases = [name for name, tables in found.items() if len(tables) == len(_TABLES)]
    if not cases:
        raise InputError(
            f"{path} has no case with a matrix of messages between ranks; give a profile (`kiviat "
            "profile`), or a run "
            "of NAS programs on a simulated machine"
        )
    if case is None and len(cases) > 1:
        raise InputError(f"{path} has {len(cases)} cases: {', '.join(cases)}; choose one by --case")
    if case is not None and case not in cases:
        raise InputError(f"--case {case}: {path} has {', '.join(cases)}")
    tables = found[case or cases[0]]
    row = tables["message_bytes"]
    messages, sent = (_by_pair(tables[name], path) for name in _TABLES)
    source, target = np.nonzero(sent + messages)  # messages without data are messages, too
    traffic = Traffic.of_columns(row.ranks, source, target, messages[source, target], sent[source, target])
    launch = next((each for each in read_run(path).launches if each.index == row.launch), None)
    placement = launch.placement if launch else None
    nodes = placement.nodes[: row.ranks] if placement else None
    return Program(row.case, traffic, nodes, "as the simulator counted")


def _by_pair(row: TableRow, path: Path) -> NDArray[np.int64]:
    """Return the matrix of a table, summed over the program's kernels."""
    lengths = {name: len(values) for name, values in row.table.axes}
    if (
        lengths.get("from") != row.ranks
        or lengths.get("to") != row.ranks
        or list(lengths)[-2:] != ["from", "to"]
    ):
        raise InputError(
            f"{path}: {row.table.name} of {row.case} is not a matrix of {row.ranks} ranks; run it again"
        )
    values = np.array([value or 0.0 for value in row.table.values]).reshape(-1, row.ranks, row.ranks)
    whole: NDArray[np.int64] = np.rint(values.sum(axis=0)).astype(np.int64)
    return whole


def in_words(program: Program) -> str:
    """Return a description of the traffic in one line."""
    traffic = program.traffic
    return (
        f"{program.name}: {traffic.ranks} ranks send {format_bytes(int(traffic.bytes.sum()))} in "
        f"{int(traffic.messages.sum()):,} messages, {program.counted}"
    )
