"""`kiviat study`: the runs that it starts for a study, and its command line."""

from __future__ import annotations

import signal
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kiviat.cli.commands import study
from kiviat.cli.main import main
from kiviat.cli.options.arguments import parsed
from kiviat.cli.options.request import RunReplayRequest, RunRequest, StudyRequest, Where
from kiviat.cli.subcommands import study_profiles, study_runs
from kiviat.cli.subcommands.study_runs import Made, StudyPlace, places_of, ran
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.spec import parse_spec
from kiviat.launch.process.signals import Interrupted, Interruptible
from kiviat.launch.substrates.emulated import Emulated
from kiviat.launch.tools.preload import Tool
from kiviat.launch.tools.user_command import as_it_is
from kiviat.record import InputError, NotStartedError
from kiviat.record.run import PlanOfRun
from kiviat.record.studies import StudyDefinition, StudyRun, find_study
from kiviat.store import read
from kiviat.store.directory import OtherPlanError
from tests.report.synthetic import make_run, row

RUN = StudyRun(
    "pairs",
    ({"benchmarks": "pingpong", "bytes": "1:4M"}, {"benchmarks": "cg", "axes": {"class": "B"}}),
    quick={"bytes": [8, 1024]},
)
STUDY = StudyDefinition("T", "A test", "", "", (RUN,), on=("simulated:altix-bx2",))


def request(*words: str) -> StudyRequest:
    asked = parsed(["study", "T", *words])
    assert isinstance(asked, StudyRequest)
    return asked


def asked_of(run: StudyRun, folder: Path, *words: str, of: StudyDefinition = STUDY) -> list[RunRequest]:
    """Return the requests that a study passes to `kiviat run`."""
    seen: list[RunRequest] = []

    def run_once(one: RunRequest) -> tuple[int, Path | None]:
        seen.append(one)
        return 0, None

    given = request(*words)
    for place in places_of(of, given):
        ran(of, run, place, given, folder, run_once)
    return seen


def test_a_run_is_a_plan_of_its_own_on_each_machine(tmp_path: Path) -> None:
    asked = asked_of(RUN, tmp_path, "--on", "simulated:altix-bx2,cray-x1-msp", "--on", "native")
    assert [(one.where.on, one.what.ranks) for one in asked[:2]] == [
        ("simulated:altix-bx2", "64"),
        ("simulated:cray-x1-msp", "12"),  # the machine has only 12 ranks
    ]
    assert asked[2].where.on is None
    plan = tomllib.loads(Path(str(asked[0].what.plan)).read_text(encoding="utf-8"))
    assert (plan["name"], plan["cases"][0]["bytes"]) == ("T-pairs", "1:4M")
    assert len({one.output for one in asked}) == 3


def test_quick_and_class_change_the_plan(tmp_path: Path) -> None:
    (quick,) = asked_of(RUN, tmp_path, "--quick", "--class", "s")
    plan = tomllib.loads(Path(str(quick.what.plan)).read_text(encoding="utf-8"))
    assert quick.what.ranks == "8"
    assert [one.get("bytes") for one in plan["cases"]] == [[8, 1024], None]
    assert plan["cases"][1]["axes"]["class"] == "S"
    (whole,) = asked_of(RUN, tmp_path)
    assert whole.output != quick.output
    assert asked_of(replace(RUN, quick={"run": False}), tmp_path, "--quick") == []


def test_numbers_of_ranks_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    """On two cores, study P1 once asked for Allreduce on up to 64 ranks."""
    run = replace(
        RUN, cases=({"benchmarks": "allreduce", "ranks": [2, 8, 64]}, {"benchmarks": "hpl", "ranks": 64})
    )
    (one,) = asked_of(run, tmp_path, "--on", "simulated:cray-x1-msp")
    plan = tomllib.loads(Path(str(one.what.plan)).read_text(encoding="utf-8"))
    assert [(case["benchmarks"], case["ranks"]) for case in plan["cases"]] == [("allreduce", [2, 8])]
    assert asked_of(replace(run, cases=run.cases[1:]), tmp_path, "--on", "simulated:cray-x1-msp") == []


def test_smaller_clusters_get_the_arrangements_that_they_hold(tmp_path: Path) -> None:
    """On 4 emulated nodes all arrangements get a quarter of their nodes; unscaled, only 4x4 would fit."""
    shapes = ("16x1", "8x2", "4x4", "16x4")
    runs = tuple(replace(RUN, name=shape, shape=shape) for shape in shapes)
    of = replace(STUDY, runs=runs)
    asked = [asked_of(run, tmp_path, "--on", "emulated:4x4", of=of) for run in runs]
    assert [[one.what.ranks for one in made] for made in asked] == [["4x1"], ["2x2"], [], ["4x4"]]


