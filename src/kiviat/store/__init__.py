"""Writes, resumes, indexes, queries and exports the records of runs."""

from kiviat.store.directory import RunDirectory
from kiviat.store.files import read_run
from kiviat.store.held import HeldFolder
from kiviat.store.index import RunSummary
from kiviat.store.lock import forget_writer, refuse_living, writing_jobs
from kiviat.store.names import call_run, find_run, list_runs, runs_home, summaries

__all__ = [
    "HeldFolder",
    "RunDirectory",
    "RunSummary",
    "call_run",
    "find_run",
    "forget_writer",
    "list_runs",
    "read_run",
    "refuse_living",
    "runs_home",
    "summaries",
    "writing_jobs",
]
