"""Statistics, comparison, change points, LogGP, scaling and findings, computed from records."""
