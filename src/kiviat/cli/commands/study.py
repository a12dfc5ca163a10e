"""`kiviat study`: makes a paper's evaluation anew, on any machine, and judges its sentences."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import grids
from kiviat.analysis.published.sources import MachineResults
from kiviat.analysis.published.study import JudgedRow, summed, verdicts
from kiviat.analysis.published.text import answer_text, place_text, statement_text
from kiviat.cli.commands.run import run_once
from kiviat.cli.options.files import print_name
from kiviat.cli.options.request import StudyRequest
from kiviat.cli.subcommands.study_docs import refuse_elsewhere, write_section
from kiviat.cli.subcommands.study_profiles import profiles_of
from kiviat.cli.subcommands.study_runs import StudyPlace, places_of, ran
from kiviat.cli.text.table import bold, print_csv, print_json, print_table
from kiviat.cli.text.warnings import print_warnings
from kiviat.record import InputError, write_whole
from kiviat.record.published import papers
from kiviat.record.rows import Rows
from kiviat.record.run import Run
from kiviat.record.studies import StudyDefinition, find_study, read_study, study_files
from kiviat.record.traits import traits_of
from kiviat.report.facts.runs import labels
from kiviat.report.study.paper_page import render_study
from kiviat.report.table import Column, tabled
from kiviat.store import find_run, read_run
from kiviat.store.read import load
from kiviat.store.tables import load_tables


@dataclass(frozen=True)
class _Part:
    """A run and the part of the study that it is, "" for a run of something else that `--with` names."""

    path: Path
    name: str


@dataclass
class _Group:
    """The runs of a machine, and why it lacks results of a part."""

    parts: list[_Part] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def execute(request: StudyRequest) -> int:
    """Run what is missing, write the page and print the summary; 1 if a case failed."""
    if request.name == "list":
        return _list(request)
    study = find_study(request.name)
    if request.write:
        refuse_elsewhere()
    places = places_of(study, request)
    folder = Path(request.output or f"study-{study.name}")
    worst, groups = 0, []
    # Standard output has the result, which programs may read.
    with nullcontext() if request.format == "table" else redirect_stdout(sys.stderr):
        for place in places:
            code, group = _ran(study, place, request, folder)
            worst = max(worst, code)
            groups.append(group)
    if request.dry_run:
        return worst
    machines = _machines(study, runs_by_machine(study, groups, request.with_runs))
    if not machines:
        reasons = dict.fromkeys(reason for group in groups for reason in group.reasons.values())
        why = f" ({'; '.join(reasons)})" if reasons else ""
        raise InputError(
            f"study {study.name} has no results{why}: give another --on WHERE, more ranks, or --with RUN"
        )
    judged = verdicts(study, machines)
    page = folder / f"{study.name}.html"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(render_study(study, machines, judged), page, "page")
    if request.write:
        write_section(study, machines, judged, _command(request))
    if request.format == "json":
        print_json({"study": study.name, "rows": [_entry(one) for one in judged], "page": str(page)})
    elif request.format == "csv":
        print_csv([_entry(one) for one in judged])
    else:
        _print_summary(study, machines, judged)
        print()
        print_name(str(page))
    return worst


def _command(request: StudyRequest) -> str:
    """Return the command line, without folders."""
    words = ["kiviat", "study", request.name]
    words += [word for place in request.on for word in ("--on", place)]
    words += ["-n", request.ranks] if request.ranks else []
    words += ["--class", request.problem_class] if request.problem_class else []
    words += ["--with", "RUN"] if request.with_runs else []
    return " ".join(map(str, words + ["--quick"] * request.quick))


def _ran(
    study: StudyDefinition, place: StudyPlace, request: StudyRequest, folder: Path
) -> tuple[int, _Group]:
    worst, group = 0, _Group()
    for run in study.runs:
        made = ran(study, run, place, request, folder, run_once)
        worst = max(worst, made.code)
        group.parts += [_Part(path, run.name) for path in made.paths]
        if made.reason:
            group.reasons[run.name] = made.reason
    return worst, group


def runs_by_machine(study: StudyDefinition, made: Sequence[_Group], names: Sequence[str]) -> list[_Group]:
    """Return the runs of each place and those that `--with` names, all of one machine together."""
    groups: dict[tuple[str, str, str], _Group] = {}
    given = [_Group([_Part(path, _part_of(study, path))]) for path in map(find_run, names)]
    for group in [*made, *given]:
        for part in group.parts:
            run = read_run(part.path)
            key = run.machine.name, run.clock, run.machine.model.hash if run.machine.model else ""
            same = groups.setdefault(key, _Group())
            same.parts.append(part)
            same.reasons.update(group.reasons)
    return list(groups.values())


def _part_of(study: StudyDefinition, path: Path) -> str:
    """Return the part of the study that an earlier `kiviat study` made as this run; "" for other runs."""
    plan = read_run(path).plan
    parts = {f"{study.name}-{run.name}": run.name for run in study.runs}
    return parts.get(plan.name, "") if plan else ""


def _machines(study: StudyDefinition, groups: Sequence[_Group]) -> list[MachineResults]:
    loaded: list[tuple[list[Run], Rows, list[Path], dict[str, str]]] = []
    for group in groups:
        runs, parts, names = [], [], {}
        for part in group.parts:
            run, its_rows, warnings = load(part.path)
            print_warnings(warnings)
            runs.append(run)
            parts.append(its_rows)
            names[run.id] = part.name
        loaded.append((runs, Rows.joined(parts), [part.path for part in group.parts], names))
    called = labels([runs[0] for runs, *_ in loaded])
    return [
        MachineResults(
            label.label,
            tuple(runs),
            summarise(rows),
            [grid for path in paths for grid in grids(load_tables(path))],
            rows,
            traits_of(run.benchmarks for run in runs),
            names,
            group.reasons,
            _scale(study, runs, names),
            profiles=profiles_of(zip(runs, paths, strict=True)),
        )
        for (runs, rows, paths, names), label, group in zip(loaded, called, groups, strict=True)
    ]


def _scale(study: StudyDefinition, runs: Sequence[Run], parts: Mapping[str, str]) -> int:
    """Return by how many times the study's arrangements have more nodes than those that ran."""
    shapes = {run.name: run.shape for run in study.runs if run.shape}
    for run in runs:
        shape, ranks = shapes.get(parts[run.id], ""), max((one.world or 0 for one in run.launches), default=0)
        if shape and ranks:
            nodes, per_node = map(int, shape.split("x"))
            return max(1, nodes * per_node // ranks)
    return 1


def _entry(one: JudgedRow) -> dict[str, object]:
    verdict = one.verdict
    return {
        "id": verdict.row.id,
        "location": verdict.row.fact.location,
        "statement": statement_text(verdict.row),
        "machine": one.machine or None,
        "published": verdict.row.number.value if verdict.row.number else None,
        "unit": verdict.row.number.unit if verdict.row.number else None,
        "answer": verdict.answer,
        "error": verdict.error,
        "verdict": verdict.verdict if verdict.error is None or verdict.holds is not None else "compared",
        "words": verdict.words,
        "predicted": verdict.predicted,
        "fitted": one.fitted,
        "foreign": one.foreign,
    }


def _print_summary(
    study: StudyDefinition, machines: Sequence[MachineResults], judged: Sequence[JudgedRow]
) -> None:
    total = summed(judged)
    print(f"{bold(study.name)}: {study.title}, on {', '.join(machine.label for machine in machines)}")
    if total.words:
        print(f"numbers     {total.words}")
    if total.judged:
        print(f"sentences   {total.held} of {total.judged} hold")
    for one in total.failing:
        row = one.verdict.row
        where = f" on {one.machine}" if one.machine else ""
        print(f"  fails{where}: {statement_text(row)}; here {answer_text(one.verdict)} [{place_text(row)}]")
    held, foreign = total.foreign
    if foreign:
        print(f"elsewhere   {held} of {foreign} statements about other machines hold here, too")
    untold = sum(count for _, count in total.untold)
    if untold:
        print(f"cannot tell {untold}; the page says why")


def _list(request: StudyRequest) -> int:
    studies = [read_study(path) for path in study_files()]
    citations = {paper.name: paper.short for paper in papers()}
    columns: list[Column[StudyDefinition]] = [
        Column("study", lambda study: study.name, key="study"),
        Column("paper", lambda study: citations.get(study.paper, study.paper), key="paper"),
        Column("figures", lambda study: len(study.figures), "number", key="figures"),
        Column("runs", lambda study: study.summary, key="runs"),
    ]
    print_table(tabled("Studies", columns, studies), request.format)
    return 0
