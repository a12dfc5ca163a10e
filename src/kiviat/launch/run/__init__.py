"""Execution of a plan: launches, their events, and the records made from these."""
