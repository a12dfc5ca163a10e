"""Hardware counters of each phase, as a table in the terminal."""

from __future__ import annotations

from kiviat.analysis.profiles.phases import PhasesUse, counted_table
from kiviat.cli.text.table import dim, print_table
from kiviat.record.units import counted


def print_phases(use: PhasesUse) -> None:
    """Print counters and energy of each phase, how they were obtained, and how many ranks left none."""
    print("\nwhat the machine counted in each phase, counters of each rank on average:")
    headings, lines = counted_table(use)
    print_table(">" * len(headings), headings, lines)
    for what, words in (("counters", use.counters), ("energy", use.energy)):
        for said in words:
            print(dim(f"{what}: {said}"))
    if use.missing:
        print(
            dim(f"{counted(use.missing, 'rank')} left no counters, because they did not reach MPI_Finalize")
        )
