"""The page about one or more runs."""
