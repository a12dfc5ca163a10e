"""The one exception for input that we cannot work with."""


class InputError(Exception):
    """An error in one line: what is wrong, the value seen, where, and what to do. Kiviat exits with 2."""
