"""Programs other than kiviat-bench: LAMMPS, users' programs, replayed traces."""
