"""Published ratios and orderings across machines, and the lookup that answers them from simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kiviat.analysis.hpcc.derived import BALANCE
from kiviat.analysis.published.question import Case, Lookup, Quantity, Question, Subject, Value, all_rows
from kiviat.analysis.published.results import key, lookup_in
from kiviat.analysis.published.verdict import questions
from kiviat.analysis.scaling.energy import POWER_METRICS
from kiviat.machine.modelled.machine import Machine
from kiviat.record.types import Record


def questions_across(machines: Sequence[Machine]) -> list[Question]:
    """Return the questions that compare machines, for which all that they name are among `machines`.

    Two quantities are not asked for: power, which machine files declare, so that no simulation tests it; and
    ratios of HPC Challenge's kernels, which need a plan of their own, so that a study judges them.
    """
    asked = [
        question
        for row in all_rows()
        if row.fact.use == "validate"
        for question in questions(row, Subject((), None))
        if question.across_machines
    ]
    return [
        one
        for one in asked
        if all(
            model_of(machines, quantity)
            and quantity.metric not in POWER_METRICS
            and quantity.case.benchmark != BALANCE
            for quantity in _quantities(one)
        )
    ]


def cases_across(machines: Sequence[Machine], asked: Sequence[Question]) -> list[tuple[Machine, Case]]:
    """Return the cases of all questions with the machines that they are of, each once."""
    found: dict[tuple[str, str], tuple[Machine, Case]] = {}
    for question in asked:
        for quantity in _quantities(question):
            if machine := model_of(machines, quantity):
                found.setdefault((machine.name, key(quantity.case)), (machine, quantity.case))
    return list(found.values())


def lookup_across(machines: Sequence[Machine], records: Mapping[str, Mapping[str, Record]]) -> Lookup:
    """Return a lookup in records by the name of the machine and `key` of the case."""
    by_machine = {name: lookup_in(of) for name, of in records.items()}

    def look(quantity: Quantity) -> Value:
        machine = model_of(machines, quantity)
        if machine is None or machine.name not in by_machine:
            return Value(None, f"no model of {f'{quantity.machine} {quantity.mode}'.strip()} was asked")
        return by_machine[machine.name](quantity)

    return look


def model_of(machines: Sequence[Machine], quantity: Quantity) -> Machine | None:
    """Return the model of the machine that a quantity names; of several, the first that is no variant."""
    if not quantity.machine:
        return None
    named = [one for one in machines if _is_named(one, quantity.machine, quantity.mode)]
    return min(named, key=lambda one: one.base is not None, default=None)


def _is_named(machine: Machine, name: str, mode: str) -> bool:
    return Subject(tuple(machine.published)).is_named(name, mode)


def _quantities(question: Question) -> list[Quantity]:
    return [quantity for series in question.series for quantity in series]
