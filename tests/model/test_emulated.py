"""A model fitted to ping-pong alone, then held to what it was not fitted to, on a cluster of known rate.

The ping-pong runs between ranks 0 and 3 (two nodes) and 0 and 4 (one node) of a launch with more ranks than
cores, as the launches are that it has to predict: there MPI yields, and the kernel delivers packets in time.
"""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.emulated import rights
from kiviat.machine.model import load_machine
from kiviat.record import InputError

# Sizes at which the network decides and not the wait for a core: 4 ranks share what cores there are.
SIZES = "64K,256K"
# The machine may be busy with something else, which makes measured times longer.
TRIES = 2


def run(home: Path, *words: str) -> Path:
    assert main(["run", *words, "--output", str(home)]) == 0
    return max(home.iterdir(), key=lambda path: path.stat().st_mtime_ns)


@pytest.mark.full
@pytest.mark.xfail(
    strict=False,
    reason="on cores of their own medians are 8 to 20 %, and messages of 64 KiB and more are worst: "
    "docs/emulated.md says why; on shared cores ranks wait for a core as well",
)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("rate", ["100Mbit", "1Gbit"])
def test_collectives_and_b_eff_follow_from_ping_pong(
    rate: str, mpi: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        rights.refuse_without_rights()
    except InputError as error:
        pytest.skip(str(error))
    pairs = ("--place", "cyclic", "pingpong", "--set", "distance=3,4", "-m", "0:1M", "--budget", "0.4")
    where = ("--on", f"emulated:4x2,rate={rate}", "--mpi", mpi)
    fitted = run(tmp_path / "fit", *where, "--launches", "5", *pairs)
    file = tmp_path / "fitted.toml"
    assert main(["model", "fit", str(fitted), "-o", str(file)]) == 0
    frozen = load_machine(file).hash

    errors: list[float] = []
    for _ in range(TRIES):
        errors = []
        for what in (("allreduce", "alltoall", "-m", SIZES), ("b_eff", "--set", "version=quick")):
            where = ("--on", f"emulated:4x1,rate={rate}", "-n", "4x1", "--mpi", mpi)
            held = run(tmp_path / "held", *where, "--launches", "2", *what)
            capsys.readouterr()
            assert main(["model", "predict", str(file), str(held), "--format", "csv"]) == 0
            for line in csv.DictReader(capsys.readouterr().out.splitlines()):
                if not line["metric"].startswith("pingpong"):
                    errors.append(abs(float(line["error"])))
        if statistics.median(errors) <= 0.15:
            break
    assert load_machine(file).hash == frozen
    assert statistics.median(errors) <= 0.15, errors
