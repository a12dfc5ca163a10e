"""Cost of sharing the network: the same programs with different arrangements of ranks on nodes.

After Narayanaswamy, Balaji and Feng, "Impact of Network Sharing in Multi-core Architectures" (2008), figures
2, 4, 5, 7 and 8. The paper separates network time from time within nodes by instrumenting a network library
by hand. Its network times are not known as numbers, so they are not shown here. Kiviat's network time of a
rank is the time during which at least one message from or to it is in flight between nodes. Overlapping
messages count once; waiting for a message that has not been sent does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.aggregate.nodes import Nodes, bytes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.programs import message_share
from kiviat.analysis.published.question import (
    Lookup,
    Quantity,
    Subject,
    Value,
    all_rows,
    rows_about,
)
from kiviat.analysis.published.results import NETWORK_BYTES
from kiviat.analysis.published.sources import is_alike
from kiviat.analysis.published.text import answer_text, gap_text, published_text, remarks_text
from kiviat.analysis.published.verdict import Verdict, judge, questions
from kiviat.record.run import Run
from kiviat.record.traits import Traits, TraitsByName
from kiviat.record.units import format_value, three_digits
from kiviat.report.table import Cell, Column, Table, tabled
from kiviat.report.table import Value as Shown

# Larger ratios are written as "times", not in percent.
_TIMES = 9.0

NodesOf = Callable[[str, int], Nodes | None]


@dataclass(frozen=True, slots=True)
class _Held:
    """Results of one program in one run."""

    rate: Summary
    time_s: float | None
    in_messages: float | None
    network_s: float | None
    node_s: float | None
    between_nodes: float | None
    within_nodes: float | None
    by_interfaces: float | None

    @property
    def network_bytes(self) -> float | None:
        """Bytes of messages between nodes; if only interfaces were counted, bytes of frames with headers."""
        return self.by_interfaces if self.between_nodes is None else self.between_nodes


def sharings(
    runs: Sequence[Run],
    table: Sequence[Summary],
    grids: Sequence[Grid],
    nodes_of: NodesOf,
    traits: TraitsByName,
) -> list[Table]:
    """Return one table for each machine, class and clock with several arrangements.

    After it, one for each paper with claims about these.
    """
    held: dict[tuple[str, str, str], dict[str, dict[str, _Held]]] = {}
    found_grids = {(grid.run, grid.case, grid.name): grid for grid in grids}
    by_id = {run.id: run for run in runs}
    medians = {(one.run, one.case, one.metric): one.median for one in table}
    ranks: dict[str, int] = {}
    for rate in table:
        own = traits[rate.benchmark]
        if own.section != "programs" or rate.metric != "rate" or rate.median is None:
            continue
        run = by_id[rate.run]
        group = run.machine.name, rate.clock, str(rate.axes.get("class", own.defaults.get("class", "")))
        if ranks.setdefault(rate.run, rate.ranks) == rate.ranks:
            held.setdefault(group, {}).setdefault(rate.run, {})[rate.benchmark] = _held(
                rate, medians, found_grids, nodes_of(rate.run, rate.ranks), own
            )
    return [
        table
        for group, of_group in held.items()
        if len({_arrangement(by_id[run], ranks[run], nodes_of) for run in of_group}) > 1
        for table in _sharing(group, [by_id[run] for run in of_group], of_group, ranks, nodes_of)
    ]


def _held(
    rate: Summary,
    medians: Mapping[tuple[str, str, str], float | None],
    grids: Mapping[tuple[str, str, str], Grid],
    nodes: Nodes | None,
    traits: Traits,
) -> _Held:
    phases = grids.get((rate.run, rate.case, "phase_time"))
    share = None if phases is None else message_share(phases, traits.communicating)
    sent = grids.get((rate.run, rate.case, "message_bytes"))
    between, within = (None, None) if sent is None or nodes is None else bytes_of(sent, nodes)
    time_s, network_s, node_s, by_interfaces = (
        medians.get((rate.run, rate.case, metric))
        for metric in ("time", "network_time", "node_time", "interface_bytes")
    )
    return _Held(
        rate=rate,
        time_s=time_s,
        in_messages=share,
        network_s=network_s,
        node_s=node_s,
        between_nodes=between,
        within_nodes=within,
        by_interfaces=by_interfaces,
    )


def _arrangement(run: Run, ranks: int, nodes_of: NodesOf) -> str:
    """Return the shape, such as "8×2", and the placement and binding on the command line."""
    nodes = nodes_of(run.id, ranks)
    shape = f"{ranks} ranks" if nodes is None else f"{nodes.count(ranks)}×{ranks // nodes.count(ranks)}"
    return ", ".join(filter(None, (shape, run.place, run.bind)))


def _sharing(
    group: tuple[str, str, str],
    runs: Sequence[Run],
    held: Mapping[str, Mapping[str, _Held]],
    ranks: Mapping[str, int],
    nodes_of: NodesOf,
) -> list[Table]:
    machine, clock, problem = group
    order = sorted(runs, key=lambda run: ranks[run.id])
    first = [next(run.id for run in order if ranks[run.id] == ranks[one.id]) for one in order]
    bound = _bound_otherwise(order, ranks, nodes_of)
    programs = sorted({name for of_run in held.values() for name in of_run})

    def cells(quantity: _Quantity, name: str) -> list[Cell | None]:
        references = bound if quantity.among_bindings else first
        return [
            quantity.of(held[run.id][name], held[reference][name])
            if reference and name in held[run.id] and name in held[reference]
            else None
            for run, reference in zip(order, references, strict=True)
        ]

    parts = {one.title: [(name, cells(one, name)) for name in programs] for one in _QUANTITIES}
    lines = [
        (title, name, of_name)
        for title, part in parts.items()
        if any(any(of_name) for _, of_name in part)
        for name, of_name in part
    ]

    def of_run(at: int) -> Callable[[tuple[str, str, Sequence[Cell | None]]], Cell | None]:
        def cell(line: tuple[str, str, Sequence[Cell | None]]) -> Cell | None:
            one = line[2][at]
            return replace(one, kind=clock) if one else None

        return cell

    predicted = clock == "simulated"
    note = (
        "Compared with the first placement of as many ranks; worse values are shaded, unless they are times "
        "of oversubscribed or disturbed results. Bytes are those of all messages, including collectives; if "
        "interfaces count them, frames with headers."
    )
    known = f"{machine.removeprefix('simulated:')}, class {problem}"
    table = tabled(
        f"Placements of ranks on nodes: {known}",
        [
            Column("program", lambda line: line[1].upper()),
            *(
                Column(_arrangement(run, ranks[run.id], nodes_of), of_run(at), side=">", absent="–")
                for at, run in enumerate(order)
            ),
        ],
        lines,
        kind="impact",
        part_of=lambda line: line[0],
        notes=[note + (" All values are predicted by a model, not measured." if predicted else "")],
    )
    look = _lookup([(run, nodes_of(run.id, ranks[run.id])) for run in order], held)
    return [table, *_claims(order[0], look, clock)]


def _claims(run: Run, look: Lookup, clock: str) -> list[Table]:
    """Return tables of the verdicts on what papers say of programs in arrangements, one for each paper.

    For a model, everything that is said of its machine; for other machines, what their results answer.
    """
    model = run.machine.model
    names = tuple((one.machine, one.mode) for one in model.published) if model else ()
    subject = Subject(names)
    found: dict[str, list[Verdict]] = {}
    for row in rows_about(subject) if model else all_rows():
        for question in questions(row, subject) if row.fact.use == "validate" else ():
            if any(case.per_node and case.place for case in question.cases):
                verdict = judge(question, look)
                if model or verdict.answer is not None:
                    found.setdefault(row.paper.citation, []).append(verdict)
    columns: list[Column[Verdict]] = [
        Column("claim", _claim),
        Column("published", lambda verdict: published_text(verdict.row), side=">"),
        Column("here", lambda verdict: _here(verdict, clock), side=">", absent="–"),
    ]
    return [
        tabled(f"As published, not measured here: {citation}", columns, its, kind="claims")
        for citation, its in found.items()
    ]


def _claim(verdict: Verdict) -> Cell:
    system, fact = verdict.row.system, verdict.row.fact
    words = ", ".join(filter(None, (system.mode, fact.benchmark, fact.metric)))
    return Cell(words, below=fact.location)


def _here(verdict: Verdict, clock: str) -> Cell:
    if verdict.answer is None:
        return Cell(None)
    here, gap = answer_text(verdict), gap_text(verdict)
    return Cell(here, below="" if gap == here else gap, kind=clock)


def _lookup(arranged: Sequence[tuple[Run, Nodes | None]], held: Mapping[str, Mapping[str, _Held]]) -> Lookup:
    """Return a lookup of rates and network bytes in the run that has the ranks of a case so placed."""

    def look(quantity: Quantity) -> Value:
        case, in_bytes = quantity.case, quantity.metric == NETWORK_BYTES
        for run, nodes in arranged:
            # Binding to other cores of a node does not change the messages.
            if nodes is not None and is_alike(nodes, case) and (in_bytes or run.bind == case.bind):
                one = held[run.id].get(case.benchmark)
                if one is None:
                    return Value(None, f"run {run.id} has no {case.benchmark}")
                if in_bytes:
                    return Value(one.network_bytes, unit="B")
                rate, is_rate = one.rate, quantity.metric == "rate"
                return Value(
                    {"rate": rate.median, "network_time": one.network_s}.get(quantity.metric),
                    predicted=rate.clock == "simulated",
                    disturbed=rate.disturbed > 0,
                    oversubscribed=rate.oversubscribed,
                    low=rate.low if is_rate else None,
                    high=rate.high if is_rate else None,
                )
        return Value(None, f"no run has {case.ranks} ranks on nodes like this")

    return look


def _bound_otherwise(order: Sequence[Run], ranks: Mapping[str, int], nodes_of: NodesOf) -> list[str | None]:
    """Return for each run the first run with the same ranks per node, but on other cores.

    None if there is none.
    """
    nodes = [nodes_of(run.id, ranks[run.id]) for run in order]
    found: list[str | None] = []
    for mine in nodes:
        alike = [run for run, other in zip(order, nodes, strict=True) if mine is not None and other == mine]
        binds = {run.bind for run in alike}
        found.append(alike[0].id if len(binds) > 1 else None)
    return found


def _timed(cell: Cell, one: _Held, first: _Held) -> Cell:
    """Return a cell about times: with the remarks on its result, and unshaded if it or the first has some."""
    if not remarks_text(one.rate, first.rate):
        return cell
    below = (cell.below,) if isinstance(cell.below, str) else cell.below
    return replace(cell, below=(*below, remarks_text(one.rate)), shade=None)


def _performance(one: _Held, first: _Held) -> Cell:
    ratio = one.rate.median / first.rate.median
    below = format_value(one.rate.median, "op/s")
    if one is first:
        return _timed(Cell("1", below), one, first)
    return _timed(Cell(f"{ratio:.2f}", below, shade=_shade(1 - ratio)), one, first)


def _in_messages(one: _Held, first: _Held) -> Cell | None:
    if one.in_messages is None:
        return None
    more = 0.0 if first.in_messages is None else one.in_messages - first.in_messages
    return _timed(Cell(f"{100 * one.in_messages:.0f} %", shade=_shade(more)), one, first)


def _under_way(seconds: float | None, of_first_s: float | None, one: _Held, first: _Held) -> Cell | None:
    if seconds is None:
        return None
    more, words = _more(seconds, of_first_s, one is first)
    share = f"{100 * seconds / one.time_s:.0f} % of the time" if one.time_s else ""
    below = ", ".join(filter(None, (share, words)))
    return _timed(Cell(Shown(seconds, "s"), below, shade=_shade(more)), one, first)


def _between_nodes(one: _Held, first: _Held) -> Cell | None:
    if one.between_nodes is None:
        return None
    more, words = _more(one.between_nodes, first.between_nodes, one is first)
    below = ", ".join(filter(None, (_share(one.between_nodes, one), words)))
    return Cell(Shown(one.between_nodes, "B"), below, shade=_shade(more))


def _by_interfaces(one: _Held, first: _Held) -> Cell | None:
    if one.by_interfaces is None:
        return None
    more, words = _more(one.by_interfaces, first.by_interfaces, one is first)
    return Cell(Shown(one.by_interfaces, "B"), words, shade=_shade(more))


def _more(count: float, first: float | None, reference: bool) -> tuple[float, str]:
    """Return the relative increase over the first arrangement, and its text; "" for the first one itself."""
    if reference or not first:
        return 0.0, ""
    more = round(count / first - 1, 3)
    if more >= _TIMES:
        return more, f"{three_digits(1 + more)} times"
    return more, f"{100 * more:+.1f} %" if more else "no change"


def _within_nodes(one: _Held, first: _Held) -> Cell | None:
    if one.within_nodes is None:
        return None
    return Cell(Shown(one.within_nodes, "B"), _share(one.within_nodes, one))


def _share(part: float, of: _Held) -> str:
    whole = (of.between_nodes or 0.0) + (of.within_nodes or 0.0)
    return f"{100 * part / whole:.0f} % of all" if whole else ""


def _shade(more: float) -> int:
    """Return the shade in percent for a relative increase; 100 for twice the first arrangement."""
    return min(100, max(0, round(100 * more)))


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A quantity of a program in an arrangement, compared with the first of as many ranks.

    `among_bindings`: with the first on the same nodes, if some of those are bound to other cores.
    """

    title: str
    of: Callable[[_Held, _Held], Cell | None]
    among_bindings: bool = False


_QUANTITIES = (
    _Quantity("Performance", _performance),
    _Quantity("Processor sharing: performance beside the same placement on other cores", _performance, True),
    _Quantity("Time in messages and waiting, of an average rank", _in_messages),
    _Quantity(
        "Network time: messages from or to other nodes are under way, average rank",
        lambda one, first: _under_way(one.network_s, first.network_s, one, first),
    ),
    _Quantity(
        "Time within nodes: messages on its own node are under way, average rank",
        lambda one, first: _under_way(one.node_s, first.node_s, one, first),
    ),
    _Quantity("Bytes between nodes", _between_nodes),
    _Quantity("Bytes that interfaces of nodes sent, headers included", _by_interfaces),
    _Quantity("Bytes within nodes", _within_nodes),
)
