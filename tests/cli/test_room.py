"""Plans that do not fit into memory are refused before anything starts."""

from __future__ import annotations

import pytest

from kiviat.cli.options import preflight
from kiviat.launch.substrates import substrate
from kiviat.launch.substrates.substrate import Native
from kiviat.plan import Plan
from kiviat.plan.case import Case
from kiviat.record import InputError


def plan(lmax: int) -> Plan:
    case = Case("b_eff/ranks=4", "b_eff", 4, None, {"lmax": lmax}, {}, 4)
    return Plan("p", 1, 1, (case,), {})


def test_lmax_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(substrate, "in_allocation", lambda: False)
    monkeypatch.setattr(preflight, "available_memory_bytes", lambda: 1 << 30)
    preflight.refuse_beyond_memory(plan(16 << 20), Native())
    with pytest.raises(
        InputError, match=r"lmax is 64 MiB: 4 ranks of b_eff need 3 GiB for it, .* 1 GiB are left here"
    ):
        preflight.refuse_beyond_memory(plan(64 << 20), Native())
    monkeypatch.setattr(substrate, "in_allocation", lambda: True)  # other nodes may have more memory
    preflight.refuse_beyond_memory(plan(64 << 20), Native())


def test_zero_is_what_the_memory_allows() -> None:
    preflight.refuse_beyond_memory(plan(0), Native())
