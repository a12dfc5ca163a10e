"""`kiviat study NAME --write`: the study's section of docs/reference/studies.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kiviat.analysis.published.sources import MachineResults
from kiviat.analysis.published.study import (
    Judged,
    JudgedRow,
    paper_order,
    part_name,
    rows_of_parts,
    summed,
)
from kiviat.record import InputError, write_whole
from kiviat.record.published import papers
from kiviat.record.studies import StudyDefinition, StudyFigure, StudyTable

_PAGE = Path("docs/reference/studies.md")


def refuse_elsewhere() -> None:
    """Raise InputError outside the source tree."""
    if not _PAGE.is_file():
        raise InputError(f"--write: there is no {_PAGE} here; go to the top of the source tree")


def write_section(
    study: StudyDefinition, machines: Sequence[MachineResults], judged: Judged, command: str
) -> None:
    """Replace the study's section in the page, or add it."""
    text = _PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {study.name} -->", f"<!-- end {study.name} -->"
    section = "\n".join([begin, *_section(study, machines, judged, command), end])
    if begin in text:
        text = re.sub(f"{begin}.*?{end}", lambda match: section, text, flags=re.DOTALL)
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    write_whole(text, _PAGE, "page")


def _section(
    study: StudyDefinition, machines: Sequence[MachineResults], judged: Judged, command: str
) -> Iterator[str]:
    paper = next((paper for paper in papers() if paper.name == study.paper), None)
    total = summed(judged)
    yield f"\n## {study.name}: {study.title}\n"
    if paper:
        yield f"{paper.citation}.\n"
    where = ", ".join(machine.label for machine in machines)
    yield f"Made on {datetime.now(UTC):%Y-%m-%d} by `{command}`: {where}.\n"
    if total.words:
        yield f"Numbers: {total.words}."
    if total.judged:
        yield f"{total.held} of {total.judged} orderings and bounds hold."
    yield ""
    yield "| figure | what | made by | hold | fail | cannot tell |"
    yield "|---|---|---|---|---|---|"
    tabled, figured, left = rows_of_parts(study, judged)
    parts: list[StudyFigure | StudyTable] = [*study.tables, *study.figures]
    of_parts = [*tabled, *figured]
    for part, rows in ((parts[at], of_parts[at]) for at in paper_order(parts)):
        yield _line(part_name(part), part.title, _made_by(part), rows)
    if left:
        yield _line("–", "other sentences", "", left)
    missed = {one.verdict.row.id: one.cause for one in judged if one.missed}
    if causes := list(dict.fromkeys(filter(None, missed.values()))):
        yield "\nWhy models miss published rows, where it is known:\n"
        for cause in causes:
            yield f"- {', '.join(row for row, its in missed.items() if its == cause)}: {cause}"
    if unknown := [row for row, cause in missed.items() if not cause]:
        yield f"\nNot known: {', '.join(unknown)}."
    yield ""


def _line(name: str, title: str, made_by: str, rows: Judged) -> str:
    hold, fail, untold = (_ids(rows, wanted) for wanted in (True, False, None))
    return f"| {name} | {title} | {made_by} | {hold} | {fail} | {untold} |"


def _ids(rows: Judged, wanted: bool | None) -> str:
    """Return the ids of rows that hold, fail, or have no verdict; those only compared are in no list."""
    ids = [one.verdict.row.id for one in rows if not one.foreign and _outcome(one) is wanted]
    return ", ".join(dict.fromkeys(ids))


def _outcome(one: JudgedRow) -> bool | str | None:
    holds = one.verdict.holds
    if holds is None:
        return None if one.verdict.error is None else "compared"
    return "compared" if one.fitted else holds  # a model was fitted to it, so agreement proves nothing


def _made_by(part: StudyFigure | StudyTable) -> str:
    if isinstance(part, StudyFigure):
        names = [curve.measures for curve in part.curves]
    elif part.of_metrics:
        names = [f"{program}.{column.measures}" for program in part.programs for column in part.columns]
    elif part.programs:
        names = [f"{program}.{part.measures}" for program in part.programs]
    else:
        names = [column.measures for column in part.columns]
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))
