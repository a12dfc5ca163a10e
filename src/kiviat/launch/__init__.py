"""Finds or builds an MPI toolchain; executes launches, watches them and cleans up.

`toolchain.find_toolchain` → `build.build` → `runner.run_plan`; `runner.dry_run` shows what it would
execute, `leftovers.clean_dead` removes what runs that were killed left behind.
"""
