"""How a benchmark scales with the number of ranks."""
