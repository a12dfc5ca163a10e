"""The NAS programs against their reference on the same modelled machine, where computation takes no time.

The reference is taken by path, and stays outside the repository: NPB_SOURCE is a folder NPB3.4-MPI. Without
it nothing is measured. Its sources are compiled as they are, but for the timers (timers.cpp), which count
messages too.
What the definitions leave open, and both do otherwise, stands beside each comparison.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import NATIVE, SMALL, Simulation, compiler, number, original, source

pytestmark = pytest.mark.full
AGREE = 0.01
RANKS = (4, 8, 16)
# Sums and exchanges go the same way in both.
ALGORITHMS = {
    **{"smpi/allreduce": "rdb", "smpi/reduce": "binomial"},
    **{"smpi/alltoall": "basic_linear", "smpi/alltoallv": "ompi_basic_linear"},
}
CUT_AS_OURS = """
ipt = (row - 1) * nx0 / xdim
nx = row * nx0 / xdim - ipt
jpt = (col - 1) * ny0 / ydim
ny = col * ny0 / ydim - jpt
"""
Pairs = Mapping[tuple[int, int], tuple[float, float]]


@dataclass(frozen=True)
class Timed:
    """`sent`: messages and bytes from rank to rank, where there are any."""

    seconds: float
    sent: Pairs

    @property
    def messages(self) -> float:
        return sum(messages for messages, _ in self.sent.values())

    @property
    def bytes(self) -> float:
        return sum(size for _, size in self.sent.values())


@dataclass(frozen=True)
class Reference:
    folder: Path

    def program(self, name: str, klass: str) -> Path:
        """Built once."""
        program = self.folder / "bin" / f"{name}.{klass}.x"
        if not program.exists():
            compiler("make", "-C", self.folder, name, f"CLASS={klass}")
        return program


@pytest.fixture(scope="session")
def reference(
    ideal: list[str | Path], simgrid: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Reference:
    folder = tmp_path_factory.mktemp("npb") / "NPB"
    shutil.copytree(source("NPB_SOURCE"), folder)
    timers = folder / "libtimers.so"
    here = Path(__file__).with_name("timers.cpp")
    compiler(simgrid.mpicxx, "-std=c++20", "-O1", "-w", "-fPIC", "-I", NATIVE, here, *ideal, "-o", timers)
    for empty in ("timers.f90", "c_timers.c"):
        (folder / "common" / empty).write_text("\n")
    libraries = f"-Wl,--no-as-needed {timers} -Wl,-rpath,{folder}"
    given = {
        **dict.fromkeys(("MPIFC", "FLINK"), "smpif90"),
        **dict.fromkeys(("MPICC", "CLINK"), "smpicc"),
        "FFLAGS": "-O1 -w -fallow-argument-mismatch",
        "CFLAGS": "-O1 -w -DSMPI_NO_OVERRIDE_MALLOC",
        **dict.fromkeys(("FMPI_LIB", "CMPI_LIB"), libraries),
        **{"CC": "cc", "BINDIR": "../bin", "RAND": "randi8"},
    }
    lines = (f"{name} = {words}\n" for name, words in given.items())
    (folder / "config" / "make.def").write_text("".join(lines))
    (folder / "bin").mkdir(exist_ok=True)
    return Reference(folder)


@pytest.fixture(scope="session")
def like_ours(reference: Reference, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """LU cuts its grid and sends faces as ours does (timers.cpp); MG receives first what was sent first."""
    folder = tmp_path_factory.mktemp("like-ours") / "NPB"
    shutil.copytree(reference.folder, folder)
    (folder / "LU" / "exchange_3.f90").write_text("\n")
    subdomain = folder / "LU" / "subdomain.f90"
    text = subdomain.read_text()
    assert text.count("nz = nz0") == 1
    subdomain.write_text(text.replace("nz = nz0", CUT_AS_OURS + "nz = nz0"))
    multigrid = folder / "MG" / "mg.f90"
    ends = re.compile(r"(call take3\( *axis, *)([+-])1")
    text, swapped = ends.subn(
        lambda call: call[1] + ("-1" if call[2] == "+" else "+1"), multigrid.read_text()
    )
    assert swapped == 2
    multigrid.write_text(text)
    shutil.rmtree(folder / "bin")
    (folder / "bin").mkdir()
    for name in ("LU", "MG"):
        compiler("make", "-C", folder / name, "clean")
    return Reference(folder)


IDLE = {
    "node": {"count": number("16")},
    "core": {"flops": number("1e9 Gflop/s"), "memory_bandwidth": number("1e9 GB/s")},
    "memory": {"bandwidth": number("1e9 GB/s")},
}


@pytest.fixture
def idle(simgrid: Toolchain, bench: Path, tmp_path: Path) -> Simulation:
    """16 nodes whose cores and memories take no time."""
    return Simulation(simgrid, bench, tmp_path, load_machine(SMALL, IDLE), ALGORITHMS)


@pytest.fixture
def eager(simgrid: Toolchain, bench: Path, tmp_path: Path) -> Simulation:
    """Likewise, and no send waits for its receiver."""
    machine = load_machine(SMALL, {**IDLE, "mpi": {"eager": number("1 GB")}})
    return Simulation(simgrid, bench, tmp_path, machine, ALGORITHMS)


def theirs(idle: Simulation, program: Path, ranks: int, verifies: bool = True) -> Timed:
    done = original(idle, privatized=True).run(idle.places(ranks), program, timeout_s=1800)
    assert done.returncode == 0, done.stderr
    if verifies:
        assert re.search(r"Verification += +SUCCESSFUL", done.stdout), done.stdout
    last = done.stdout[done.stdout.rindex("timed ") :]
    pairs = re.findall(r"^sent (\d+) (\d+) (\d+) (\d+)$", last, re.MULTILINE)
    sent = {(int(a), int(b)): (float(n), float(size)) for a, b, n, size in pairs if n != "0"}
    return Timed(float(last.split()[1]), sent)


def ours(idle: Simulation, case: str, ranks: int) -> dict[str, Any]:
    (result,) = idle.cases(idle.places(ranks), [f"{case} mode=once"], timeout_s=900)
    assert result["outcome"] == "ok", result["reason"]
    return result


def of_record(result: Mapping[str, Any]) -> Timed:
    seconds = next(metric["samples"][0] for metric in result["metrics"] if metric["name"] == "time")
    tables = {table["name"]: table["values"] for table in result["tables"]}
    pairs = enumerate(zip(tables["messages"], tables["message_bytes"], strict=True))
    return Timed(seconds, {divmod(at, result["ranks"]): (n, size) for at, (n, size) in pairs if n})


def sum_of_all(idle: Simulation, ranks: int) -> float:
    """Seconds that an allreduce of one number takes."""
    result = ours(idle, "allreduce bytes=8", ranks)
    seconds: float = next(metric["samples"][0] for metric in result["metrics"] if metric["name"] == "time")
    return seconds


def without(sent: Pairs, other: Pairs) -> dict[tuple[int, int], tuple[float, float]]:
    """What is sent beside the other."""
    rest = {
        pair: (n - other.get(pair, (0, 0))[0], size - other.get(pair, (0, 0))[1])
        for pair, (n, size) in sent.items()
    }
    return {pair: values for pair, values in rest.items() if values != (0, 0)}


def agree(mine: float, reference: float) -> None:
    """How near they are is printed, for who wants to know (`-s`)."""
    print(f"{mine / reference:.4f} ({mine:.6g} s, {reference:.6g} s)", end=" ")
    assert mine == pytest.approx(reference, rel=AGREE)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("name", "klass"), [("cg", "S"), ("cg", "W"), ("ft", "S"), ("ft", "W")])
def test_cg_and_ft(idle: Simulation, reference: Reference, name: str, klass: str, ranks: int) -> None:
    mine = of_record(ours(idle, f"{name} class={klass}", ranks))
    other = theirs(idle, reference.program(name, klass), ranks)
    assert mine.sent == other.sent
    agree(mine.seconds, other.seconds)


@pytest.mark.parametrize("name", ["cg", "is"])
def test_on_64_ranks(idle: Simulation, reference: Reference, name: str) -> None:
    """Not FT: of so many ranks the reference makes 2 rows of 32, ours 8 of 8, and nobody says which."""
    nodes = {"node": {"count": number("64")}}
    wide = replace(idle, machine=load_machine(SMALL, {**IDLE, **nodes}))
    mine = of_record(ours(wide, f"{name} class=W", 64))
    other = theirs(wide, reference.program(name, "W"), 64)
    assert mine.sent == other.sent
    agree(mine.seconds, other.seconds)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("klass", ["W", "A"])
def test_is(idle: Simulation, reference: Reference, klass: str, ranks: int) -> None:
    """Not class S: the reference has half as many buckets there. Their number is nobody's definition."""
    mine = of_record(ours(idle, f"is class={klass}", ranks))
    other = theirs(idle, reference.program("is", klass), ranks)
    assert mine.sent == other.sent
    agree(mine.seconds, other.seconds)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("klass", "points"), [("S", 32), ("W", 128)])
