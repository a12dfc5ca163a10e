"""The rule that calls a case disturbed."""

from __future__ import annotations

from typing import Any

import pytest

from kiviat.record.activity import Activity, disturbance

QUIET: dict[str, Any] = {
    "elapsed_s": 1.2,
    "processors": 2.0,
    "others": 0.04,
    "steal": 0.003,
    "wait": 0.01,
    "involuntary_switches": 12.0,
}


def _why(oversubscribed: bool = False, **changes: Any) -> str | None:
    return disturbance(Activity(**{**QUIET, **changes}), oversubscribed)


def test_a_quiet_machine_is_not_accused() -> None:
    assert _why() is None
    assert _why(others=0.9, processors=128.0) is None  # daemons of a large node
    assert _why(others=None, steal=None, wait=None, processors=None) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"others": 0.96}, "other programs used 0.960 of 2 processors"),
        ({"steal": 0.08}, "the hypervisor took 8 % of the time"),
        ({"wait": 0.4}, "a rank waited for a processor for 40 % of the time"),
    ],
)
def test_what_disturbs_is_said(changes: dict[str, Any], said: str) -> None:
    assert _why(**changes) == said


def test_oversubscribed_ranks_wait_for_each_other() -> None:
    assert _why(oversubscribed=True, wait=0.5) is None
    assert _why(oversubscribed=True, wait=0.5, others=1.0) == "other programs used 1.00 of 2 processors"