def test_shapes_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    shaped = replace(RUN, shape="16x4", place="blocked")
    (one,) = asked_of(shaped, tmp_path)
    assert (one.what.ranks, one.where.place) == ("16x4", "blocked")
    assert asked_of(shaped, tmp_path, "-n", "16") == []
    assert asked_of(replace(shaped, shape="4x8"), tmp_path, "--on", "simulated:cray-x1-msp") == []
    (asked,) = asked_of(RUN, tmp_path, "-n", "8x2")
    assert (asked.what.ranks, asked.where.ppn) == ("16", 2)
    with pytest.raises(InputError, match="-n '0': give a number"):
        asked_of(RUN, tmp_path, "-n", "0")


def test_what_is_complete_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed case ends every `kiviat study` with 1; once only the one that ran it."""

    class Kept:
        state = "complete"

    path = tmp_path / "made"
    outcomes = [SimpleNamespace(outcome="ok")]
    monkeypatch.setattr(study_runs, "list_runs", lambda home: [path])
    monkeypatch.setattr(study_runs, "read_run", lambda one: Kept)
    monkeypatch.setattr(read, "load", lambda one: (Kept, SimpleNamespace(outcomes=outcomes), []))
    given = request()
    (place,) = places_of(STUDY, given)
    assert ran(STUDY, RUN, place, given, tmp_path, lambda one: (2, None)) == Made(0, (path,))
    outcomes.append(SimpleNamespace(outcome="failed"))
    assert ran(STUDY, RUN, place, given, tmp_path, lambda one: (2, None)) == Made(1, (path,))
    Kept.state = "interrupted"
    seen: list[RunRequest] = []

    def go_on(one: RunRequest) -> tuple[int, Path | None]:
        seen.append(one)
        return 0, path

    ran(STUDY, RUN, place, given, tmp_path, go_on)
    assert [one.resume for one in seen] == [str(path)]
    (job,) = places_of(
        STUDY, request("--on", "slurm:partition=debug")
    )  # the run's own words are not executed
    ran(STUDY, RUN, job, given, tmp_path, go_on)
    assert seen[-1].where.on == "slurm:partition=debug"


def test_a_run_that_cannot_go_on_is_left_out_or_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused resume once ended the study; a plan of another version of Kiviat can only begin again."""
    path = tmp_path / "interrupted"
    monkeypatch.setattr(study_runs, "list_runs", lambda home: [path])
    monkeypatch.setattr(study_runs, "read_run", lambda one: SimpleNamespace(state="interrupted"))
    given = request()
    (place,) = places_of(STUDY, given)

    def refuse(one: RunRequest) -> tuple[int, Path | None]:
        raise NotStartedError("its MPI is gone")

    assert ran(STUDY, RUN, place, given, tmp_path, refuse) == Made(reason="its MPI is gone")
    seen: list[RunRequest] = []

    def of_another_version(one: RunRequest) -> tuple[int, Path | None]:
        seen.append(one)
        if one.resume:
            raise OtherPlanError("it has another plan")
        return 0, None

    assert ran(STUDY, RUN, place, given, tmp_path, of_another_version) == Made()
    assert [(one.resume, one.what.ranks) for one in seen] == [(str(path), None), (None, "64")]


def lab(spec: str) -> StudyPlace:
    """Return a kept emulated cluster."""
    return StudyPlace("emulated:lab", Emulated(Cluster.planned(parse_spec(spec), "lab"), kept=True))


def home_at(place: StudyPlace, folder: Path, *words: str) -> str | None:
    """Return the folder of the run's results at a place."""
    seen: list[str | None] = []

    def run_once(one: RunRequest) -> tuple[int, Path | None]:
        seen.append(one.output)
        return 0, None

    ran(STUDY, RUN, place, request(*words), folder, run_once)
    (home,) = seen
    return home


