"""Hardware counters of each phase, as a table in the terminal."""

from __future__ import annotations

from kiviat.analysis.profiles.phases import PhasesUse
from kiviat.cli.text.table import dim, print_table
from kiviat.record.units import counted
from kiviat.report.profile.tables import counted_table


def print_phases(use: PhasesUse) -> None:
    """Print counters and energy of each phase, how they were obtained, and how many ranks left none."""
    print("\nwhat the machine counted in each phase, counters of each rank on average:")
    print_table(counted_table(use))
    for what, words in (("counters", use.counters), ("energy", use.energy)):
        for said in words:
            print(dim(f"{what}: {said}"))
    if use.missing:
        print(
            dim(f"{counted(use.missing, 'rank')} left no counters, because they did not reach MPI_Finalize")
        )
