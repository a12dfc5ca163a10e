"""`kiviat place`: its output, its files, and refused input."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kiviat.cli.main import main
from kiviat.cli.options.arguments import parsed
from kiviat.cli.options.request import PlaceRequest
from kiviat.cli.options.traffic import Program
from kiviat.cli.subcommands import place_verify
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.process.signals import Interrupted
from kiviat.launch.programs.timed_run import Trial
from kiviat.launch.run.supervise import LaunchResult
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.substrate import Native
from kiviat.machine.topology import Node, Topology
from kiviat.placement import Layout, Place
from kiviat.profile import Traffic
from kiviat.record import Table
from kiviat.store import RunDirectory
from tests.store.made_up import MACHINE, PLAN, launch, record

RANKS = 8


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Kiviat = Callable[..., Done]


@pytest.fixture
def kiviat(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kiviat:
    """Run `kiviat` in this process, because starting Python takes longer than a placement."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Done(status, *capsys.readouterr())

    return run


def table(name: str, sent: list[list[float]]) -> Table:
    """Return a table of two kernels with half of the traffic each; their sum is the matrix `sent`."""
    ranks = tuple(map(str, range(RANKS)))
    axes = (("kernel", ("first", "second")), ("from", ranks), ("to", ranks))
    return Table(
        name, "B", "lower", axes, tuple(value / 2 for _ in range(2) for row in sent for value in row)
    )


