"""Processes of launches: starting, signals, ending, and what they leave behind."""
