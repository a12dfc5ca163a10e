"""Benchmarks of Kiviat's own speed and accuracy, compared with other tools: `make bench`. Not part of the
tests.
"""