def append(run: RunDirectory, case: str, unit: int = 1 << 20) -> None:
    """Append a record: ranks send `unit` bytes to the rank half the world away, 1/64 to their neighbour."""
    sent = [[0.0] * RANKS for _ in range(RANKS)]
    for rank in range(RANKS):
        sent[rank][(rank + RANKS // 2) % RANKS] = unit
        sent[rank][(rank + 1) % RANKS] = unit // 64
    messages = [[float(value > 0) * 2 for value in row] for row in sent]
    tables = (table("messages", messages), table("message_bytes", sent))
    run.append(record(run.id, case, ranks=RANKS, bytes=None, tables=tables))


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """Return a run of one case with a traffic matrix, on two nodes."""
    with RunDirectory.create(tmp_path / "runs", "counted", machine=MACHINE, plan=PLAN) as run:
        nodes = [0, 0, 0, 0, 1, 1, 1, 1]
        placed = {"policy": "blocked", "binding": None, "nodes": nodes, "differences": []}
        run.set_launch(launch(0, 0, outcome="ok", exit=0, placement=placed))
        append(run, "cg/ranks=8")
        run.finish()
    return run.path


def test_what_is_printed(kiviat: Kiviat, counted: Path) -> None:
    """Blocked placement sends all 8 MiB between nodes; partners on one node leave only neighbour messages."""
    done = kiviat("place", counted, "--nodes", "4x2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "cg/ranks=8: 8 ranks send 8.13 MiB in 32 messages, as the simulator counted"
    assert lines[1] == "onto 4x2 (one switch between the nodes), for the fewest bytes between nodes"
    rows = {line.split()[0]: line for line in lines if line}
    assert "8.06 MiB" in rows["blocked"] and "128 KiB" in rows["cyclic"] and "128 KiB" in rows["automatic"]
    assert "given" not in rows, "four ranks on a node do not fit here"
    assert "no placement has fewer bytes between nodes than cyclic" in done.stdout
    assert "--bind core places ranks on sockets too" in done.stdout


def test_columns_for_other_programs(kiviat: Kiviat, counted: Path) -> None:
    done = kiviat(
        "place", counted, "--machine", "vt-myri10g", "--nodes", "2x4", "--bind", "core", "--format", "csv"
    )
    rows = {row["placement"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert list(rows) == ["cyclic", "blocked", "given", "automatic"]
    assert rows["blocked"]["between_nodes_bytes"] == str(8 * (1 << 20) + 2 * (1 << 14))
    assert rows["automatic"]["between_nodes_bytes"] == str(4 * (1 << 14))
    assert rows["automatic"]["between_sockets_bytes"] == str(4 * (1 << 14))
    assert (rows["given"]["between_sockets_bytes"], rows["given"]["hop_bytes"]) == (
        "",
        str(2 * int(rows["blocked"]["between_nodes_bytes"])),
    )
    asked = kiviat(
        "place", counted, "--nodes", "4x2", "--compare-with", "plane:2", "--no-scotch", "--format", "json"
    )
    assert [row["placement"] for row in json.loads(asked.stdout)][-2:] == ["plane:2", "automatic"]


@dataclass(frozen=True)
class Written:
    emit: str
    words: str
    first: str


@pytest.mark.parametrize(
    "case",
    [
        Written("openmpi4", "mpirun -n 8 --map-by seq --hostfile out --bind-to none ./program", "a\n"),
        Written("openmpi5", "mpirun -n 8 --map-by seq --hostfile out --bind-to none ./program", "a\n"),
        Written("mpich", "mpirun -n 8 -f out ./program", "a:1\n"),
        Written("mpich5", "mpirun -n 8 -f out ./program", "a:1\n"),
        Written(
            "slurm", "SLURM_HOSTFILE=out srun -n 8 --distribution=arbitrary --cpu-bind=none ./program", "a\n"
        ),
    ],
    ids=lambda case: case.emit,
)
def test_what_launchers_read(kiviat: Kiviat, counted: Path, tmp_path: Path, case: Written) -> None:
    """`--emit` writes files for launchers; tests/placement and tests/emulated launch with them."""
    done = kiviat("place", counted, "--nodes", "4x2", "--hosts", "a,b,c,d", "--emit", case.emit, "-o", "out")
    assert done.returncode == 0, done.stderr
    assert f"wrote out: {case.words}" in done.stderr
    assert (tmp_path / "out").read_text().startswith(case.first)


def test_a_placement_file_is_read_back(kiviat: Kiviat, counted: Path, tmp_path: Path) -> None:
    done = kiviat("place", counted, "--nodes", "4x2", "-o", "here.place")
    assert "kiviat run --place file:here.place" in done.stderr
    assert (tmp_path / "here.place").read_text().split() == ["n1", "n2", "n3", "n4"] * 2
    again = kiviat("place", counted, "--nodes", "4x2", "--compare-with", "file:here.place", "--format", "csv")
    rows = {row["placement"]: row for row in csv.DictReader(io.StringIO(again.stdout))}
    assert rows["file:here.place"]["hop_bytes"] == rows["automatic"]["hop_bytes"]


def test_the_list_of_hosts_beside_a_rank_file_replaces_no_file(
    kiviat: Kiviat, counted: Path, tmp_path: Path
) -> None:
    """It was once written over the list of --hosts. Predictions are printed even if no file is written."""
    hosts = tmp_path / "out.hosts"
    hosts.write_text("a\nb\nc\nd\n")
    words = ("--nodes", "4x2x1", "--bind", "core", "--emit", "openmpi4", "-o", "out")
    done = kiviat("place", counted, *words, "--hosts", "out.hosts", "--format", "csv")
    assert done.returncode == 2 and "also writes out.hosts, which exists" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "\nautomatic," in done.stdout
    assert hosts.read_text() == "a\nb\nc\nd\n" and not (tmp_path / "out").exists()
    hosts.rename(tmp_path / "nodes")
    done = kiviat("place", counted, *words, "--hosts", "nodes")
    assert done.returncode == 0, done.stderr
    assert "wrote out.hosts and out: mpirun -n 8" in done.stderr
    assert "note: the numbers of cores are assumed" in done.stderr


def test_scotch_that_gives_no_mapping_is_noted(
    kiviat: Kiviat, counted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "scotch_gmap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    done = kiviat("place", counted, "--nodes", "4x2")
    assert "without Scotch's mapping to begin with: scotch_gmap gave none" in done.stdout
    assert "scotch_gmap gave" not in kiviat("place", counted, "--nodes", "1x8").stdout, "nothing to map"


def test_nodes_of_a_profile_are_found_by_name() -> None:
    """A profile counts its nodes by their first ranks; here rank 0 ran on the second node of the target."""
    program = Program("p", Traffic.of_entries(4, []), (0, 1, 0, 1), "by hand", ("b", "a", "b", "a"))
    here, elsewhere = (Topology(tuple(Node(name, granted=2) for name in names)) for names in ("abc", "xyz"))
    assert program.nodes_in(here) == (1, 0, 1, 0)
    assert program.nodes_in(elsewhere) == (0, 1, 0, 1)
    assert replace(program, hosts=()).nodes_in(here) == (0, 1, 0, 1)
    assert replace(program, hosts=("b",) * 4).nodes_in(here) == (0, 1, 0, 1), "two nodes of one name"
    assert replace(program, nodes=None).nodes_in(here) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nodes", "3x2"], "8 ranks do not fit into 3x2, which has 6 slots on 3 nodes"),
        (["--nodes", "3"], "--nodes 3 cannot be read; write NODESxSLOTS"),
        ([], "where should the ranks run? Give --nodes 4x8"),
        (["--on", "simulated:vt-myri10g"], "here; use --machine vt-myri10g"),
        (["--on", "native", "--hosts", "a"], "--hosts: the nodes of --on native have names"),
        (["--nodes", "4x2", "--on", "native"], "--on native has 1 of the 4 nodes asked for"),
        (["--nodes", "4x2", "--hosts", "a,b"], "--hosts names 2 of the 4 nodes of --nodes 4x2"),
        (["--nodes", "4x2", "--emit", "mpich"], "--emit mpich writes a file; name it: -o FILE"),
        (["--nodes", "4x2", "--case", "ft"], "--case ft: "),
        (["--nodes", "1x2000", "--bind", "core"], "give them: --nodes NODESxSOCKETSxSLOTS"),
        (["--nodes", "4x2", "--verify"], "--verify needs the program"),
        (["--nodes", "4x2", "--verify", "--", "true"], "--verify needs nodes to run on"),
        (["--nodes", "4x2", "--", "true"], "only --verify runs a program"),
        (["--machine", "nowhere"], "there is no machine 'nowhere'"),
        (
            [
                "--nodes",
                "4x2",
                "--verify",
                "--on",
                "native",
                "--hosts",
                "a,b,c,d",
                "--",
                "sh",
                "-n",
                "6",
                "true",
            ],
            "has 8 ranks",
        ),
    ],
)
def test_what_is_refused(kiviat: Kiviat, counted: Path, words: list[str], said: str) -> None:
    done = kiviat("place", counted, *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_runs_without_a_matrix_or_with_several(kiviat: Kiviat, make_run: object, tmp_path: Path) -> None:
    plain = make_run()  # type: ignore[operator]
    done = kiviat("place", plain.path, "--nodes", "4x2")
    assert done.returncode == 2 and "has no case with a matrix of messages" in done.stderr
    with RunDirectory.create(tmp_path / "runs", "two", machine=MACHINE, plan=PLAN) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0))
        append(run, "cg/ranks=8")
        append(run, "mg/ranks=8", unit=128)
        run.finish()
    done = kiviat("place", run.path, "--nodes", "4x2")
    assert done.returncode == 2 and "cg/ranks=8, mg/ranks=8; choose one by --case" in done.stderr
    done = kiviat("place", run.path, "--nodes", "4x2", "--case", "mg/ranks=8", "--format", "csv")
    assert done.returncode == 0 and "\nautomatic,16,," in done.stdout


def test_messages_without_data_are_counted(kiviat: Kiviat, tmp_path: Path) -> None:
    sent = [[0.0] * RANKS for _ in range(RANKS)]
    sent[0][1] = 64.0
    messages = [[2.0 * (one != other) for other in range(RANKS)] for one in range(RANKS)]
    tables = (table("messages", messages), table("message_bytes", sent))
    with RunDirectory.create(tmp_path / "runs", "short", machine=MACHINE, plan=PLAN) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0))
        run.append(record(run.id, "cg/ranks=8", ranks=RANKS, bytes=None, tables=tables))
        run.finish()
    done = kiviat("place", run.path, "--nodes", "4x2")
    assert done.returncode == 0, done.stderr
    assert "8 ranks send 64 B in 112 messages" in done.stdout


def test_a_run_that_fails_leaves_those_before_it(
    openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run over time once discarded all finished ones."""
    reasons = ["", "", "", "timed out"]  # the first only measures the launch

    def tried(substrate: object, spec: LaunchSpec) -> Trial:
        reason = reasons.pop(0)
        return Trial(LaunchResult(0, bool(reason), reason or None, None, None, "", 2.0), None)

    monkeypatch.setattr(place_verify, "tried", tried)
    substrate = Native()
    layouts = {
        name: Layout(name, substrate.topology(), (Place(0), Place(0))) for name in ("blocked", "cyclic")
    }
    words = ["--verify", "--repeat", "2", "--format", "csv", "--", str(openmpi.mpiexec), "-n", "2", "sh"]
    asked = parsed(["place", "x.profile", *words])
    assert isinstance(asked, PlaceRequest)
    program: Any = SimpleNamespace(traffic=SimpleNamespace(ranks=2))
    predictions: Any = {name: SimpleNamespace(nodes=0, worst_link=0, hop_bytes=0) for name in layouts}
    assert place_verify.verify(asked, program, substrate, layouts, predictions) == 1
    told = capsys.readouterr()
    assert "blocked: timed out" in told.err
    assert [line.split(",")[0] for line in told.out.splitlines()[1:]] == ["blocked", "cyclic"]


def test_a_signal_while_nothing_is_launched_ends_the_command(
    openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal during the first launch, which only measures what launching itself sends, ends `--verify`.

    It was once ignored, and the program was run under every placement.
    """
    started: list[str] = []

    def tried(substrate: object, spec: LaunchSpec) -> Trial:
        started.append(spec.command[-1])
        return Trial(LaunchResult(143, False, "interrupted by signal 15", 15, None, "", 0.1), None)

    monkeypatch.setattr(place_verify, "tried", tried)
    substrate = Native()
    layout = Layout("blocked", substrate.topology(), (Place(0), Place(0)))
    asked = parsed(["place", "x.profile", "--verify", "--", str(openmpi.mpiexec), "-n", "2", "sh"])
    assert isinstance(asked, PlaceRequest)
    program: Any = SimpleNamespace(traffic=SimpleNamespace(ranks=2))
    with pytest.raises(Interrupted) as raised:
        place_verify.verify(asked, program, substrate, {"blocked": layout}, {})
    assert (raised.value.signal, started) == (signal.SIGTERM, ["true"])
