"""Use of a machine's processors, from made-up kernel files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kiviat.launch.run import activity
from kiviat.machine.host.activity import LEAST_S, Throttling, Usage, frequencies_hz, load, others_between


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _stat(root: Path, ticks: int, steal: int = 0) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    lines = [f"cpu{cpu} {ticks} 0 {ticks} 900 5 70 80 {steal} 0 0" for cpu in cpus]
    _write(root, "proc/stat", "\n".join(["cpu 1 2 3 4 5 6 7 8 9 10", *lines, "intr 5"]) + "\n")


def _usage(root: Path, at_s: float, own_s: float) -> Usage:
    found = Usage.now(root)
    return Usage(at_s, found.processors, found.busy_s, found.stolen_s, own_s)


def test_what_others_use_is_all_but_ours(tmp_path: Path) -> None:
    processors = len(os.sched_getaffinity(0))
    _stat(tmp_path, 1000)
    before = _usage(tmp_path, 10.0, 1.0)
    _stat(tmp_path, 1100, steal=50)
    after = _usage(tmp_path, 12.0, 1.0 + 0.5 * processors)
    found = others_between(before, after)
    assert found is not None
    # Each processor was busy for two seconds, half a second of it for us; interrupts do not count.
    assert found.others == pytest.approx(0.75 * processors)
    assert found.steal == pytest.approx(0.5 / 2.5)
    assert others_between(before, Usage(10.1, processors, after.busy_s, 0.0, 1.0)) is None  # ten ticks


def test_what_the_kernel_does_not_say_is_unavailable(tmp_path: Path) -> None:
    assert Usage.now(tmp_path).busy_s is None
    assert others_between(_usage(tmp_path, 0, 0), _usage(tmp_path, 9, 0)) is None
    assert load(tmp_path) is None and frequencies_hz(tmp_path) is None
    assert Throttling.now(tmp_path) == Throttling(None, None)
    # A container may see other processors than those that it may use.
    _write(tmp_path, "proc/stat", "cpu 1 2 3 4 5 6 7 8\ncpu4095 1 2 3 4 5 6 7 8\n")
    assert Usage.now(tmp_path).busy_s is None


def test_load_frequency_and_throttling(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    system = "sys/devices/system/cpu"
    _write(tmp_path, "proc/loadavg", "1.25 0.5 0.1 2/300 99\n")
    _write(tmp_path, f"{system}/cpu{cpu}/cpufreq/scaling_cur_freq", "2400000\n")
    _write(tmp_path, f"{system}/cpu0/thermal_throttle/core_throttle_count", "3\n")
    _write(tmp_path, f"{system}/cpu1/thermal_throttle/core_throttle_count", "4\n")
    _write(tmp_path, "proc/self/cgroup", "0::/job/step\n")
    _write(tmp_path, "sys/fs/cgroup/job/cpu.stat", "usage_usec 9\nnr_throttled 2\nthrottled_usec 1500000\n")
    _write(tmp_path, "sys/fs/cgroup/job/step/cpu.stat", "throttled_usec 0\n")
    assert load(tmp_path) == 1.25
    assert frequencies_hz(tmp_path) == (2.4e9, 2.4e9)
    assert Throttling.now(tmp_path) == Throttling(1.5, 7)


def test_throttling_by_groups_of_version_1(tmp_path: Path) -> None:
    _write(tmp_path, "proc/self/cgroup", "3:cpuacct,cpu:/a\n2:memory:/b\n")
    _write(tmp_path, "sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 5\nthrottled_time 250000000\n")
    assert Throttling.now(tmp_path).limited_s == 0.25


def test_a_busy_machine_is_named_however_soon_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that prepares in less than 0.4 s waits for enough ticks, unless the machine is idle."""
    monkeypatch.setattr(activity, "load", lambda: 1.0)
    processors = len(os.sched_getaffinity(0))
    before = Usage(time.monotonic(), processors, -10.0 * processors, 0.0, 0.0)
    monkeypatch.setattr(Usage, "now", lambda: Usage(time.monotonic(), processors, 0.0, 0.0, 0.0))
    assert "other programs used" in (activity.busy_now(before) or "")
    monkeypatch.setattr(activity, "load", lambda: 0.0)
    began = time.monotonic()
    assert activity.busy_now(Usage.now()) is None
    assert time.monotonic() - began < LEAST_S / 2
