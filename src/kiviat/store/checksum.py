"""A checksum for each line of records.jsonl: what is read is what was written.

The last member of a line, "crc32", is the CRC-32 of all bytes before it, so that neither the order of keys
nor the form of numbers matters to those who verify it. It finds every change of one or two bits and of up to
32 bits in a row, and all but one of four thousand million other damages, at a gigabyte a second. It is no
defence against forgery, nor does it find lines that are missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from kiviat.record import RECORD_SCHEMA

_LENGTH = len(',"crc32":"01234567"}\n')


def seal(record: Mapping[str, Any]) -> bytes:
    """The line of this record, in the newest schema."""
    data = {key: value for key, value in record.items() if key != "crc32"} | {"schema": RECORD_SCHEMA}
    line = json.dumps(data, separators=(",", ":"), allow_nan=False)[:-1].encode()
    return line + _end(line)


def is_intact(line: bytes) -> bool:
    """False also for lines without a checksum."""
    return line.endswith(_end(memoryview(line)[:-_LENGTH]))


def _end(line: bytes | memoryview) -> bytes:
    return b',"crc32":"%08x"}\n' % crc32(line)
