"""Runs, their tables and data frames, and results computed from them."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import kiviat
from kiviat.api.runs import read
from kiviat.store import RunDirectory
from kiviat.store.query import connect

MakeRun = Callable[..., RunDirectory]


@pytest.fixture
def path(make_run: MakeRun) -> Path:
    return make_run().path


def interrupt(path: Path) -> None:
    file = path / "run.json"
    file.write_text(file.read_text().replace('"complete"', '"interrupted"'))


def test_load_takes_paths_patterns_and_identifiers(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [make_run(), make_run()]
    monkeypatch.setenv("KIVIAT_RUNS", str(tmp_path / "runs"))
    (tmp_path / "runs" / "other").mkdir()
    assert [run.id for run in kiviat.load(str(tmp_path / "runs" / "*"))] == [run.id for run in runs]
    assert kiviat.load(runs[0].path)[0].id == runs[0].id
    assert kiviat.load(runs[0].id)[0].path == runs[0].path
    assert kiviat.load()[0].id == runs[1].id
    assert len(kiviat.load(runs[0].path, runs[0].path, "last")) == 2
    with pytest.raises(kiviat.InputError, match="no run matches"):
        kiviat.load(str(tmp_path / "elsewhere-*"))


def test_two_runs_with_one_identifier_are_refused(make_run: MakeRun, tmp_path: Path) -> None:
    """Runs that began in the same second on two machines were merged into one."""
    first = make_run().path
    second = shutil.copytree(first, tmp_path / "other" / first.name)
    assert len(kiviat.load(first, second)) == 2  # a copy has the same results
    file = second / "run.json"
    file.write_text(file.read_text().replace('"testbed"', '"another"'))
    with pytest.raises(kiviat.InputError, match="two runs with one identifier"):
        kiviat.load(first, second)
    assert kiviat.compare(first, second).verdict == "no difference"


def test_an_interrupted_run_is_a_warning(make_run: MakeRun, path: Path) -> None:
    interrupt(path)
    with pytest.warns(UserWarning, match="was interrupted"):
        kiviat.load(path)


@pytest.mark.parametrize(
    "function",
    [
        lambda path, loaded: kiviat.load(path),
        kiviat.compare,
        lambda path, loaded: kiviat.compare(loaded, path),
        lambda path, loaded: kiviat.scaling(path),
        lambda path, loaded: kiviat.balance(path),
        lambda path, loaded: kiviat.predict("altix-bx2", path),
        lambda path, loaded: kiviat.run(),
    ],
    ids=["load", "compare a", "compare b", "scaling", "balance", "predict", "run"],
)
def test_functions_that_load_an_interrupted_run_warn_their_caller(
    make_run: MakeRun,
    path: Path,
    function: Callable[[Path, kiviat.Run], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def simulate(asked: object) -> None:
        raise kiviat.InputError("this needs SimGrid")

    monkeypatch.setattr("kiviat.api.predict.simulate", simulate)
    monkeypatch.setattr("kiviat.api.run._PROGRAM", f"print({str(path)!r})")
    loaded = kiviat.load(make_run().path)[0]
    interrupt(path)
    with pytest.warns(UserWarning, match="was interrupted") as caught, suppress(kiviat.InputError):
        function(path, loaded)
    assert [warning.filename for warning in caught] == [__file__]


def test_functions_that_get_a_loaded_run_do_not_warn_again(path: Path) -> None:
    interrupt(path)
    with pytest.warns(UserWarning, match="was interrupted"):
        runs = kiviat.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kiviat.compare(runs, runs[0])


def test_tables_have_what_sql_has(path: Path) -> None:
    runs = kiviat.load(path)
    assert [row["id"] for row in runs.runs.rows()] == [runs[0].id]
    assert len(runs.launches) == 8
    assert len(runs.records) == 24
    assert len(runs.metrics) == 48
    assert len(runs.samples) == 72  # samples of the time; bandwidths are derived
    summaries = runs.summaries.rows()
    assert [(row["case"], row["median"]) for row in summaries] == [
        (one.case, pytest.approx(one.median)) for one in runs[0].results
    ]
    assert {"case", "launch", "outcome"} <= set(runs.records.columns)


def test_frames_have_the_same_values(path: Path) -> None:
    for module in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(module)
    table = kiviat.load(path).summaries
    medians = [row["median"] for row in table.rows()]
    assert table.to_pandas()["median"].tolist() == medians
    assert table.to_polars()["median"].to_list() == medians
    assert table.to_arrow()["median"].to_pylist() == medians
    assert table.to_pandas()["launches"].dtype.kind == "i"


@pytest.mark.parametrize(
    ("method", "library"), [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")]
)
def test_an_absent_library_is_named(
    path: Path, method: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(kiviat.InputError, match=rf"{method}\(\) needs .*{library}.*pip install {library}"):
        getattr(kiviat.load(path).summaries, method)()


def test_a_slower_run_is_found(make_run: MakeRun) -> None:
    a, b = make_run(), make_run(factor=1.5)
    result = kiviat.compare(a.path, kiviat.load(b.path))
    assert result.verdict == "worse"
    assert [row["ratio"] for row in result.rows()] == pytest.approx([1.5] * 4)
    assert [(row["group"], row["cases"]) for row in result.rows()] == [(None, 1)] * 3 + [("pingpong", 3)]
    assert "pingpong, 3 cases" in result._repr_html_()
    assert kiviat.compare(b.path, a.path).verdict == "better"
    assert kiviat.compare(a.path, a.path, metric="bandwidth").verdict == "no difference"
    assert "worse" in result._repr_html_()
    with pytest.raises(kiviat.InputError, match="2 runs; give one"):
        kiviat.compare(kiviat.load(a.path, b.path), a.path)
    with pytest.raises(kiviat.InputError, match="no results of metric 'nonesuch' to compare"):
        kiviat.compare(a.path, b.path, metric="nonesuch")


def test_results_without_stored_rows_have_frames_too(make_run: MakeRun) -> None:
    pytest.importorskip("pandas")
    frame = kiviat.compare(make_run().path, make_run().path).to_pandas()
    assert frame["ratio"].tolist() == pytest.approx([1.0] * 4)  # three cases, and their mean
    assert frame["survives"].dtype == bool
    assert frame["note"].tolist() == [""] * 4


def test_names_from_outside_are_escaped(path: Path) -> None:
    file = path / "run.json"
    file.write_text(file.read_text().replace('"testbed"', '"<script>alert(1)</script>"'))
    runs = kiviat.load(path)
    for shown in (runs, runs[0], runs.runs):
        assert "<script>" not in shown._repr_html_()
        assert "&lt;script&gt;" in shown._repr_html_() or shown is runs.runs


def test_what_notebooks_show_is_escaped_once(make_run: MakeRun) -> None:
    html = kiviat.compare(make_run().path, make_run().path)._repr_html_()
    assert html.startswith("<p><b>") and "&lt;" not in html


def test_long_tables_are_cut_and_say_so(path: Path) -> None:
    html = kiviat.load(path).samples._repr_html_()
    assert html.count("<tr>") == 21
    assert "20 of 72 rows" in html


def test_a_report_is_the_one_of_the_command(path: Path, tmp_path: Path) -> None:
    page = kiviat.load(path).report(tmp_path / "report.html")
    assert "pingpong" in page.read_text(encoding="utf-8")


def test_a_run_named_in_two_ways_is_loaded_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    (path.parent / "link").symlink_to(path)
    runs = kiviat.load(path.name, path, "link")
    assert len(runs) == len(runs.runs) == 1
    assert len(kiviat.Runs([runs[0], *kiviat.load(path)])) == 1
    assert [run.path for run in read([path.name, path])] == [Path(path.name)]  # commands print it so
    assert len(kiviat.compare(runs, kiviat.Runs([runs[0], runs[0]])).rows()) == 4


def test_runs_outlive_a_change_of_the_working_directory(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    runs = kiviat.load(path.name)
    monkeypatch.chdir(tmp_path)
    assert runs[0].path == path
    assert len(runs.launches) == 8
    assert len(runs.summaries) == 6


def test_files_are_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    runs = kiviat.load(path)

    @contextmanager
    def counted(paths: Sequence[Path], **options: Any) -> Iterator[object]:
        opened.append(paths)
        with connect(paths, **options) as connection:
            yield connection

    monkeypatch.setattr("kiviat.api.runs.connect", counted)
    monkeypatch.setattr("kiviat.api.runs.load_run", opened.append)
    table = runs.records
    assert repr(table).startswith("<table records: 24 rows, columns schema, run, ")
    assert (len(table), table.columns[0], len(opened)) == (24, "schema", 1)
    opened.clear()
    assert repr(runs.summaries).startswith("<table summaries: 6 rows, columns run, case, ")
    runs.summaries._repr_html_()
    runs[0].summaries.to_pandas()
    assert not opened
    assert runs.summaries.rows()[0]["axes"] == {}
    assert runs.summaries.to_pandas()["p90"].dtype.kind == "f"  # a column without any value
