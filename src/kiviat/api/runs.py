"""Stored runs: `load` reads them, and their tables are those of `kiviat sql`."""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from glob import glob, has_magic
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, overload

import duckdb

from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.analysis.findings.all import Finding, findings, top
from kiviat.api.arguments import file_name
from kiviat.api.table import Table
from kiviat.record import InputError, write_whole
from kiviat.record import run as record
from kiviat.record.rows import Rows
from kiviat.record.units import counted
from kiviat.report.html import fragment
from kiviat.store import find_run
from kiviat.store.files import RUN_FILE
from kiviat.store.query import add_table, connect
from kiviat.store.read import load as load_run
from kiviat.store.tables import load_tables

_MOST_FINDINGS = 3
_KINDS = {
    "str": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "tuple[float, ...]": "DOUBLE[]",
}
SUMMARY_TYPES = {
    field.name: _KINDS.get(str(field.type).removesuffix(" | None"), "JSON") for field in fields(Summary)
}


class _Stored:
    """The tables of stored runs, with the names and columns of `kiviat sql` (docs/reference/python.md)."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The folders of the runs."""
        raise NotImplementedError

    def _results(self) -> Iterable[Summary]:
        """Return the typed rows of `summaries`."""
        raise NotImplementedError

    @property
    def runs(self) -> Table:
        """One row for each run."""
        return self._table("runs")

    @property
    def launches(self) -> Table:
        """One row for each start of an MPI program."""
        return self._table("launches")

    @property
    def records(self) -> Table:
        """One row for each case and launch, with its outcome."""
        return self._table("records")

    @property
    def metrics(self) -> Table:
        """One row for each quantity of a record; values in s, B/s and the other units of `unit`."""
        return self._table("metrics")

    @property
    def samples(self) -> Table:
        """One row for each sample."""
        return self._table("samples")

    @cached_property
    def summaries(self) -> Table:
        """One row for each case and metric over all launches, with the 95 % interval of its median."""
        return Table.of([asdict(summary) for summary in self._results()], "summaries", SUMMARY_TYPES)

    def _table(self, name: str) -> Table:
        return Table(name, lambda: opened(self.paths))


@dataclass(frozen=True, eq=False)
class Run(_Stored):
    """A run: `about` is its run.json, `warnings` are remarks on its files."""

    path: Path
    about: record.Run
    warnings: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The folder of the run."""
        return (self.path,)

    @property
    def id(self) -> str:
        """The identifier, by which commands call the run."""
        return self.about.id

    @property
    def simulated(self) -> bool:
        """True if a model predicted the results."""
        return self.about.clock == "simulated"

    @cached_property
    def rows(self) -> Rows:
        """Each metric of each record."""
        return load_run(self.path)[1]

    @cached_property
    def _completed(self) -> int:
        return len(self.rows.completed())

    @cached_property
    def results(self) -> list[Summary]:
        """Each case and metric over all launches, as typed rows."""
        return summarise(self.rows)

    def _results(self) -> Iterable[Summary]:
        return self.results

    @cached_property
    def grids(self) -> list[Grid]:
        """The tables of studies, such as matrices of all pairs of ranks."""
        return grids(load_tables(self.path))

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings, the most important first."""
        return findings(self.results, [self.about], self.rows, self.grids)

    def forget(self) -> None:
        """Free the memory of rows and results, which are read again when they are asked for."""
        _ = self._completed
        for name in ("rows", "results", "summaries"):
            self.__dict__.pop(name, None)

    def __repr__(self) -> str:
        return f"<run {self.id}: {self._facts()}>"

    def _facts(self) -> str:
        from kiviat.report.facts.runs import machine_name  # noqa: PLC0415 (imports much of analysis)

        about = self.about
        origin = "simulated, not measured" if self.simulated else about.substrate
        cases = self._completed
        plan = about.plan.name if about.plan else "ingested"
        words = [machine_name(about), *([] if self.simulated else about.mpis), origin, f"plan {plan}"]
        return ", ".join(
            [*words, counted(cases, "case"), counted(len(about.launches), "launch"), about.state]
        )

    def _repr_html_(self) -> str:
        sentences = [one.headline for one in top(self.findings, _MOST_FINDINGS)]
        return fragment.heading(f"Run {self.id}:", self._facts()) + fragment.items(sentences)


