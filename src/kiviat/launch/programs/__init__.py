"""Programs other than kiviat-bench: LAMMPS, programs of the user's, replayed traces."""
