"""Rate of MPI streams on an emulated link, compared with plain TCP, measured alternately."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.emulated.ceiling import highest_rate, unshaped_rates
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec

from .test_rates import PAYLOAD

# At most so many alternating measurements. The best of each kind counts, because other programs only ever
# slow a stream.
TURNS = 3
SAME = pytest.approx(1, abs=0.03)


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
    """An MPI stream is as fast as a plain TCP stream (within 3 %) on links of several rates, up to half of
    what TCP reaches without a limit.
    """
    rate = rate or min(highest_rate(unshaped_rates()), 10**10)
    with Cluster.up(Spec(2, 1, rate)) as cluster:
        plain, streamed = [], []
        for turn in range(TURNS):
            plain += stream_rates(cluster, (("n1", "n2"),))
            streamed.append(mpi_rate(cluster, mpi, tmp_path / str(turn)))
            # Plain TCP that was disturbed would make a slow MPI look equal.
            if max(plain) > 0.97 * rate * PAYLOAD and max(streamed) / max(plain) == SAME:
                return
    pytest.fail(f"MPI reached {streamed} bit/s, and plain TCP {plain}")


def mpi_rate(cluster: Cluster, mpi: str, folder: Path) -> float:
    """Return the bandwidth of the benchmark uniband in bit/s, with four messages of 1 MiB in flight."""
    where = ["--on", f"emulated:{cluster.name}", "--mpi", mpi, "-n", "2x1", "--launches", "1"]
    what = ["uniband", "-m", "1M", "--set", "window=4", "--budget", "1"]
    assert main(["run", *what, *where, "--output", str(folder)]) == 0
    (file,) = folder.glob("*/records.jsonl")
    (bandwidth,) = (one for one in json.loads(file.read_text())["metrics"] if one["name"] == "bandwidth")
    return 8 * float(bandwidth["p50"])
