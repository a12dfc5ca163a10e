"""`kiviat balance` on fabricated runs and on hpcc output."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.analysis.hpcc.balance import AXES, Cell
from kiviat.record import Table
from kiviat.report.balance.text import cell_text
from kiviat.store import RunDirectory
from tests.cli.conftest import Kiviat
from tests.report.hpcc import hpcc_rows, hpcc_run_json
from tests.store.made_up import MACHINE, PLAN, launch, metric, record

Make = Callable[..., RunDirectory]
OUTPUT = Path(__file__).parents[1] / "ingest" / "data" / "hpccoutf-1.5.0.txt"


@pytest.fixture
def hpcc(tmp_path: Path) -> Make:
    """Return a function that makes a complete run of the HPC Challenge kernels on two nodes."""

    def make(name: str = "hpcc", watts: float | None = None, **changes: Any) -> RunDirectory:
        rows = hpcc_rows(**changes)
        ranks = hpcc_run_json()["launches"][0]["ranks"]
        with RunDirectory.create(
            tmp_path / "runs", name, machine={**MACHINE, "name": name}, plan=PLAN
        ) as run:
            for index in range(6):
                run.set_launch(launch(index, index, outcome="ok", exit=0, world=4, ranks=ranks))
            for row in rows:
                value = row.p50
                assert row.metric is not None and value is not None
                its = metric(row.metric, (value,), unit=row.unit, better=row.better, p50=value, mean=value)
                one = record(run.id, row.case, row.launch, benchmark=row.benchmark, ranks=4, bytes=None)
                tables: tuple[Table, ...] = ()
                notes = {"energy": "declared: 100 W per node"} if watts else {}
                if watts and row.benchmark == "hpl":
                    axes = (("kernel", ("hpl",)), ("node", ("n0", "n1")))
                    tables = (Table("power", "W", "lower", axes, (watts, watts)),)
                one = replace(one, disturbed=row.disturbed, oversubscribed=row.oversubscribed)
                run.append(replace(one, axes=row.axes, metrics=(its,), tables=tables, notes=notes))
            run.finish()
        return run

    return make


def test_published_systems_alone(kiviat: Kiviat, tmp_path: Path) -> None:
    """Without runs, `kiviat balance` compares the systems of figure 5 and table 2 of Saini et al."""
    done = kiviat("balance", "none")
    assert (done.returncode, done.stderr) == (0, "")
    assert "NEC SX-8 leads on 3 (FFT / HPL, PTRANS / HPL, STREAM copy / HPL)" in done.stdout
    unnamed = "machines that Saini et al. do not name lead on "
    assert f"{unnamed}2 (HPL, 1 / random ring latency)" in done.stdout
    maxima = kiviat("balance", "none", "--with", "fig-5").stdout
    assert "NEC SX-8 leads on 3 (FFT / HPL, PTRANS / HPL, STREAM copy / HPL)" in maxima
    assert "Cray Opteron cluster leads on 1 (RandomAccess / HPL)" in maxima
    assert f"{unnamed}3 (HPL, Random ring bandwidth / HPL, 1 / random ring latency)" in maxima
    assert "What limits" not in (tmp_path / "balance.html").read_text()
    nothing = kiviat("balance", "none", "--with", "none")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert nothing.stderr == (
        "kiviat: neither runs nor published systems were given; name a run or a system\n"
    )


def test_a_run_alone_stands_beside_the_largest_published_values(
    kiviat: Kiviat, hpcc: Make, tmp_path: Path
) -> None:
    hpcc()
    done = kiviat("balance")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split("  ")[-1].strip() == "largest" and "largest of Fig 5" in lines[0]
    cells = {line[:28].strip(): line[28:].split() for line in lines[1:9]}
    assert cells["HPL"] == ["40.0", "Gflop/s", "8.73", "Tflop/s", "8.73", "Tflop/s"]
    assert cells["STREAM copy / HPL"] == ["0.400", "B/flop", "2.89", "B/flop", "2.89", "B/flop"]
    assert cells["1 / random ring latency"][:5] == ["1", "/", "5.00", "µs", "1"]
    caution, *said = [line for line in lines[9:] if line and "left out" not in line and "kept" not in line]
    assert caution.startswith("FFT, PTRANS and RandomAccess over HPL of Kiviat's programs are next to those")
    assert said[0].endswith(
        "delivers 40.0 Gflop/s in HPL on 4 processes, 80 % of the DGEMM rate of its processes; its "
        "memory delivers 0.400 B for each flop of DGEMM."
    )
    assert said[1].startswith("The processor limits this machine most: HPL and FFT by the processor")
    assert (
        said[2].startswith("hpcc · ")
        and said[2].endswith(
            "has no largest ratio; it is farthest from the largest in STREAM copy / HPL: 13.8 % of it."
        )
        and said[3].startswith("Of the published machines ARCHER, Cirrus and Athena are nearest; ")
        and said[4] == "HPL runs at 80 % of DGEMM."
        and [remark.partition(":")[0] for remark in said[5:]]
        == ["DGEMM", "STREAM triad", "FFT", "balance.html"]
    )
    page = (tmp_path / "balance.html").read_text()
    assert page.startswith("<!doctype html>") and "kiviat-picture" in page


def test_systems_beside_and_rules(kiviat: Kiviat, hpcc: Make) -> None:
    hpcc()
    hpcc("zeus", scale={"hpl.rate": 100.0})
    names = [run.name for run in sorted(Path(hpcc("third", without=("ptrans",)).path).parent.iterdir())]
    done = kiviat("balance", *names, "--with", "sx-8", "opteron", "-o", "x.html")
    assert (done.returncode, done.stderr) == (0, "")
    head = done.stdout.splitlines()[0]
    assert "NEC SX-8" in head and "Cray Opteron cluster" in head and "Altix" not in head
    fft = next(line for line in done.stdout.splitlines() if line.startswith("FFT"))
    assert fft.count("left out") == 2  # hpcc and third are small; zeus has 4 Tflop/s
    assert "third · Open MPI 4.1.4 lacks ptrans: `kiviat run hpcc` has all." in done.stdout
    kept = kiviat("balance", *names, "--rules", "small=keep", "--with", "none").stdout
    assert "FFT, PTRANS and RandomAccess over HPL are kept" in kept and "--rules small=keep" in kept
    assert "left out" not in next(line for line in kept.splitlines() if line.startswith("FFT"))


def test_what_hpcc_printed_joins_the_diagram(kiviat: Kiviat, hpcc: Make, tmp_path: Path) -> None:
    hpcc()
    done = kiviat("ingest", OUTPUT, "--machine", "elsewhere")
    assert done.returncode == 0 and done.stdout.startswith("14 results in ")
    names = [path.name for path in sorted((tmp_path / "runs").iterdir())]
    done = kiviat("balance", *names)
    assert (done.returncode, done.stderr) == (0, "")
    assert "elsewhere (as reported)" in done.stdout.splitlines()[0]
    assert "8.88 Gflop/s" in next(line for line in done.stdout.splitlines() if line.startswith("HPL"))
    assert "Reported by another program" in (tmp_path / "balance.html").read_text()


def test_ratios_for_other_programs(kiviat: Kiviat, hpcc: Make) -> None:
    hpcc()
    done = kiviat("balance", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert rows[0]["axis"] == "hpl" and rows[0]["value"] > 0
    lines = kiviat("balance", "--format", "csv").stdout.splitlines()
    assert lines[0].startswith("system,axis,title,unit,value,") and len(lines) == len(rows) + 1


def test_rows_for_programs_tell_what_the_table_does(kiviat: Kiviat, hpcc: Make) -> None:
    """CSV once had published bounds and ends of ranges as values, and did not say what was published."""
    hpcc(launches=3, without=("ptrans",))
    words = ("balance", "last", "--with", "all", "--rules", "keep")
    head, *lines = kiviat(*words).stdout.splitlines()[: 1 + len(AXES)]
    systems = re.split(r" {2,}", head.strip())[:-1]
    shown = [re.split(r" {2,}", line)[1:-1] for line in lines]
    rows = list(csv.DictReader(kiviat(*words, "--format", "csv").stdout.splitlines()))
    assert [row["system"] for row in rows[:: len(AXES)]] == systems and len(systems) > 3
    for number, row in enumerate(rows):
        line, column = divmod(number, len(AXES))
        value, upper = (float(row[name]) if row[name] else None for name in ("value", "upper"))
        cell = Cell(value, relation=row["relation"], upper=upper, reason=row["reason"])
        assert cell_text(AXES[column], cell) == shown[column][line]
    assert {row["meaning"] for row in rows if row["low"]} == {"range of 3 launches"}
    assert [row["origin"] for row in rows[:: len(AXES)]] == ["measured", *["published"] * (len(systems) - 1)]
    assert (rows[0]["processes"], rows[0]["disturbed"], rows[-1]["disturbed"]) == ("4", "False", "")
    assert "NEC SX-8" in {row["holder"] for row in rows}


def test_a_disturbed_run_is_not_judged(kiviat: Kiviat, hpcc: Make) -> None:
    """The terminal once named what limits a disturbed run, without a word about the disturbance."""
    hpcc(disturbed="other programs used 1.00 of 2 processors")
    told = kiviat("balance").stdout
    assert "What limits this machine cannot be determined (other programs disturbed kernels)." in told
    assert "Other programs disturbed kernels, which changes the results. Measure again" in told
    rows = json.loads(kiviat("balance", "--format", "json").stdout)
    assert rows[0]["disturbed"] is True and rows[0]["oversubscribed"] is False


def test_energy_that_was_declared_says_so(kiviat: Kiviat, hpcc: Make, tmp_path: Path) -> None:
    hpcc(watts=100.0)
    assert kiviat("balance").returncode == 0
    page = (tmp_path / "balance.html").read_text()
    assert "declared, not measured" in page and "declared: 100 W per node" in page
    assert "200 Mflop/s per W" in page  # 40 Gflop/s with 2 × 100 W


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing"], "there is no run 'missing' in"),
        (
            ["--with", "vax"],
            'there is no published system \'vax\'; give "all", "none" or one of: nec-sx-8',
        ),
        (
            ["-o", "nowhere/x.html"],
            "the report cannot be written to nowhere/x.html: No such file or directory",
        ),
        (["--rules", "small=sometimes"], "argument --rules: invalid value 'small=sometimes'"),
        (["--rules", "tiny=keep"], "give auto, keep or drop, after small= or few-nodes= for one"),
    ],
)
def test_what_cannot_be_done_is_one_line(kiviat: Kiviat, hpcc: Make, arguments: list[str], says: str) -> None:
    hpcc(launches=1)
    done = kiviat("balance", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_run_without_kernels_of_hpcc(kiviat: Kiviat, make_run: Make) -> None:
    run = make_run(launches=1)
    done = kiviat("balance")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"kiviat: run {run.id} has no result of a kernel of HPC Challenge; `kiviat run hpcc` measures them\n"
    )
