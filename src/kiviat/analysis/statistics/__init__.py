"""Distribution-free intervals, tests, change points, and tails of distributions."""
