"""The published rows of a modelled machine: those it was fitted to, and those it is validated with."""

from __future__ import annotations

from kiviat.analysis.published import verdict
from kiviat.analysis.published.question import Question, Subject, all_rows
from kiviat.machine.modelled.machine import Machine


def subject(machine: Machine) -> Subject:
    """Return the machine as published rows ask of it."""
    return Subject(tuple(machine.published), machine.cores)


def calibration(machine: Machine) -> list[Question]:
    """Return the questions of the rows that the model, or its base, was fitted to."""
    rows = {row.id: row for row in all_rows()}
    names = (*machine.calibrated_on, *machine.base_rows)
    return [
        question
        for name in names
        if name in rows
        for question in verdict.questions(rows[name], subject(machine))
    ]


def validation(machine: Machine) -> list[Question]:
    """Return the questions of the rows that a model is validated with, not calibrated on."""
    return verdict.validation(subject(machine))
