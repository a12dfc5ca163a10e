"""The one exception for input that we cannot work with."""


class InputError(Exception):
    """What is wrong, the value seen, where, and what to do: one line. The command line exits with 2."""
