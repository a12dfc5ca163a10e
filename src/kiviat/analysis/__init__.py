"""Statistics, comparison, change points, LogGP and findings over records."""