def test_cycles_of_mg(eager: Simulation, like_ours: Reference, klass: str, points: int, ranks: int) -> None:
    """Four. Before and after them the reference exchanges residuals and finds maxima that nobody needs.

    Of an exchange along a side it sends one message after the other, ours both at once: no difference where
    sends do not wait. And it waits first for what was sent last.
    """

    def cycles(number: int) -> Timed:
        lines = (points.bit_length() - 1, f"{points} {points} {points}", number, "0 0 0 0 0 0 0 0")
        (eager.folder / "mg.input").write_text("".join(f"{line}\n" for line in lines))
        return theirs(eager, like_ours.program("mg", klass), ranks, verifies=number == 4)

    four, two = cycles(4), cycles(2)
    mine = of_record(ours(eager, f"mg class={klass}", ranks))
    # Ranks that have nothing of the coarsest grids get what is around them there in messages of our own.
    if ranks <= 8:
        once = dict.fromkeys(of_record(ours(eager, "ep class=S", ranks)).sent, (1.0, 8.0))
        twice = {pair: (n * 2, size * 2) for pair, (n, size) in without(four.sent, two.sent).items()}
        assert without(mine.sent, once) == twice
    seconds, reference_s = mine.seconds - sum_of_all(eager, ranks), 2 * (four.seconds - two.seconds)
    if ranks == 4:  # parts reach all along x: there the reference's ranks send messages to themselves
        assert seconds < reference_s
    else:
        agree(seconds, reference_s)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("klass", "points"), [("S", 12), ("W", 33)])
