"""Batch schedulers: one .toml file each, and the scheduler commands that a run needs."""
