"""Finds or builds an MPI toolchain; starts launches, supervises them and cleans up.

`mpi.toolchain.find_toolchain` → `mpi.build.build` → `run.runner.run_plan`. `run.runner.dry_run` returns the
commands of a run; `emulated.removal.clean_dead` removes what killed runs have left behind.
"""
