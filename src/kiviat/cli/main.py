"""Entry point of all commands.

Imports nothing at the top: until kiviat's signal handlers are installed, Ctrl-C is handled by Python, which
prints a traceback.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return the exit code (kiviat.cli.command)."""
    try:
        from kiviat.cli.command import carry_out

        return carry_out(arguments)
    except KeyboardInterrupt:  # arrived before kiviat's handlers were installed
        import os

        os.write(2, b"kiviat: interrupted\n")
        return 130


if __name__ == "__main__":
    import sys

    sys.exit(main())
