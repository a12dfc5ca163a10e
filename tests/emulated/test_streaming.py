"""What MPI gets of a link when it streams, beside plain TCP over the same link right before and after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.emulated.ceiling import highest_rate, unshaped_rates
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec

# Once in a while something is late: the machine has two cores for all that streams here.
TRIES = 12


@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "rate",
    [
        pytest.param(10**8, id="100Mbit", marks=pytest.mark.full),
        pytest.param(10**9, id="1Gbit"),
        pytest.param(None, id="highest", marks=pytest.mark.full),
    ],
)
def test_mpi_streams_as_fast_as_plain_tcp(rate: int | None, mpi: str, tmp_path: Path) -> None:
    """The highest rate is half of what plain TCP gets over a link without a limit, or less, measured here."""
    rate = rate or min(highest_rate(unshaped_rates()), 10**10)
    off: list[float] = []
    while len(off) < TRIES and (not off or abs(off[-1]) > 0.03):
        off.append(beside_tcp(rate, mpi, tmp_path / str(len(off))))
    assert abs(off[-1]) <= 0.03, off


def beside_tcp(rate: int, mpi: str, folder: Path) -> float:
    """Relative difference of uniband's rate, 1 MiB and eight messages under way, one way."""
    with Cluster.up(Spec(2, 1, rate)) as cluster:
        before = sum(stream_rates(cluster, (("n1", "n2"),)))
        where = ["--on", f"emulated:{cluster.name}", "--mpi", mpi, "-n", "2x1", "--launches", "1"]
        what = ["uniband", "-m", "1M", "--set", "window=8", "--budget", "1"]
        assert main(["run", *what, *where, "--output", str(folder)]) == 0
        after = sum(stream_rates(cluster, (("n1", "n2"),)))
    (file,) = folder.glob("*/records.jsonl")
    (bandwidth,) = (one for one in json.loads(file.read_text())["metrics"] if one["name"] == "bandwidth")
    return float(8 * bandwidth["p50"] / ((before + after) / 2) - 1)
