"""Scaling of benchmarks with the number of ranks."""
