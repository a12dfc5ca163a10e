"""Claims of papers about placements of programs on nodes, compared with results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kiviat.analysis.aggregate.nodes import Nodes
from kiviat.analysis.published.arrangements import CLAIMS, Arrangement, Quantity, compared
from kiviat.record.published import Fact, Statement, System, papers
from kiviat.record.run import Run
from kiviat.record.units import format_value, three_digits

_RELATIONS = {"<=": "≤ ", ">=": "≥ ", "<": "< ", ">": "> "}

# A paper's citation; for each claim: place in the paper, subject, published value, value here, verdict.
Sentences = tuple[str, list[tuple[str, str, str, str, str]]]
# Value of a quantity for a run and a program; None if unknown.
Known = Callable[[str, str, Quantity], float | None]


def said_of_programs(run: Run, arranged: Sequence[tuple[Run, Nodes | None]], known: Known) -> list[Sentences]:
    """Return the claims about NAS programs on the machine of `run`, by paper.

    On a machine without a model, all claims that the results can answer. `arranged` are all runs with the
    nodes of their ranks.
    """
    model = run.machine.model
    names = {(one.machine, one.mode) for one in model.published} if model else None
    found: list[Sentences] = []
    for paper in papers():
        said: list[tuple[System, Fact | Statement]] = []
        for system in paper.systems:
            if names is None or (system.machine, system.mode) in names:
                said += [(system, fact) for fact in system.facts]
                said += [(system, statement) for statement in system.statements]
        claims = []
        for system, fact in said:
            here = _answer(fact.id, arranged, known)
            if _of_programs(fact) and (names is not None or here is not None):
                about = ", ".join(filter(None, (system.mode, fact.benchmark, fact.metric)))
                claims.append((fact.location, about, _value(fact), _here(fact, here), _verdict(fact, here)))
        if claims:
            found.append((paper.citation, claims))
    return found


def _of_programs(fact: Fact | Statement) -> bool:
    return fact.benchmark.startswith("NPB") and fact.use == "validate"


def _answer(row: str, arranged: Sequence[tuple[Run, Nodes | None]], known: Known) -> float | bool | None:
    if (claim := CLAIMS.get(row)) is None:
        return None

    def value(program: str, where: Arrangement) -> float | None:
        for run, nodes in arranged:
            # Binding to other cores of the node does not change the messages.
            bound = claim.quantity != "rate" or run.bind == where.bind
            if bound and nodes is not None and _alike(nodes, where):
                return known(run.id, program, claim.quantity)
        return None

    return claim.answered(value)


def _alike(nodes: Nodes, where: Arrangement) -> bool:
    """Return whether the same ranks share nodes, irrespective of node names."""
    wanted = [where.node(rank) for rank in range(where.ranks)]
    pairs = set(zip(nodes.of, wanted, strict=False))
    return len(nodes.of) == len(wanted) and len(pairs) == len(set(wanted)) == len(set(nodes.of))


def _value(fact: Fact | Statement) -> str:
    if isinstance(fact, Statement):
        return "it is so"
    return f"{_RELATIONS.get(fact.relation, '')}{format_value(fact.value, fact.unit)}"


def _here(fact: Fact | Statement, answer: float | bool | None) -> str:
    if answer is None:
        return "–"
    if isinstance(fact, Statement):
        return "it is so" if answer else "it is not so"
    return format_value(_rounded(answer, fact), fact.unit)


def _verdict(fact: Fact | Statement, answer: float | bool | None) -> str:
    if answer is None or isinstance(fact, Statement):
        return _here(fact, answer)
    found = compared(fact.relation, fact.value, answer)
    if isinstance(found, bool):
        return "holds" if found else "does not hold"
    off = _rounded(abs(found), fact)
    if not off:
        return "the same"
    words = f"{three_digits(off)} points" if fact.unit == "%" else format_value(off, fact.unit)
    return f"{words} {'more' if found > 0 else 'less'}"


def _rounded(value: float, fact: Fact) -> float:
    return round(value, 2 if fact.unit == "%" else 6)
