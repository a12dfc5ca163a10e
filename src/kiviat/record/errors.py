"""The exception for invalid input."""


class InputError(Exception):
    """An error in one line: what is wrong, the value seen, where, and what to do. Kiviat exits with 2."""
