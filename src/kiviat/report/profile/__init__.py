"""The page about a profile."""
