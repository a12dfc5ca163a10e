"""Plans with arrangements of ranks make one run for each arrangement, and one report about all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.cli.options.arguments import parsed
from kiviat.cli.options.request import RunRequest
from kiviat.cli.subcommands.run_arrangements import run_shapes
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.substrates.substrate import Native
from kiviat.plan import Arrangement
from kiviat.record import InputError, NotStartedError
from tests.cli.conftest import Kiviat

SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"
PLAN = """\
schema = "kiviat.plan/1"
arrangements = [
  { shape = "4x1" },
  { shape = "2x2", place = "cyclic", bind = "co-processor" },
  { shape = "2x2", place = "blocked" },
  { shape = "8x1" },
]
[[cases]]
benchmarks = ["cg", "is"]
axes.class = "S"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "shared.toml").write_text(PLAN)
    return tmp_path / "shared.toml"


def test_each_arrangement_is_a_run_and_one_report_compares_them(kiviat: Kiviat, plan: Path) -> None:
    try:
        build(find_toolchain("smpi"))
    except InputError as error:
        pytest.skip(str(error))
    done = kiviat("run", "shared.toml", "--on", f"simulated:{SMALL}", "--report", "all.html")
    assert done.returncode == 0, done.stderr
    runs = [
        json.loads((plan.parent / line.split()[1] / "run.json").read_text())
        for line in done.stdout.splitlines()
        if line.startswith("results")
    ]
    assert [(run["where"]["ppn"], run["where"]["place"], run["where"]["bind"]) for run in runs] == [
        *((1, None, None), (2, "cyclic", "co-processor"), (2, "blocked", None))
    ]
    names = ("4x1", "2x2-cyclic-co-processor", "2x2-blocked")
    assert all(run["id"].endswith(name) for run, name in zip(runs, names, strict=True))
    placed = [run["launches"][0]["placement"]["nodes"] for run in runs]
    assert placed == [[0, 1, 2, 3], [0, 1, 0, 1], [0, 0, 1, 1]]
    assert "\n8x1\nleft out: " in done.stdout
    page = (plan.parent / "all.html").read_text()
    assert "Placements of ranks on nodes: small, class S" in page
    heads = ("4×1", "2×2, cyclic, co-processor", "Bytes between nodes")
    assert all(head in page for head in heads)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--place", "cyclic"), "--place cyclic"),
        (("-n", "4"), "-n 4"),
        (("--bind", "core"), "--bind core"),
        (("--ppn", "2"), "--ppn 2"),
    ],
)
def test_the_command_line_does_not_say_it_too(
    kiviat: Kiviat, plan: Path, words: tuple[str, ...], said: str
) -> None:
    done = kiviat("run", "shared.toml", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "says itself where ranks go" in done.stderr and said in done.stderr


@pytest.mark.parametrize(
    ("arrangement", "said"),
    [
        ('{ place = "cyclic" }', "write a table with a shape"),
        ('{ shape = "8" }', "arrangements[0]: shape '8' is not a shape"),
        ('{ shape = "8x2", order = "cyclic" }', "unknown key 'order'"),
        ('{ shape = "8x2", place = 3 }', "place is 3"),
    ],
)
def test_a_bad_arrangement_is_one_line(kiviat: Kiviat, plan: Path, arrangement: str, said: str) -> None:
    plan.write_text(
        f'schema = "kiviat.plan/1"\narrangements = [{arrangement}]\n[[cases]]\nbenchmarks = ["cg"]\n'
    )
    done = kiviat("run", "shared.toml", "--dry-run")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and said in done.stderr, done.stderr


def test_only_what_has_not_started_is_left_out() -> None:
    """Only arrangements that cannot start are left out; any other error ends the command.

    A full disk, a removed folder and hanging ranks were once "left out" too, and the exit code was 0.
    """
    request = parsed(["run", "pingpong", "-n", "64x1,1x2"])
    assert isinstance(request, RunRequest)
    shapes = (Arrangement("64x1"), Arrangement("1x2"))

    def run(one: RunRequest) -> tuple[int, Path | None]:
        if one.what.ranks == "64x1":
            raise NotStartedError("64 ranks do not fit")
        raise InputError("the disk is full")

    with pytest.raises(InputError, match=r"^the disk"):
        run_shapes(shapes, request, Native(), run)


def test_ranks_that_do_not_fit_are_left_out(
    openmpi: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["run", "pingpong", "-n", "2x1,1x2", "--mpi", str(openmpi.mpicxx), "--dry-run"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "2x1" and lines[2].startswith("left out: -n 2x1 needs 2 nodes")
    assert lines[4] == "1x2" and "commands:" in lines
    words[3] = "2x1,3x2"
    assert main(words) == 2  # nothing would run
    assert "has no arrangement for this machine" in capsys.readouterr().err
