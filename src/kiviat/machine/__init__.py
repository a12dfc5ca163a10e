"""Describes the host, and reads the files of modelled machines."""

from kiviat.machine.host.description import describe_host

__all__ = ["describe_host"]
