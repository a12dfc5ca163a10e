"""Describes the machine we run on, from /proc and /sys. A fact that is not there is None, never a guess."""

from kiviat.machine.host.description import describe_host

__all__ = ["describe_host"]
