"""HPC Challenge quantities: balance, bottlenecks, roofline, extrapolation."""
