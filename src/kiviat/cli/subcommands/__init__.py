"""Forms of commands with modules of their own: `model predict`, `place --verify`, `run --replay` …."""
