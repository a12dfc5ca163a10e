"""Prints results as text in the terminal."""
