"""Batch schedulers: facts, one .toml each, and the commands that a run needs of them."""
