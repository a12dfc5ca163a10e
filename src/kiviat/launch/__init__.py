"""Finds or builds an MPI toolchain; executes launches, watches them and cleans up.

`mpi.toolchain.find_toolchain` → `mpi.build.build` → `run.runner.run_plan`; `run.runner.dry_run` shows what it
would execute, `emulated.removal.clean_dead` removes what runs that were killed left behind.
"""
