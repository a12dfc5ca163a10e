"""`kiviat scaling` on fabricated runs, on two ranks of this machine, and on simulated runs."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kiviat.analysis.scaling.caveats import doubts
from kiviat.analysis.scaling.series import Selection, scaling
from kiviat.cli.text.table import print_csv, print_json
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.record import InputError, Row
from kiviat.store import RunDirectory
from tests.cli.conftest import Kiviat
from tests.report.scaling_runs import RANKS, amdahl, modelled, scaling_rows, scaling_run_json
from tests.store.made_up import MACHINE, PLAN, launch, metric, record

Make = Callable[..., RunDirectory]
AMDAHL = amdahl(0.03)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes a complete run on several numbers of ranks."""

    def make(
        name: str,
        time: Callable[[int], float] = AMDAHL,
        ranks: Iterable[int] = RANKS,
        machine: dict[str, Any] | None = None,
        **changes: Any,
    ) -> RunDirectory:
        ranks = tuple(ranks)
        repeats = changes.get("repeats", 6)
        described = {**MACHINE, "name": name, **(machine or {})}
        with RunDirectory.create(tmp_path / "runs", name, machine=described, plan=PLAN) as run:
            for one in scaling_run_json(run.id, ranks, repeats)["launches"]:
                known = {"outcome": "ok", "exit": 0, "world": one["world"], "ranks": one["ranks"]}
                run.set_launch(launch(one["index"], one["repetition"], **known))
            rows = scaling_rows(run.id, time, ranks=ranks, **changes)
            for rate, seconds in zip(rows[::2], rows[1::2], strict=True):
                about = {"benchmark": rate.benchmark, "ranks": rate.ranks, "bytes": None, "axes": rate.axes}
                metrics = (_metric(rate), _metric(seconds))
                one = record(run.id, rate.case, rate.launch, **about, metrics=metrics)
                run.append(one)
            run.finish()
        return run

    return make


def _metric(row: Row) -> Any:
    assert row.metric is not None and row.p50 is not None and row.min is not None and row.max is not None
    return metric(
        row.metric,
        (row.min, row.p50, row.max),
        unit=row.unit,
        better=row.better,
        p50=row.p50,
        mean=row.p50,
        min=row.min,
        max=row.max,
    )


def test_a_run_with_several_numbers_of_ranks(kiviat: Kiviat, make: Make, tmp_path: Path) -> None:
    make("hermes")
    done = kiviat("scaling", "--at", "128", "-o", "scaling.html")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "cg, class A: strong scaling of rate; class A on all"
    assert lines[2] == "hermes · Open MPI 4.1.4"
    heads = "ranks nodes sockets rate low – high speedup efficiency serial fraction"
    assert " ".join(lines[3].split()) == heads
    assert [line.split()[0] for line in lines[4:10]] == ["1", "2", "4", "8", "16", "32"]
    assert lines[10] == "law: Amdahl; what USL and divided add to it is not significant"
    (law,) = [line for line in lines if line.startswith("  Amdahl: σ = 0.0")]
    assert "measured to 32 ranks" in law
    (prediction,) = [line for line in lines if line.startswith("  at 128 ranks")]
    assert prediction.endswith("by Amdahl: extrapolated to 4.00 times the most measured")
    assert "energy: unavailable: neither meters nor declared watts" in lines
    assert lines[-1] == "scaling.html"
    assert (tmp_path / "scaling.html").read_text().startswith("<!doctype html>")


def test_runs_of_one_number_each_and_another_machine(kiviat: Kiviat, make: Make) -> None:
    names = [make("hermes", ranks=(p,)).id for p in (1, 2, 4)]
    watts = {"value": 115.0, "per": "node", "source": "command line"}
    other = make("zeus", lambda p: 300 / p, machine={"declared_watts": watts})
    done = kiviat("scaling", *names, other.id)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ranks of zeus · Open MPI 4.1.4 → as many of hermes · Open MPI 4.1.4:" in done.stdout
    assert "the most measured" in done.stdout or "the fewest measured" in done.stdout
    assert "energy: declared: 115 W per node (command line)" in done.stdout
    assert "230 W" in done.stdout  # eight ranks on two nodes


def test_json_and_csv_have_everything(kiviat: Kiviat, make: Make) -> None:
    make("hermes")
    found = json.loads(kiviat("scaling", "--format", "json").stdout)
    (study,) = found["studies"]
    assert (study["benchmark"], study["kind"], study["unit"]) == ("cg", "strong", "op/s")
    (curve,) = study["curves"]
    assert [point["ranks"] for point in curve["points"]] == list(RANKS)
    two = curve["points"][1]
    assert two["speedup"]["low"] < two["speedup"]["value"] < two["speedup"]["high"]
    assert two["power"]["watts"] is None and two["problem"] == "class A"
    assert curve["law"] == "Amdahl"
    serial = next(fit for fit in curve["fits"] if fit["law"] == "Amdahl")["parameters"][0]
    assert serial["low"] < 0.03 < serial["high"]
    rows = list(csv.DictReader(kiviat("scaling", "--format", "csv").stdout.splitlines()))
    assert [row["ranks"] for row in rows] == [str(ranks) for ranks in RANKS]
    assert rows[0]["serial"] == rows[0]["watts"] == ""


