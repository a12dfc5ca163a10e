"""Independent reader of a run's records: the bytes of records.jsonl, line by line.

It uses none of Kiviat's code, so it detects any record that Kiviat loses.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RECORDS = "records.jsonl"
RUN = "run.json"


@dataclass
class Ledger:
    """Tracks the records of one run through an open directory descriptor, so it follows the folder if it is
    moved. `seen` lists all complete lines that the file has ever contained, in order.
    """

    folder: int
    seen: list[bytes] = field(default_factory=list)
    lost: list[bytes] = field(default_factory=list)
    _looked: tuple[int, int, int] | None = None

    @classmethod
    def of(cls, folder: Path) -> Ledger:
        return cls(os.open(folder, os.O_PATH | os.O_DIRECTORY))

    def look(self) -> None:
        """Read the file: add new lines to `seen`, and lines that have disappeared or changed to `lost`."""
        try:
            now = os.stat(RECORDS, dir_fd=self.folder)
        except FileNotFoundError:
            self._compare([])
            return
        state = (now.st_ino, now.st_size, now.st_mtime_ns)
        if state != self._looked:
            self._looked = state
            with os.fdopen(os.open(RECORDS, os.O_RDONLY, dir_fd=self.folder), "rb") as file:
                self._compare(whole_lines(file.read()))

    def _compare(self, lines: list[bytes]) -> None:
        self.lost = [
            line for place, line in enumerate(self.seen) if place >= len(lines) or lines[place] != line
        ]
        if not self.lost:
            self.seen = lines

    def path(self) -> Path:
        """Return the current path of the run's folder."""
        return Path(f"/proc/self/fd/{self.folder}").readlink()


def whole_lines(data: bytes) -> list[bytes]:
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def run_json(folder: Path) -> dict[str, Any]:
    """Return the content of run.json; an empty dictionary if it is missing or invalid."""
    with suppress(OSError, ValueError):
        run: dict[str, Any] = json.loads((folder / RUN).read_text())
        return run
    return {}


@dataclass(frozen=True)
class Finished:
    """The fields of a record that the campaign uses."""

    repetition: int
    case: str
    outcome: str
    reason: str | None

    @property
    def key(self) -> tuple[int, str]:
        return self.repetition, self.case


def finished(folder: Path) -> list[Finished]:
    """Return the records of a run in file order."""
    repetition = {launch["index"]: launch["repetition"] for launch in run_json(folder)["launches"]}
    try:
        lines = whole_lines((folder / RECORDS).read_bytes())
    except FileNotFoundError:
        lines = []
    records = [json.loads(line) for line in lines]
    return [
        Finished(repetition[one["launch"]], one["case"], one["outcome"], one["reason"]) for one in records
    ]
