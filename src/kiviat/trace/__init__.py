"""Traces of MPI programs: the MPI calls of all ranks and the computation time between them."""

from kiviat.trace.files import check, is_trace, read_trace, unpack
from kiviat.trace.pack import pack
from kiviat.trace.trace import RankTrace, Rate, Trace

__all__ = ["RankTrace", "Rate", "Trace", "check", "is_trace", "pack", "read_trace", "unpack"]