def test_machines_of_one_place_have_runs_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of another network, MPI or host once counted as there; the same MPI by its name did not."""
    names = {"mpich": "MPICH 4.0.2"}
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setattr(
        study_runs, "find_toolchain", lambda mpi: SimpleNamespace(name=names.get(mpi, "Open MPI 4.1.4"))
    )
    (job,) = places_of(STUDY, request("--on", "slurm"))
    home, of_job = home_at(lab("2x2,rate=1Gbit"), tmp_path), home_at(job, tmp_path)
    assert home_at(lab("2x2,rate=1Gbit"), tmp_path, "--mpi", "openmpi") == home
    assert home_at(lab("2x2,rate=1Gbit"), tmp_path, "--mpi", "mpich") != home
    assert home_at(lab("2x2,rate=100Mbit"), tmp_path) != home
    monkeypatch.setattr(study_runs, "host_name", lambda: "another")
    assert home_at(lab("2x2,rate=1Gbit"), tmp_path) != home
    assert home_at(job, tmp_path) == of_job, "jobs run on hosts of one machine"


def test_the_mpi_is_that_of_the_real_places(tmp_path: Path) -> None:
    """With --mpi, all modelled machines were once left out."""
    modelled, real = asked_of(
        RUN, tmp_path, "--on", "simulated:altix-bx2", "--on", "native", "--mpi", "mpich"
    )
    assert (modelled.mpi, real.mpi) == (None, "mpich")
    (alone,) = asked_of(RUN, tmp_path, "--on", "simulated:altix-bx2")
    assert alone.output == modelled.output


def test_ranks_apart_are_as_many_as_the_nodes_hold(tmp_path: Path) -> None:
    """On four nodes, a run of twelve ranks with one on each was once left out."""
    apart = replace(RUN, ranks=12, ppn=1)
    (one,) = asked_of(apart, tmp_path, "--on", "emulated:4x4")
    assert (one.what.ranks, one.where.ppn) == ("4", 1)
    (two,) = asked_of(replace(apart, ppn=2), tmp_path, "--on", "emulated:4x4")
    assert (two.what.ranks, two.where.ppn) == ("8", 2)
    given = request("--on", "emulated:1x4")
    (place,) = places_of(STUDY, given)
    alone = ran(STUDY, apart, place, given, tmp_path, lambda one: (2, None))
    assert alone == Made(reason="there is no room for several ranks with 1 on a node")


RECORDED = replace(RUN, name="protein", ranks=8, traces=("weak", "strong"), quick={"run": False})


def recorded(folder: Path, *files: str) -> None:
    (folder / "traces").mkdir()
    for name in files:
        (folder / "traces" / name).touch()


def made(folder: Path, where: str, *words: str, of: StudyRun = RECORDED) -> Made:
    """Return the outcome of the recorded run at `where`; `kiviat run` refuses its benchmarks there."""
    given = request("--on", where, *words)
    (place,) = places_of(STUDY, given)

    def refuse(one: RunRequest) -> tuple[int, Path | None]:
        raise NotStartedError("there is no such program")

    return ran(STUDY, of, place, given, folder, refuse)


@dataclass
class Recording:
    """A recording on as many ranks as its file's name says."""

    path: Path
    crc32: int = 1

    @property
    def ranks(self) -> int:
        return int(self.path.stem.rpartition("-")[2])


@pytest.fixture
def replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[RunReplayRequest]:
    """Return the list of requests for replays, which are not executed."""
    seen: list[RunReplayRequest] = []

    def replay_once(asked: RunReplayRequest, called: str) -> tuple[int, Path]:
        seen.append(asked)
        return 0, tmp_path / called

    monkeypatch.setattr(study_runs, "replay_once", replay_once)
    monkeypatch.setattr(study_runs, "read_trace", Recording)
    return seen


def test_programs_of_others_are_replayed_on_modelled_machines(
    tmp_path: Path, replayed: list[RunReplayRequest]
) -> None:
    """Recordings of up to the run's number of ranks are replayed; a reason explains which are missing."""
    nothing = made(tmp_path, "simulated:altix-bx2")
    missing = (
        "no recording traces/{}-*.trace in the study's folder, which `kiviat trace` makes on a real machine"
    )
    assert nothing == Made(reason=f"{missing.format('weak')}; {missing.format('strong')}")
    recorded(tmp_path, "weak-2.trace", "weak-4.trace", "weak-16.trace")
    some = made(tmp_path, "simulated:altix-bx2")
    assert [Path(one.replay).name for one in replayed] == ["weak-2.trace", "weak-4.trace"]
    assert some.paths == (tmp_path / "weak", tmp_path / "weak")
    assert some.reason == f"weak is recorded on up to 4 ranks, not beyond; {missing.format('strong')}"
    assert made(tmp_path, "native", "-n", "2") == Made(reason="there is no such program")
    assert made(tmp_path, "native", "--quick") == Made(reason="left out by --quick")


