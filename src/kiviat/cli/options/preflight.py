"""Refuses, before anything starts, plans that do not fit into this machine's memory."""

from __future__ import annotations

from kiviat.launch.substrates.substrate import Substrate
from kiviat.machine.host.description import available_memory_bytes
from kiviat.plan import Plan
from kiviat.record import InputError
from kiviat.record.units import format_bytes

_MESSAGES_KEPT = 12  # buffers of b_eff per rank: six messages out and six in


def refuse_beyond_memory(plan: Plan, substrate: Substrate) -> None:
    """Raise InputError for an lmax that this machine cannot hold, if it has to hold all ranks."""
    available = available_memory_bytes()
    for case in plan.cases:
        lmax = case.axes.get("lmax")
        if not isinstance(lmax, int) or lmax == 0:  # 0: as large as memory allows
            continue
        needed = _MESSAGES_KEPT * lmax * case.ranks
        if substrate.is_this_machine and available is not None and needed > available:
            raise InputError(
                f"lmax is {format_bytes(lmax)}: {case.ranks} ranks of {case.benchmark} need "
                f"{format_bytes(needed)} for it, and {format_bytes(available)} are left here; "
                "give a smaller one, or 0 for what the memory allows"
            )
