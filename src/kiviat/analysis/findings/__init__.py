"""Findings about a run, each with its evidence."""