@pytest.mark.parametrize("where", ["native", "simulated:altix-bx2"])
def test_a_run_that_fails_after_its_start_ends_the_study(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a full disk ended a run or replay, `kiviat study` once "left it out", went on and exited with 0."""

    def full(*_: object) -> tuple[int, Path | None]:
        raise InputError("the disk is full")

    recorded(tmp_path, "weak-2.trace")
    monkeypatch.setattr(study_runs, "replay_once", full)
    monkeypatch.setattr(study_runs, "read_trace", lambda path: SimpleNamespace(path=path, ranks=2, crc32=1))
    given = request("--on", where)
    (place,) = places_of(STUDY, given)
    with pytest.raises(InputError, match="the disk is full"):
        ran(STUDY, RECORDED, place, given, tmp_path, full)


def test_recordings_that_are_too_large_are_not_missing(
    tmp_path: Path, replayed: list[RunReplayRequest]
) -> None:
    recorded(tmp_path, "weak-16.trace", "weak-32.trace", "strong-4.trace")
    assert made(tmp_path, "simulated:altix-bx2").reason == (
        "weak is recorded on 16 ranks or more, and the run has 8 there; "
        "strong is recorded on up to 4 ranks, not beyond"
    )
    assert [Path(one.replay).name for one in replayed] == ["strong-4.trace"]


def test_recordings_are_replayed_in_the_arrangement_of_the_run(
    tmp_path: Path, replayed: list[RunReplayRequest]
) -> None:
    """A run with a shape and recordings once ended with an unexpected ValueError."""
    recorded(tmp_path, "weak-8.trace", "strong-8.trace")
    shaped = replace(RECORDED, shape="4x2")
    assert made(tmp_path, "simulated:altix-bx2", of=shaped).reason == ""
    assert [one.where.ppn for one in replayed] == [2, 2]


def test_damaged_recordings_are_left_out_with_the_reason(tmp_path: Path) -> None:
    recorded(tmp_path, "weak-2.trace")
    damaged, missing = made(tmp_path, "simulated:altix-bx2").reason.split("; ")
    assert "weak-2.trace" in damaged and "strong-*.trace" in missing


def test_runs_that_are_given_belong_to_the_part_that_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run given by `--with` belongs to the part that its plan names, so that its figures show the run."""
    plans = {"a": "T-pairs", "b": "standard", "c": "U-pairs"}

    def read(path: Path) -> object:
        return replace(make_run(), plan=PlanOfRun(plans[path.name], "", {}, 1))

    monkeypatch.setattr(study, "read_run", read)
    monkeypatch.setattr(study, "find_run", Path)
    (group,) = study.runs_by_machine(STUDY, [], ["a", "b", "c"])
    assert [part.name for part in group.parts] == ["pairs", "", ""]


def test_runs_that_are_given_alone_run_nothing() -> None:
    assert places_of(STUDY, request("--with", "last")) == []


def profiling(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `study_profiles` run a shell script in place of each of two programs."""
    rows = [row("run-a", "rate", "flop/s", "higher", 1.0, benchmark=name) for name in ("cg", "ft")]
    monkeypatch.setattr(study_profiles, "load", lambda path: (None, rows, []))
    monkeypatch.setattr(study_profiles, "find_toolchain", lambda mpi: SimpleNamespace(mpiexec="mpiexec"))
    monkeypatch.setattr(study_profiles, "built", lambda *_, **__: Path("program"))
    monkeypatch.setattr(Tool, "library", lambda *_: Path("library"))
    monkeypatch.setattr(
        Tool,
        "preloading",
        lambda self, start, library, folder, *_: replace(start, environment={"KIVIAT_PROFILE": str(folder)}),
    )
    monkeypatch.setattr(study_profiles, "on", lambda *_: as_it_is(["sh", "-c", script]))


def test_the_profile_of_a_program_that_crashed_is_discarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile of the time until the crash once counted as complete ever after."""
    profiling(": >$KIVIAT_PROFILE/world-0.profile; exit 3", monkeypatch)
    lacking = study_profiles.profile(tmp_path, Where(), None)
    assert lacking == "no profile of cg: it ended with 3; no profile of ft: it ended with 3"
    assert list((tmp_path / "profiles").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "at_terminal"), [(signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGINT, True)]
)
def test_a_signal_ends_the_profiling_of_programs(
    number: signal.Signals, at_terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal ends `kiviat study` while it profiles a program, and discards the incomplete profile.

    SIGTERM and SIGHUP once ended only that program's launcher, and Ctrl-C not even that: the next program was
    profiled, the exit code was 0, and the incomplete profile counted as complete ever after.
    """
    begun = tmp_path / "begun"
    script = f"echo >>{begun}; : >$KIVIAT_PROFILE/world-0.profile; kill -{number.name[3:]} $PPID; sleep 0.3"
    profiling(script, monkeypatch)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: at_terminal))
    with pytest.raises(Interrupted) as raised, Interruptible():
        study_profiles.profile(tmp_path, Where(), None)
    assert raised.value.signal == number
    assert begun.read_text() == "\n"
    assert list((tmp_path / "profiles").iterdir()) == []


def test_a_machine_without_room_is_told_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The reason was dropped, and the advice was what the user had done."""
    assert main(["study", "P1", "--on", "native", "-n", "1", "-o", str(tmp_path / "p1")]) == 2
    told = capsys.readouterr()
    assert "left out: there is no room for" in told.out
    assert "study P1 has no results (" in told.err and "there is no room for" in told.err


def test_list_and_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "list"]) == 0
    assert {"P1", "P2", "P3", "P4"} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert main(["study", "P9"]) == 2
    assert "there is no study 'P9'" in capsys.readouterr().err
    assert find_study("p3").name == "P3"
