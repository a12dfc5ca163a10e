"""Compares the observed places of ranks with the requested ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from kiviat.machine.host.files import members
from kiviat.placement.layout import Layout

_EXAMPLES = 3


def differences(layout: Layout, ranks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each kind of difference with the number of ranks affected; empty without any.

    `ranks` has the observation of each rank from the launch event; missing facts are not compared.
    """
    observed = {int(facts["rank"]): facts for facts in ranks if int(facts["rank"]) < len(layout.places)}
    requested = {rank: layout.node_of(rank) for rank in observed}
    nodes = {rank: _node(facts) for rank, facts in observed.items()}
    on_nodes = _regrouped("node", requested, nodes) or _on_other_nodes(layout, observed)
    if layout.binding is None:
        return [*on_nodes, *_bound_though_free(layout, observed)]
    # Core numbers are from the assumed topology, sockets from the node itself.
    with_socket = {rank: facts["socket"] for rank, facts in observed.items() if facts.get("socket")}
    sockets = {rank: (nodes[rank], *socket) for rank, socket in with_socket.items()}
    wanted = {rank: (requested[rank], layout.places[rank].socket) for rank in sockets}
    return [*(on_nodes or _regrouped("socket", wanted, sockets)), *_bound_elsewhere(layout, observed)]


def ranks_on_nodes(ranks: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the number of ranks on each node, the fullest first; `ranks` is as for `differences`."""
    return sorted(Counter(map(_node, ranks)).values(), reverse=True)


def _node(facts: Mapping[str, Any]) -> Hashable:
    """Return the program's number of the node, because two nodes may have the same name."""
    return facts["host"] if facts.get("node") is None else int(facts["node"])


def _regrouped(unit: str, requested: Mapping[int, Hashable], observed: Mapping[int, Hashable]) -> list[str]:
    together = [f"{rank} with {other}" for rank, other in _pairs(observed, requested)]
    apart = [f"{rank} without {other}" for rank, other in _pairs(requested, observed)]
    return [
        *_line(f"ranks share a {unit}, although they were requested apart", together, len(observed)),
        *_line(f"ranks are apart, although they were requested to share a {unit}", apart, len(observed)),
    ]


def _pairs(groups: Mapping[int, Hashable], others: Mapping[int, Hashable]) -> Iterator[tuple[int, int]]:
    """Yield each rank that shares a group with a rank elsewhere in `others`, and the first such rank."""
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


def _on_other_nodes(layout: Layout, observed: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Compare host names, unless none matches: then they are of another kind, such as addresses."""
    names = [node.name for node in layout.topology.nodes]
    index_of = {_short(name): index for index, name in enumerate(names)}
    where = {rank: index_of.get(_short(str(facts["host"]))) for rank, facts in observed.items()}
    if len(index_of) < len(names) or not any(index is not None for index in where.values()):
        return []
    wrong = [
        f"{rank} on {observed[rank]['host']} for {names[layout.node_of(rank)]}"
        for rank, index in sorted(where.items())
        if index != layout.node_of(rank)
    ]
    return _line("ranks run on other nodes than requested", wrong, len(observed))


def _short(name: str) -> str:
    """Return a name without its domain, which launchers may add or drop; addresses are unchanged."""
    return name if name[:1].isdecimal() else name.partition(".")[0].lower()


def _bound_elsewhere(layout: Layout, observed: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Check that each rank may run on its core and no other; the number of hardware threads is ignored."""
    wrong = []
    for rank, facts in sorted(observed.items()):
        place = layout.places[rank]
        cores = layout.topology.nodes[place.node].cores
        if facts.get("cpus") and members(facts["cpus"]).intersection(cores) != {place.core}:
            wrong.append(f"{rank} to {facts['cpus']} for {place.core}")
    return _line("ranks are bound to other cores than requested", wrong, len(observed))


def _bound_though_free(layout: Layout, observed: Mapping[int, Mapping[str, Any]]) -> list[str]:
    wrong = [
        f"{rank} to {facts['cpus']}"
        for rank, facts in sorted(observed.items())
        if facts.get("cpus")
        and not members(facts["cpus"]).issuperset(layout.topology.nodes[layout.node_of(rank)].cores)
    ]
    return _line("ranks are bound although no binding was requested", wrong, len(observed))


def _line(difference: str, cases: Sequence[str], ranks: int) -> list[str]:
    more = ", …" if len(cases) > _EXAMPLES else ""
    examples = ", ".join(cases[:_EXAMPLES])
    return [f"{difference} ({len(cases)} of {ranks}): {examples}{more}"] if cases else []
