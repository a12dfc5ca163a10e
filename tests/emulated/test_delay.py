"""The specified delay is added in each direction, whether the kernel delays frames (netem) or a program
forwards them.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median

import pytest

from kiviat.cli.main import main
from kiviat.launch.emulated import delaying
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import half_round_trip_s
from kiviat.launch.emulated.spec import Spec, parse_spec
from kiviat.record import InputError
from kiviat.store.read import load

from .test_rates import MEASUREMENTS, close, rates

DELAY_S = 2e-3


@pytest.fixture(params=["netem", "program"] if delaying.has_netem() else ["program"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Select netem, if the kernel has it, or the forwarding program, which is always available."""
    monkeypatch.setattr(delaying, "has_netem", lambda: request.param == "netem")


@pytest.mark.usefixtures("way")
def test_one_way_takes_the_delay_longer() -> None:
    with Cluster.up(Spec(2, 1, None, DELAY_S)) as cluster:
        one_way_s = median(half_round_trip_s(cluster, "n2", "n1") for _ in range(MEASUREMENTS))
        assert 0.95 * DELAY_S < one_way_s < 1.3 * DELAY_S


@pytest.mark.usefixtures("way")
def test_a_delayed_link_keeps_its_rate() -> None:
    """A delayed link reaches its full rate: TCP's window grows with the delay, and no frames are lost."""
    with Cluster.up(Spec(2, 1, 10**8, DELAY_S)) as cluster:
        found = rates(cluster, ("n1", "n2"))
        assert close(found, 1), found
        sent, received = cluster.traffic()["n1"].sent_bytes, cluster.traffic()["n2"].received_bytes
        assert abs(sent - received) < 0.02 * sent, "nothing is lost on the way"


@pytest.mark.parametrize("benchmark", ["pingping", "sendrecv", "exchange"])
def test_messages_both_ways_take_as_long_as_one_way(benchmark: str, tmp_path: Path) -> None:
    """A slow network does not make both ways look slower.

    Ranks begin a batch as far apart as a barrier leaves them, here by the time of a message. Batches were
    once single calls on such networks, and reported twice the time.
    """
    words = ["-m", "8", "-n", "2", "--launches", "1", "--budget", "0.5", "--on", "emulated:2x1,delay=1ms"]
    least = {"pingpong": 1.0, benchmark: 1.0}
    for attempt in map(str, range(3)):  # other programs only ever make calls longer
        output = tmp_path / attempt
        assert main(["run", "pingpong", benchmark, *words, "-o", str(output), "--quiet"]) == 0
        (run,) = (path for path in output.iterdir() if path.name[0].isdigit())
        times = {row.benchmark: row.p50 or 0.0 for row in load(run)[1] if row.metric == "time"}
        least = {name: min(time, times[name]) for name, time in least.items()}
        if 0.9 < least[benchmark] / least["pingpong"] < 1.3:
            return
    pytest.fail(f"pingpong and {benchmark} take {least} s")


def test_a_delay_that_is_too_short_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delaying, "has_netem", lambda: False)
    with pytest.raises(
        InputError, match=r"'2x1,delay=100ns': without netem, .* a frame takes \d+ us to be forwarded"
    ):
        Cluster.up(parse_spec("2x1,delay=100ns"))


def test_a_kernel_that_can_neither_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delaying, "has_netem", lambda: False)
    monkeypatch.setattr(delaying, "_TUN", tmp_path / "tun")
    with pytest.raises(InputError, match="a delay needs netem or"):
        Cluster.up(parse_spec("2x1,delay=1ms"))


def test_a_cluster_whose_carrier_died_is_not_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delaying, "has_netem", lambda: False)
    cluster = Cluster.up(parse_spec("1x1,delay=1ms"), "lab", kept=True)
    assert Cluster.find("lab").name == "lab"
    number = delaying.wire_number(cluster.folder)
    assert number is not None
    os.kill(number, 9)
    with pytest.raises(InputError, match="is incomplete"):
        for _ in range(1000):
            Cluster.find("lab")
    assert cluster.down() == []
