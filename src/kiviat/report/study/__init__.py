"""The sections of the page about studies."""