def test_lu(
    idle: Simulation, reference: Reference, like_ours: Reference, klass: str, points: int, ranks: int
) -> None:
    """The reference adds up once more, what the last iteration changed.

    It sends faces to one neighbour after the other, and those of the cube; ours to all at once, without. Of
    points that ranks cannot share evenly, the first ranks have one more there.
    """
    mine = of_record(ours(idle, f"lu class={klass}", ranks))
    other = theirs(idle, reference.program("lu", klass), ranks)
    sums = of_record(ours(idle, "ep class=S", ranks))
    assert other.messages - mine.messages == sums.messages
    assert mine.seconds < other.seconds
    idle.environment = {"KIVIAT_POINTS": str(points)}
    like = theirs(idle, like_ours.program("lu", klass), ranks, verifies=False)
    assert without(like.sent, mine.sent) == dict.fromkeys(sums.sent, (1.0, 40.0))
    agree(mine.seconds, like.seconds - sum_of_all(idle, ranks))


@pytest.mark.parametrize("ranks", [4, 9, 16])
@pytest.mark.parametrize("name", ["bt", "sp"])
def test_bt_and_sp(idle: Simulation, reference: Reference, name: str, ranks: int) -> None:
    """SP sends the same. BT's reference also sends what belongs to no line that is solved."""
    mine = of_record(ours(idle, f"{name} class=S", ranks))
    other = theirs(idle, reference.program(name, "S"), ranks)
    if name == "sp":
        assert mine.sent == other.sent
        agree(mine.seconds, other.seconds)
    else:
        assert mine.messages == other.messages
        assert mine.seconds < other.seconds