class Runs(_Stored, Sequence[Run]):
    """Runs in the order in which they were named, each folder once."""

    def __init__(self, runs: Iterable[Run]) -> None:
        found: dict[Path, Run] = {}
        for run in runs:
            found.setdefault(_folder(run), run)
        self._runs = tuple(found.values())
        by_id: dict[str, Run] = {}
        for run in self._runs:  # results name their run by its identifier
            if (other := by_id.setdefault(run.id, run)).about != run.about:  # not a copy
                raise InputError(
                    f"{other.path} and {run.path} are two runs with one identifier, by which results name "
                    "their run; give them one by one"
                )

    @property
    def paths(self) -> tuple[Path, ...]:
        """The folders of the runs."""
        return tuple(run.path for run in self._runs)

    def _results(self) -> Iterable[Summary]:
        return chain.from_iterable(run.results for run in self._runs)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks on the files, such as an interrupted run."""
        return tuple(chain.from_iterable(run.warnings for run in self._runs))

    def report(self, output: str | PathLike[str] = "report.html") -> Path:
        """Write the runs as a web page, side by side, and return its path."""
        from kiviat.report.run.page import render  # noqa: PLC0415 (takes a second, for pages only)

        rows = Rows.joined(run.rows for run in self._runs)
        tables = list(chain.from_iterable(run.grids for run in self._runs))
        path = Path(output)
        write_whole(render([run.about for run in self._runs], rows, tables), path, "report")
        return path

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Run | Runs:
        return Runs(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'run')}: {', '.join(run.id for run in self)}>"

    def _repr_html_(self) -> str:
        return "".join(run._repr_html_() for run in self._runs)


# A selection of runs: "last", an identifier or its beginning, a path, a pattern of paths, or loaded runs.
Named = str | PathLike[str] | Run | Runs


def load(*names: str | PathLike[str]) -> Runs:
    """Return the runs of these names: identifiers, paths, patterns such as "runs/2026-*", or "last".

    Without a name it loads the last run. Remarks on the files, such as an interrupted run, are Python
    warnings. Raise InputError for runs that do not exist or cannot be read.
    """
    return named(names or ("last",))


def named(names: Iterable[Named], stacklevel: int = 3) -> Runs:
    """Return the runs as `read` does, with absolute paths, which outlive a change of the working directory.

    Remarks on runs that were not loaded before are Python warnings; `stacklevel` 3 is the caller's caller.
    """
    found = [
        one if isinstance(one, Run) else one.resolve() for name in names for one in _runs_or_folders(name)
    ]
    runs = read(found)
    for remark in chain.from_iterable(run.warnings for run in runs if run not in found):
        python_warnings.warn(remark, stacklevel=stacklevel)
    return runs


def named_one(name: Named, stacklevel: int = 4) -> Run:
    """Return the single run of that name as `named` does. Raise InputError for several."""
    return _single(named([name], stacklevel), name)


def read(names: Iterable[Named]) -> Runs:
    """Return the runs, each once, with the paths that they were given by, without issuing warnings."""
    runs: dict[Path, Run] = {}
    for one in chain.from_iterable(map(_runs_or_folders, names)):
        folder = _folder(one)
        if folder not in runs:
            runs[folder] = one if isinstance(one, Run) else _read(one)
    return Runs(runs.values())


def read_one(name: Named) -> Run:
    """Return the single run of that name as `read` does. Raise InputError for several."""
    return _single(read([name]), name)


def _single(runs: Runs, name: Named) -> Run:
    if len(runs) != 1:
        raise InputError(f"{name!r} is {counted(len(runs), 'run')}; give one")
    return runs[0]


def _folder(run: Run | Path) -> Path:
    """Return the folder by its one absolute path without links, by which equal runs are known."""
    return (run.path if isinstance(run, Run) else run).resolve()


def _read(path: Path) -> Run:
    about, rows, warnings = load_run(path)
    run = Run(path, about, tuple(warnings))
    run.__dict__["rows"] = rows
    return run


def _runs_or_folders(name: Named) -> Iterable[Run | Path]:
    """Return runs that are loaded, or the folders of those that are not."""
    if isinstance(name, Run | Runs):
        return [name] if isinstance(name, Run) else name
    return _paths(file_name("run", name))


def _paths(name: str) -> list[Path]:
    try:
        return [find_run(name)]
    except InputError:
        if not has_magic(name):
            raise
    matching = sorted(glob(name))  # noqa: PTH207 (Path.glob takes no absolute patterns)
    found = [Path(path) for path in matching if (Path(path) / RUN_FILE).is_file()]
    if not found:
        raise InputError(f"no run matches {name!r}; a run is a folder with {RUN_FILE}")
    return found


@contextmanager
def opened(
    paths: Sequence[Path], *, summaries: bool = False, tell: Callable[[str], None] = lambda remark: None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with the tables of the runs; with `summaries` also the table of that name.

    `tell` is called with each remark on the files.
    """
    with connect(paths, tell=tell) as connection:
        if summaries:
            rows = Rows.joined(load_run(path)[1] for path in paths)
            values: Iterable[dict[str, Any]] = (asdict(summary) for summary in summarise(rows))
            add_table(connection, "summaries", SUMMARY_TYPES, values)
        yield connection
