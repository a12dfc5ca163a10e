"""Findings: notable facts about a run, each with its evidence."""
