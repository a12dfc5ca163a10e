"""Studies: the files of studies/, each of which evaluates one paper (schema/study.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kiviat.record.errors import InputError
from kiviat.record.files import read_toml
from kiviat.record.schema import data_path, refuse_other_version
from kiviat.record.suggestion import suggestion
from kiviat.record.types import Scalar
from kiviat.record.valid import first_wrong

STUDY_SCHEMA = "kiviat.study/1"


@dataclass(frozen=True, slots=True)
class StudyRun:
    """One run of a study: the cases of a plan, and the placement of its ranks.

    `cases`, `launches` and `controls` have the same form as in plans. `ranks` is the largest number of ranks,
    0 for that of the study; `shape`, such as "8x2", replaces it. `where` restricts the run to "simulated" or
    to "real" machines, "" for both. `quick` lists the changes made by `--quick`: "run = false" omits the run;
    "ranks", "bytes" and "axes" replace those of all its cases. `profile`: on real machines each program also
    runs once with the profiler.

    `traces` names recordings of programs that modelled machines cannot run: instead of the cases they replay
    each NAME-*.trace in the folder traces/ of the study's results, as program NAME of the benchmark "replay".
    """

    name: str
    cases: tuple[Mapping[str, Any], ...]
    ranks: int = 0
    shape: str = ""
    ppn: int | None = None
    place: str | None = None
    bind: str | None = None
    where: str = ""
    profile: bool = False
    launches: int = 5
    controls: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    traces: tuple[str, ...] = ()

    def measures(self, benchmark: str, axes: Mapping[str, Scalar]) -> bool:
        """Return whether the run has cases of a benchmark, or replays of the program in `axes`."""
        named = (case["benchmarks"] for case in self.cases)
        of_cases = {name for one in named for name in ([one] if isinstance(one, str) else one)}
        return benchmark in of_cases or (benchmark == "replay" and axes.get("program") in self.traces)


@dataclass(frozen=True, slots=True)
class StudyCurve:
    """One curve per machine: a metric ("benchmark.metric") of cases that differ only in x.

    Each size in `bytes` has a panel of its own. `table` names a table of the records whose values replace the
    metric. `run` names the run of the study that contains the cases, if several runs do. `over` is the metric
    by whose value at the same x each value is divided.
    """

    measures: str
    label: str = ""
    over: str = ""
    ranks: int | None = None
    bytes: tuple[int, ...] = ()
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    table: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class StudyFigure:
    """A figure with the paper's number.

    `x` is "bytes", "ranks", an axis, a dimension of a table, or a metric ("benchmark.metric") on as many
    ranks; or "partner": the curves' tables are matrices of ranks, which are drawn as maps. `over` is "" for
    the values themselves, "first" for values relative to the first of their curve, or "efficiency" for rates
    per rank relative to those on the fewest ranks, in percent.

    `statistic` are the paper's values of several launches, "mean", "minimum" or "maximum", with bars from
    their minimum to their maximum; the page has them beside the median and its interval. `apart`: each
    machine has a chart of its own.
    """

    number: str
    title: str
    x: str
    curves: tuple[StudyCurve, ...]
    over: str = ""
    statistic: tuple[str, ...] = ()
    log: bool = True
    apart: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class StudyColumn:
    """A column of a table: a metric, "benchmark.metric", on a given number of ranks.

    In tables of programs it is an arrangement, or a metric of each program, without a benchmark.
    """

    title: str
    measures: str = ""
    bytes: int | None = None
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    arrangement: str = ""
    over: str = ""
    ranks: int | None = None


@dataclass(frozen=True, slots=True)
class StudyTable:
    """A table with the paper's number.

    Its rows are machines and numbers of ranks, or the `programs` on each machine. Programs are compared in
    the columns' arrangements, by the metric `measures`; or by the columns' metrics on `ranks`, without it on
    the most ranks on which all machines have results of all programs. `diagram` also draws the columns as
    axes of a Kiviat diagram, each divided by its largest value.
    """

    number: str
    title: str
    columns: tuple[StudyColumn, ...]
    programs: tuple[str, ...] = ()
    measures: str = ""
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    ranks: int | None = None
    diagram: bool = False
    note: str = ""

    @property
    def of_metrics(self) -> bool:
        """True for programs whose metrics are compared, False for programs in arrangements and for others."""
        return bool(self.programs) and not any(column.arrangement for column in self.columns)


@dataclass(frozen=True, slots=True)
class StudyDefinition:
    """The definition of a study.

    `paper` names a file of published/. `on` lists the default substrates; `--on` replaces them. `causes` says
    why models miss published rows, by the identifier of the row.
    """

    name: str
    title: str
    summary: str
    paper: str
    runs: tuple[StudyRun, ...]
    figures: tuple[StudyFigure, ...] = ()
    tables: tuple[StudyTable, ...] = ()
    on: tuple[str, ...] = ()
    ranks: int = 64
    quick_ranks: int = 8
    note: str = ""
    causes: Mapping[str, str] = field(default_factory=dict)


def study_names() -> list[str]:
    """Return the names of the studies in the package."""
    return [read_study(path).name for path in study_files()]


def study_files() -> list[Path]:
    """Return the files of the studies in the package."""
    return sorted(data_path("studies").glob("*.toml"))


def find_study(name: str) -> StudyDefinition:
    """Return a study by name or file. Raise InputError if it does not exist or its file is invalid."""
    if name.endswith(".toml"):
        return read_study(Path(name))
    for path in study_files():
        if path.stem.lower() == name.lower():
            return read_study(path)
    names = study_names()
    raise InputError(
        f"there is no study {name!r}{suggestion(name, names, 'give ' + ', '.join(names) + ' or a file')}"
    )


def read_study(path: Path) -> StudyDefinition:
    """Return the study of a file."""
    try:
        data = read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as a study: {error}; correct the file") from None
    try:
        refuse_other_version(data.get("schema"), STUDY_SCHEMA)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if wrong := first_wrong(data, "study"):
        raise InputError(f"{path}: {wrong}; schema/study.schema.json defines the format")
    runs = tuple(
        StudyRun(**{**run, "cases": tuple(run["cases"]), "traces": tuple(run.get("traces", ()))})
        for run in data["runs"]
    )
    names = [run.name for run in runs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path}: two runs are called {twice!r}; give each a name of its own")
    figures = tuple(map(_figure, data.get("figures", ())))
    tables = tuple(
        StudyTable(
            **{
                **table,
                "columns": tuple(StudyColumn(**column) for column in table["columns"]),
                "programs": tuple(table.get("programs", ())),
            }
        )
        for table in data.get("tables", ())
    )
    for table in tables:
        if wrong := _wrong_column(table):
            raise InputError(f"{path}: table {table.number}, column {wrong}")
    parts = {"runs": runs, "figures": figures, "tables": tables, "on": tuple(data.get("on", ()))}
    rest = {key: value for key, value in data.items() if key != "schema"}
    return StudyDefinition(**{"paper": "", **rest, **parts})


def _wrong_column(table: StudyTable) -> str:
    """Return the first column whose `measures` does not fit its table, and what to write; "" if all fit."""
    for column in table.columns:
        dotted = "." in column.measures
        if table.programs and not column.arrangement and (dotted or not column.measures):
            return f"{column.title!r}: give `measures` as a metric of the programs, such as time"
        if not table.programs and not dotted:
            return f"{column.title!r}: give `measures` as benchmark.metric, such as hpl.rate"
    return ""


def _figure(data: Mapping[str, Any]) -> StudyFigure:
    given = data.get("statistic", ())
    statistic = (given,) if isinstance(given, str) else tuple(given)
    return StudyFigure(**{**data, "curves": tuple(map(_curve, data["curves"])), "statistic": statistic})


def _curve(data: Mapping[str, Any]) -> StudyCurve:
    sizes = data.get("bytes", ())
    return StudyCurve(**{**data, "bytes": (sizes,) if isinstance(sizes, int) else tuple(sizes)})
