"""Forms of commands that are commands in themselves: `model predict`, `place --verify`, `run --replay`."""
