"""Where ranks were, as the program saw it, against where they were to be."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from kiviat.machine.host.files import members
from kiviat.placement.layout import Layout

_EXAMPLES = 3


def differences(layout: Layout, ranks: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each kind of difference, with how many ranks it concerns; empty where all is as asked.

    `ranks` are those of the launch event. What it does not say is not judged.
    """
    seen = {int(said["rank"]): said for said in ranks if int(said["rank"]) < len(layout.places)}
    asked = {rank: layout.node_of(rank) for rank in seen}
    nodes = {rank: _node(said) for rank, said in seen.items()}
    found = _regrouped("node", asked, nodes) or _on_other_nodes(layout, seen)
    if layout.binding is None:
        return [*found, *_bound_though_free(layout, seen)]
    # Cores are numbered by the topology that we assume, sockets are those of the node itself.
    sockets = {rank: (nodes[rank], *said["socket"]) for rank, said in seen.items() if said.get("socket")}
    wanted = {rank: (asked[rank], layout.places[rank].socket) for rank in sockets}
    return [*(found or _regrouped("socket", wanted, sockets)), *_bound_elsewhere(layout, seen)]


def _node(said: Mapping[str, Any]) -> Hashable:
    """As the program numbered it, because two nodes may bear one name."""
    return said["host"] if said.get("node") is None else int(said["node"])


def _regrouped(what: str, asked: Mapping[int, Hashable], seen: Mapping[int, Hashable]) -> list[str]:
    together = [f"{rank} with {other}" for rank, other in _pairs(seen, asked)]
    apart = [f"{rank} without {other}" for rank, other in _pairs(asked, seen)]
    return [
        *_line(f"ranks share a {what} that were to be apart", together, len(seen)),
        *_line(f"ranks are apart that were to share a {what}", apart, len(seen)),
    ]


def _pairs(groups: Mapping[int, Hashable], others: Mapping[int, Hashable]) -> Iterator[tuple[int, int]]:
    """Each rank that is in one group with a rank that `others` has elsewhere, and the first such rank."""
    first: dict[Hashable, int] = {}
    second: dict[Hashable, int] = {}
    for rank in sorted(groups):
        begun = first.setdefault(groups[rank], rank)
        if others[rank] != others[begun]:
            second.setdefault(groups[rank], rank)
    for rank in sorted(groups):
        begun = first[groups[rank]]
        if groups[rank] in second:
            yield rank, second[groups[rank]] if others[rank] == others[begun] else begun


def _on_other_nodes(layout: Layout, seen: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Where none of the hosts is a node's name, the names are of another kind, such as addresses."""
    names = [node.name for node in layout.topology.nodes]
    known = {_short(name): index for index, name in enumerate(names)}
    where = {rank: known.get(_short(str(said["host"]))) for rank, said in seen.items()}
    if len(known) < len(names) or not any(index is not None for index in where.values()):
        return []
    wrong = [
        f"{rank} on {seen[rank]['host']} for {names[layout.node_of(rank)]}"
        for rank, index in sorted(where.items())
        if index != layout.node_of(rank)
    ]
    return _line("ranks run on other nodes than asked", wrong, len(seen))


def _short(name: str) -> str:
    """Without the domain, which launchers may add or drop; an address stays as it is."""
    return name if name[:1].isdecimal() else name.partition(".")[0].lower()


def _bound_elsewhere(layout: Layout, seen: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Bound to a core is who may run on it, and on no other core; how many of its threads does not matter."""
    wrong = []
    for rank, said in sorted(seen.items()):
        place = layout.places[rank]
        cores = layout.topology.nodes[place.node].cores
        if said.get("cpus") and members(said["cpus"]).intersection(cores) != {place.core}:
            wrong.append(f"{rank} to {said['cpus']} for {place.core}")
    return _line("ranks are bound elsewhere than asked", wrong, len(seen))


def _bound_though_free(layout: Layout, seen: Mapping[int, Mapping[str, Any]]) -> list[str]:
    wrong = [
        f"{rank} to {said['cpus']}"
        for rank, said in sorted(seen.items())
        if said.get("cpus")
        and not members(said["cpus"]).issuperset(layout.topology.nodes[layout.node_of(rank)].cores)
    ]
    return _line("ranks are bound that were not to be", wrong, len(seen))


def _line(what: str, cases: Sequence[str], ranks: int) -> list[str]:
    more = ", …" if len(cases) > _EXAMPLES else ""
    return [f"{what} ({len(cases)} of {ranks}): {', '.join(cases[:_EXAMPLES])}{more}"] if cases else []
