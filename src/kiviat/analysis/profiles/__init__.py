"""Analysis of profiles: time in MPI, wait states, phases, traffic patterns."""
