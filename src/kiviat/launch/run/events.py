"""Reads events.jsonl while it grows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]


@dataclass
class Tail:
    """Reads complete lines as they arrive.

    `torn` keeps unfinished ones and those that are not JSON objects.
    """

    path: Path
    torn: list[str] = field(default_factory=list)
    _position: int = 0
    _rest: bytes = b""

    def read(self) -> Iterator[Event]:
        """Yield the events of lines completed since the last call; unreadable lines go to `torn`."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                new = file.read()
        except FileNotFoundError:
            return
        self._position += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in lines:
            event = _parsed(line)
            if event is None:
                self.torn.append(_excerpt(line))
            else:
                yield event

    def finish(self) -> Iterator[Event]:
        """Yield the last events, after all writers have ended. A line without a line feed was cut off."""
        yield from self.read()
        if self._rest:
            self.torn.append(_excerpt(self._rest))
            self._rest = b""

    @property
    def trouble(self) -> str | None:
        """Return the last unreadable line, shortened; None if every line was an event."""
        return f"torn event: {self.torn[-1]}" if self.torn else None


def _parsed(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _excerpt(line: bytes) -> str:
    return line[:80].decode(errors="replace")
