"""Where each rank has a core of its own, nobody has to tell the others so; collectives are what they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulated.conftest import Place, Simulation, compiler, original

SELECTORS = ("mpich", "ompi", "mvapich2")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("leaders") / "leaders"
    here = Path(__file__).with_name("leaders.c")
    compiler("smpicc", "-O1", "-w", "-DSMPI_NO_OVERRIDE_MALLOC", here, "-o", built)
    return built


def printed(simulation: Simulation, places: list[Place], program: Path) -> tuple[list[str], list[float]]:
    """What came out on the ranks, and seconds."""
    done = original(simulation, privatized=True).run(places, program)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    seconds = [float(line.split()[0]) for line in lines if line.endswith(" s")]
    assert len(seconds) == 3
    return sorted(line for line in lines if not line.endswith(" s")), seconds


@pytest.mark.parametrize("ranks", [5, 8, 12])
@pytest.mark.parametrize("selector", SELECTORS)
def test_collectives_are_those_of_simgrid_s_own_answer(
    wide: Simulation, program: Path, selector: str, ranks: int
) -> None:
    """A reduction once broke off on five ranks: some took one algorithm and some another."""
    of = wide.with_options(smpi__coll_selector=selector)
    places = of.places(ranks)
    ours, seconds = printed(of, places, program)
    theirs, others = printed(replace(of, answers=False), places, program)
    assert ours == theirs and ours
    assert seconds == pytest.approx(others, rel=1e-6)


def test_ranks_that_share_a_core_ask_each_other(wide: Simulation, program: Path) -> None:
    places = [(rank // 8, rank // 2 % 4) for rank in range(12)]
    of = wide.with_options(smpi__coll_selector="mpich")
    assert printed(of, places, program) == printed(replace(of, answers=False), places, program)


def test_a_program_s_first_collective_takes_as_long_as_any(wide: Simulation) -> None:
    """It once took P * P messages more: those by which ranks found out who shares a core."""
    lines = ["hpccg nx=8 ny=8 nz=8 mode=once", "allreduce bytes=8 mode=once"]
    first, _, again = (
        {metric["name"]: metric["mean"] for metric in result["metrics"]}
        for result in wide.cases(wide.places(12), [*lines, lines[0]])
    )
    assert first == pytest.approx(again, rel=3e-3)  # they begin at other times; it was 7e-3 and more
