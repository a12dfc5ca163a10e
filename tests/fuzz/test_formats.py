"""Commands read mutated files of every kind; each ends with 0, 1, or 2 and a line.

The story: more than a hundred of these ended in a KeyError, TypeError, UnicodeError or RecursionError.
"""

from __future__ import annotations

import io
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kiviat.cli.main import main
from kiviat.ingest import parse
from kiviat.plan import load_plan, plan_benchmarks
from kiviat.plan.load import load_arrangements
from kiviat.record import UNSEALED_RECORD_SCHEMA, InputError, data_path, published
from tests.fuzz.mutate import change, change_bytes, change_lines, to_json, to_toml
from tests.ingest import lammps_logs, test_hpcc, test_imb, test_osu
from tests.plan.conftest import benchmark
from tests.report.modelled import simulated_run_json
from tests.report.studies import study_run_json, study_tables
from tests.store.made_up import metric, record

RUN_COMMANDS = (
    ("show", "RUN"),
    ("report", "RUN", "-o", "report.html"),
    ("export", "RUN", "-o", "run.csv"),
    ("balance", "RUN", "-o", "balance.html"),
    ("scaling", "RUN", "-o", "scaling.html"),
    ("compare", "RUN", "RUN"),
    ("sql", "--run", "RUN", "select count(*) from samples"),
    ("model", "fit", "RUN", "-o", "fitted.toml"),
)
LOGS = {
    **{path.name: path.read_text() for path in (Path(test_imb.__file__).parent / "data").iterdir()},
    **{"hpl": test_hpcc.HPL_OUTPUT, "stream": test_hpcc.STREAM_TABLE, "hpcg": test_hpcc.HPCG_REPORT},
    **{"imb": test_imb.NON_BLOCKING, "osu": test_osu.OLD, "lammps": lammps_logs.RHODO_LOG},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KIVIAT_DEBUG", raising=False)
    monkeypatch.setenv("KIVIAT_RUNS", str(tmp_path / "runs"))


def ends_well(told: str, *arguments: str) -> int:
    """The exit code, once it is clear that nothing was unexpected and that a refusal is a line."""
    # A terminal takes UTF-8; what it does not take would end the command within its output.
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        status = main(arguments)
        out.flush()
        err.flush()
    said = err.buffer.getvalue().decode()
    about = f"{told}: kiviat {' '.join(arguments)} → {status}: {said[:300]}"
    assert status in (0, 1, 2), about
    assert "unexpected" not in said, about
    assert "Traceback" not in said, about
    lines = said.splitlines()
    assert all(line.startswith("kiviat: ") for line in lines), about
    assert lines or status != 2, about
    return status


def ended(end: str) -> Callable[[Any], str]:
    return lambda mutant: to_json(mutant) + end


def mutants(rng: Random, text: str, tree: Any, write: Callable[[Any], str]) -> Iterator[tuple[bytes, str]]:
    """Without end: of the tree most often, and of its lines and its bytes."""
    while True:
        how = rng.random()
        if how < 0.15:
            yield change_bytes(rng, text.encode())
        elif how < 0.3:
            lines, told = change_lines(rng, text)
            yield lines.encode("utf-8", "replace"), told
        else:
            mutant, told = change(rng, tree, rng.choice((1, 1, 2)))
            yield write(mutant).encode("utf-8", "replace"), told


def runs() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """run.json and a record, of a study and of a simulation."""
    table = study_tables(launches=1)[0].table
    for run in (study_run_json(launches=1), simulated_run_json("run-a")):
        bandwidth = metric("bandwidth", None, unit="B/s", better="higher", from_="time")
        made = record(
            "run-a",
            axes={"root": 1},
            metrics=(metric(), bandwidth),
            tables=(table,),
            notes={"blas": "x"},
            substrate=run["substrate"],
            clock=run["clock"],
        )
        yield run, made.to_json() | {"schema": UNSEALED_RECORD_SCHEMA}


@pytest.mark.parametrize("which", ["run.json", "records.jsonl"])
def test_runs(tmp_path: Path, which: str) -> None:
    rng, made = Random(which), list(runs())
    (tmp_path / "RUN").mkdir()
    for _ in range(30):
        run, line = rng.choice(made)
        files = {"run.json": to_json(run), "records.jsonl": to_json(line) + "\n" + to_json(line) + "\n"}
        tree = run if which == "run.json" else line
        # A line is followed by one that is right, so that its own end is not taken for a torn one.
        after = "" if which == "run.json" else "\n" + to_json(line) + "\n"
        data, told = next(mutants(rng, files[which], tree, ended(after)))
        for name, text in files.items():
            (tmp_path / "RUN" / name).write_bytes(data if name == which else text.encode())
        for command in rng.sample(RUN_COMMANDS, 3):
            ends_well(told, *command)


def test_logs_of_others(tmp_path: Path) -> None:
    rng = Random("logs")
    for number in range(240):
        name = rng.choice(sorted(LOGS))
        if rng.random() < 0.25:
            data, told = change_bytes(rng, LOGS[name].encode())
        else:
            text, told = change_lines(rng, LOGS[name])
            data = text.encode("utf-8", "surrogatepass")
        try:
            parse(data.decode(errors="replace"), "log", 4)
        except InputError as refusal:
            assert str(refusal).startswith("log"), told
        except Exception as error:
            raise AssertionError(f"{name} {told}") from error
        if number % 12:  # each record of a run is synced, which takes its time
            continue
        (tmp_path / "log").write_bytes(data)
        if ends_well(f"{name} {told}", "ingest", "log", "--ranks", "4", "-o", f"ingested-{number}") == 0:
            (made,) = (tmp_path / f"ingested-{number}").iterdir()
            ends_well(f"{name} {told}", "show", str(made))


def test_machines(tmp_path: Path) -> None:
    rng = Random("machines")
    files = {
        name: data_path("machines") / f"{name}.toml" for name in ("sicortex-sc072", "slingshot-dragonfly")
    }
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    for _ in range(60):
        name = rng.choice(sorted(texts))
        data, told = next(mutants(rng, texts[name], tomllib.loads(texts[name]), to_toml))
        (tmp_path / f"{name}.toml").write_bytes(data)
        ends_well(told, "model", "show", f"./{name}.toml")


def test_plans(tmp_path: Path) -> None:
    """As `kiviat run` reads them, without the native program that would tell of its benchmarks."""
    rng, known = Random("plans"), [benchmark("pt2pt/pingpong", (2, 2, 1)), benchmark("npb/ep", (1, None, 1))]
    text = (
        'schema = "kiviat.plan/1"\nlaunches = 2\nbytes = "0:64K"\n[controls]\nbudget_s = 0.5\n'
        '[[arrangements]]\nshape = "2x2"\n[[cases]]\nbenchmarks = ["pingpong", "npb/*"]\n'
        'ranks = [2, "doubling"]\n'
        "nominal_s = 2.5\n[cases.axes]\ngroup = [0, 2]\n"
    )
    path = tmp_path / "plan.toml"
    for number in range(300):
        data, told = next(mutants(rng, text, tomllib.loads(text), to_toml))
        path.write_bytes(data if number else text.encode())
        try:
            plan_benchmarks(path)
            load_arrangements(path)
            load_plan(path, known, 4)
        except InputError as refusal:
            assert number, refusal
            assert len(str(refusal).splitlines()) == 1, told
        except Exception as error:
            raise AssertionError(told) from error


def test_published_results(tmp_path: Path) -> None:
    rng = Random("published")
    files = sorted(data_path("published").glob("*.toml"))
    trees = {path.stem: (text := path.read_text(encoding="utf-8"), tomllib.loads(text)) for path in files}
    for _ in range(120):
        name = rng.choice(sorted(trees))
        data, told = next(mutants(rng, *trees[name], to_toml))
        (tmp_path / "paper.toml").write_bytes(data)
        try:
            published.read_paper(tmp_path / "paper.toml")
        except InputError as refusal:
            assert str(refusal).startswith(str(tmp_path)), told
        except Exception as error:
            raise AssertionError(told) from error


def test_long_logs_take_no_longer_than_their_length(tmp_path: Path) -> None:
    """hpccoutf.txt with 100,000 blanks in a line took minutes."""
    titles = (
        "Begin of Summary section.\nCommWorldProcs=",
        "HPLinpack\n",
        "LAMMPS (2020)\n",
        "HPCG-Benchmark\n",
        "Function  Best Rate MB/s\nNumber of Threads counted",
        "# OSU MPI Latency Test v7.4\n# Size Latency (us)\n",
        "# Benchmarking PingPong\n#repetitions\n",
    )
    for title in titles:
        for filler in (" ", "\n", "1", "\n ", "= ", "a=b  ", "Number of Threads counted "):
            (tmp_path / "log").write_text(title + filler * (300_000 // len(filler)) + "x")
            ends_well(title, "ingest", "log", "--ranks", "2")


def test_what_never_ends_is_refused(tmp_path: Path) -> None:
    """A pipe to which nothing writes kept `kiviat show` waiting, and a job's template too."""
    os.mkfifo(tmp_path / "pipe")
    for command in (
        ("show", "./pipe"),
        ("report", "./pipe"),
        ("ingest", "pipe"),
        ("model", "show", "./pipe"),
        ("run", "--on", "simulated:altix-bx2", "--replay", "./pipe"),
    ):
        assert ends_well("a pipe", *command) == 2
