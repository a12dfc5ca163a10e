"""Describes the host from /proc and /sys. Facts that are unavailable are None, never guessed."""

from kiviat.machine.host.description import describe_host

__all__ = ["describe_host"]
