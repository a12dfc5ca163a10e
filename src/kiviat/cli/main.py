"""Entry point of all commands.

Nothing is imported here: until kiviat's signal handlers are installed, Ctrl-C meets Python's own, which
prints a traceback.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """The exit code, see kiviat.cli.command."""
    try:
        from kiviat.cli.command import carry_out

        return carry_out(arguments)
    except KeyboardInterrupt:  # handlers would have turned it into words
        import os

        os.write(2, b"kiviat: interrupted\n")
        return 130


if __name__ == "__main__":
    import sys

    sys.exit(main())
