"""Finds or builds an MPI toolchain; executes launches, watches them and cleans up.

`runner.run_plan` executes a plan, `dry_run.dry_run` shows what it would execute, `leftovers.clean_dead`
removes what runs that were killed left behind.
"""
