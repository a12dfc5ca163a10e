"""Processes of launches: starting them, signals, ending them, notes for cleaning up."""
