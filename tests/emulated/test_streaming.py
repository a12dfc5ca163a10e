"""Rate of MPI streams on a link, compared with that of plain TCP, in turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.emulated.ceiling import highest_rate, unshaped_rates
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec

# Other programs and other guests of the host only ever slow a stream: the best of so many counts, of both.
TURNS = 4


@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "rate",
    [
        pytest.param(10**8, id="100Mbit"),
        pytest.param(10**9, id="1Gbit", marks=pytest.mark.full),
        pytest.param(None, id="highest", marks=pytest.mark.full),
    ],
)
def test_mpi_streams_as_fast_as_plain_tcp(rate: int | None, mpi: str, tmp_path: Path) -> None:
    """The highest rate is half of what plain TCP gets over a link without a limit, or less, measured here."""
    rate = rate or min(highest_rate(unshaped_rates()), 10**10)
    with Cluster.up(Spec(2, 1, rate)) as cluster:
        plain, streamed = [], []
        for turn in range(TURNS):
            plain += stream_rates(cluster, (("n1", "n2"),))
            streamed.append(mpi_rate(cluster, mpi, tmp_path / str(turn)))
    assert max(streamed) / max(plain) == pytest.approx(1, abs=0.03), (streamed, plain)


def mpi_rate(cluster: Cluster, mpi: str, folder: Path) -> float:
    """The rate of uniband in bit/s: 1 MiB, eight messages under way, one way."""
    where = ["--on", f"emulated:{cluster.name}", "--mpi", mpi, "-n", "2x1", "--launches", "1"]
    what = ["uniband", "-m", "1M", "--set", "window=8", "--budget", "1"]
    assert main(["run", *what, *where, "--output", str(folder)]) == 0
    (file,) = folder.glob("*/records.jsonl")
    (bandwidth,) = (one for one in json.loads(file.read_text())["metrics"] if one["name"] == "bandwidth")
    return 8 * float(bandwidth["p50"])
