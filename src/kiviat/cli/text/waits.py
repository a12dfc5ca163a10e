"""Wait states, as tables in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from kiviat.analysis.profiles.wait_states import WaitUse, causes_in_words, wait_use_of
from kiviat.cli.text.table import dim, print_table
from kiviat.profile import Profile
from kiviat.profile.waits import COLUMNS
from kiviat.record.units import UNAVAILABLE, counted, format_part, format_value
from kiviat.report.profile.tables import pairs_table, waits_table

_MOST_PAIRS = 8


def print_waits(use: WaitUse) -> None:
    """Print the time in wait states, their causes and the calls that wait, or why they are unavailable."""
    if use.unavailable:
        print(f"\nwho waits for whom: {UNAVAILABLE}: {use.unavailable}")
        return
    print(
        f"\n{format_part(use.of_time)} of the time is waiting for other ranks ({format_part(use.least)} to "
        f"{format_part(use.most)} on the ranks), which is {format_part(use.of_mpi)} of the time in MPI: "
        f"{format_value(use.mean_s, 's')} on average"
    )
    print(dim(_error_of(use)))
    if use.calls:
        print(f"waited for most: {causes_in_words(use.causes)}\n")
        print_table(waits_table(use))
        print()
        print_table(pairs_table(use, _MOST_PAIRS))
    for remark in use.remarks:
        print(dim(f"waiting: {remark}"))


def facts_of(profile: Profile) -> dict[str, Any] | None:
    """Return wait states for JSON: what is printed, and a row for each rank, call, kind and cause.

    None without a recording.
    """
    use, waits = wait_use_of(profile), profile.waits
    if use is None or waits is None:
        return None
    columns = {name: getattr(waits, name).tolist() for name in COLUMNS}
    lines = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
    return asdict(use) | {"lines": lines}


def _error_of(use: WaitUse) -> str:
    """Return how many calls have times and by how much the clocks' differences may distort them."""
    times = f"{counted(use.recorded, 'call')} with times"
    if use.clocks == 1:
        return f"{times}; all ranks read one clock"
    return (
        f"{times}; {use.clocks} clocks, known to half of a round trip: off by at most "
        f"{format_value(use.error_s, 's')} on average"
    )