def test_the_user_says_what_records_do_not(kiviat: Kiviat, make: Make) -> None:
    make("hermes", benchmark="mystery", axes={})
    done = kiviat("scaling")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "kiviat: cannot tell whether mystery scales strongly or weakly: the records do not contain the "
        "problem size; give --strong or --weak\n"
    )
    done = kiviat("scaling", "--weak", "--metric", "time")
    assert done.returncode == 0
    assert done.stdout.startswith("mystery: weak scaling of time; as asked for\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing"], "there is no run 'missing' in"),
        (["--at", "many"], "--at 'many': give numbers of ranks, such as 64 or 64,128"),
        (["--at", "0"], "--at '0': give numbers of ranks, such as 64 or 64,128"),
        (["--strong", "--weak"], "not allowed with argument --strong"),
        (["--metric", "residual"], "cg has no residual that scales; it has rate, time"),
        (["--benchmark", "hpl"], "no results of hpl in these runs"),
        (
            ["-o", "nowhere/x.html"],
            "the report cannot be written to nowhere/x.html: No such file or directory",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line(kiviat: Kiviat, make: Make, arguments: list[str], says: str) -> None:
    make("hermes", repeats=1)
    done = kiviat("scaling", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_single_point_is_refused(kiviat: Kiviat, make: Make) -> None:
    make("hermes", ranks=(4,))
    done = kiviat("scaling")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a single point does not scale: cg ran on 4 ranks only" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_one_and_two_ranks_of_this_machine(
    kiviat: Kiviat, openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(openmpi)
    monkeypatch.setenv("MPICXX", str(openmpi.mpicxx))
    done = kiviat("run", "npb-quick", "ep", "cg", "--class", "S", "-n", "1,2")
    assert done.returncode == 0, done.stderr
    done = kiviat("scaling", "last", "-o", "scaling.html")
    assert done.returncode == 0, done.stderr
    assert "cg, class S: strong scaling of rate" in done.stdout
    assert "ep, class S: strong scaling of rate" in done.stdout
    few = "of ranks, and telling laws apart needs 3 at least"
    found = json.loads(kiviat("scaling", "last", "--format", "json").stdout)
    for study in found["studies"]:
        (curve,) = study["curves"]
        assert [point["ranks"] for point in curve["points"]] == [1, 2]
        assert curve["clock"] == "wall" and curve["law"] is None
        # Two points are too few for a law, and points that other tests disturb do not count.
        fair = sum(not point["oversubscribed"] and not point["disturbed"] for point in curve["points"])
        words = ("all points are oversubscribed or disturbed", f"one number {few}", f"2 numbers {few}")[fair]
        assert curve["choice"] == f"cannot tell: {words}" and f"law: {curve['choice']}\n" in done.stdout


def test_one_to_sixteen_simulated_ranks(kiviat: Kiviat) -> None:
    try:
        build(find_toolchain("smpi"))
    except InputError as error:
        pytest.skip(str(error))
    machine = "simulated:opteron-myri10g"
    done = kiviat("run", "ep", "cg", "--class", "S", "--on", machine, "-n", "1,2,4,8,16")
    assert done.returncode == 0, done.stderr
    done = kiviat("scaling", "last", "--format", "json")
    assert done.returncode == 0, done.stderr
    studies = {study["benchmark"]: study for study in json.loads(done.stdout)["studies"]}
    for study in studies.values():
        (curve,) = study["curves"]
        assert curve["clock"] == "simulated" and curve["label"].endswith("(simulated)")
        assert [point["ranks"] for point in curve["points"]] == [1, 2, 4, 8, 16]
        for point in curve["points"]:
            assert point["least"] is point["low"] is point["speedup"]["low"] is None
            # Nodes with one socket of 115 W, as in the paper.
            assert point["power"]["watts"] == 115.0 * point["ranks"]
            assert point["power"]["origin"] == "declared"
        assert curve["points"][1]["speedup"]["value"] > 1
    assert studies["ep"]["curves"][0]["points"][-1]["efficiency"]["value"] > 0.9
    # A paper is about this machine, but not about these programs.
    told = kiviat("scaling", "last").stdout
    assert (
        "  Martin et al., section 8 (S-035): power, power per socket incl. NIC and 4 DIMMs: ~ 115 W\n"
        "    cannot tell: 115 W per socket, declared, not measured\n"
    ) in told
    assert "(S-021): HPCCG, ordering of MFLOPS: Opteron cluster > SC072\n" in told


@dataclass(frozen=True)
class Ends:
    low: float
    high: float


def test_json_has_no_word_for_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    """Infinite and undefined numbers are null in JSON, because `Infinity` and `NaN` are not valid JSON."""
    print_json({"a": math.inf, "b": [math.nan, 1.5], "c": Ends(-math.inf, 2.0)})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {
        "a": None,
        "b": [None, 1.5],
        "c": {"low": None, "high": 2.0},
    }
    print_csv([{"a": math.inf, "b": (math.nan,)}])
    assert capsys.readouterr().out == "a,b\n,[null]\n"


def test_a_simulated_curve_says_that_it_has_no_spread() -> None:
    """A simulated curve has a remark that its results do not vary, so its parameters have no intervals."""
    simulated = modelled("a", amdahl(0.1), ranks=(1, 2, 4, 8))
    told = doubts(scaling([simulated], Selection()).studies[0].curves[0], simulated.runs, [])
    assert any(words.startswith("simulated: results do not vary") for words in told)
