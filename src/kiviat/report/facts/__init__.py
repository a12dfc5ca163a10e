"""Facts of runs in words, for all pages."""
