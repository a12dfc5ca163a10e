"""Hardware counters and energy of each phase: values if available, otherwise a reason."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from kiviat.analysis.profiles.phases import Spread, phases_use_of
from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.profile import RankPhases
from kiviat.profile.phases import Energy

from .conftest import Compiled, Profiled
from .made_up import halo_profile


def test_each_phase_or_a_reason(
    toolchain: Toolchain,
    compiled: Compiled,
    profiled: Profiled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each phase has the energy of a meter file, or the reason that it is too short for the meter."""
    meter = tmp_path / "meter"
    meter.write_text("48211.5 J\n")
    monkeypatch.setenv("KIVIAT_ENERGY_FILE", str(meter))
    program = compiled(toolchain, "exchange.c", "-lpthread")
    done = profiled(toolchain, 2, program, "phases", asks=("--counters",))
    assert done.status == 0, done.err
    each = done.profile.phases
    assert each is not None and [one.rank for one in each] == [0, 1]
    assert each[0].phases == each[1].phases and len(each[0].phases) >= 2
    for one in each:
        assert all(seconds is not None and seconds > 0 for seconds in one.seconds)
        assert one.counters or one.words.startswith("unavailable: ")
    # One rank reads the meter for the whole machine.
    assert each[0].energy is not None and each[1].energy is None
    assert "cannot measure durations below 10 s in all" in each[0].energy.words
    assert set(each[0].energy.joules) == {None}
    capsys.readouterr()
    assert main(["show", str(done.path)]) == 0
    shown = capsys.readouterr().out
    assert "what the machine counted in each phase" in shown and f"energy: unavailable: {meter}" in shown
    assert main(["report", str(done.path), "-o", str(tmp_path / "page.html")]) == 0
    assert "Energy: unavailable" in (tmp_path / "page.html").read_text()


@pytest.mark.full
def test_a_meter_that_is_renewed(
    openmpi: Toolchain,
    compiled: Compiled,
    profiled: Profiled,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The energy of a phase of 12 s follows from a meter file that reports 20 W and is updated every
    50 ms.
    """
    meter, ended = tmp_path / "meter", threading.Event()

    def renew() -> None:
        while not ended.wait(0.05):
            new = meter.with_suffix(".new")
            new.write_text(f"{20 * time.monotonic():.3f} J\n")
            new.replace(meter)

    meter.write_text(f"{20 * time.monotonic():.3f} J\n")
    monkeypatch.setenv("KIVIAT_ENERGY_FILE", str(meter))
    agent = threading.Thread(target=renew)
    agent.start()
    try:
        program = compiled(openmpi, "late.c")
        done = profiled(openmpi, 2, program, "sleeps", asks=("--counters",))
    finally:
        ended.set()
        agent.join()
    use = phases_use_of(done.profile)
    assert use is not None
    (slept,) = (one for one in use.phases if one.number == 3)
    assert slept.joules == pytest.approx(20 * 12, rel=0.05)
    assert slept.watts == pytest.approx(20, rel=0.05)


def rank_phases(rank: int, instructions: float | None, energy: Energy | None) -> RankPhases:
    counters = {"instructions": (instructions, 5.0), "cycles": (2e9, None)} if instructions else {}
    return RankPhases(
        rank=rank,
        phases=(1, 2),
        seconds=(2.0, 3.0 + rank),
        words="perf: made up" if counters else "unavailable: no PMU",
        counters=counters,
        least_share=(1.0, 0.25),
        read_bytes=(6e9 if energy else None, None),
        written_bytes=(3e9 if energy else None, None),
        energy=energy,
    )


def test_over_ranks_and_machines() -> None:
    first = Energy("measured: RAPL package-0", (100.0, None), (50.0, None), {"package": (100.0, None)})
    each = (rank_phases(0, 3e9, first), rank_phases(1, 1e9, first), rank_phases(2, None, None))
    use = phases_use_of(halo_profile(phases=each))
    assert use is not None and use.missing == 13
    one, two = use.phases
    assert one.seconds == Spread(2.0, 2.0, 2.0) and two.seconds == Spread(3.0, 4.0, 5.0)
    assert one.counters["instructions"] == Spread(1e9, 2e9, 3e9)
    assert one.instructions_per_cycle == 1.0 and two.instructions_per_cycle is None
    assert (one.joules, one.watts, one.memory_bytes) == (200.0, 100.0, 18e9)
    assert (two.joules, two.memory_bytes) == (None, None)
    assert use.counters == ("perf: made up; counters were multiplexed and are scaled", "unavailable: no PMU")
    assert use.energy == ("measured: RAPL package-0",)
    assert phases_use_of(halo_profile()) is None


def test_what_one_machine_does_not_tell_is_not_known_of_all() -> None:
    first = Energy("measured: RAPL package-0", (100.0, None), (50.0, None), {"package": (100.0, None)})
    second = Energy("unavailable: no meter", (None, None), (None, None), {})
    each = (rank_phases(0, None, first), rank_phases(1, None, second), rank_phases(2, None, None))
    use = phases_use_of(halo_profile(phases=each))
    assert use is not None
    assert (use.phases[0].joules, use.phases[0].watts, use.phases[0].memory_bytes) == (None, None, 18e9)
    assert use.energy == ("measured: RAPL package-0", "unavailable: no meter")


def test_the_second_line_keeps_them(openmpi: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Counters and energy are kept in a profile together with all other optional data."""
    done = profiled(
        openmpi, 2, compiled(openmpi, "late.c"), asks=("--counters", "--wait-states", "--mpi-traffic")
    )
    told = json.loads(done.path.read_bytes().split(b"\n", 2)[1])
    assert {"waits", "phases"} <= set(told)
    profile = done.profile
    assert profile.phases is not None and profile.waits is not None and profile.crossed is not None
