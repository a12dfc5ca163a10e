"""Findings: inputs that once failed, stored in `found/` and executed as tests.

A file is packed JSON: the format, the reader, the mutation, and the input's files by name. Bytes are encoded
as Latin-1, so that text stays readable.
"""

from __future__ import annotations

import gzip
import json
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.formats import FORMATS, Format, Input
from tests.fuzz.harness import wrong

FOUND = Path(__file__).with_name("found")


def execute(form: Format, one: Input, folder: Path | None = None) -> str | None:
    """Execute one input in a temporary folder; return a description of the failure, or None."""
    with TemporaryDirectory(prefix="kiviat-fuzz-", dir=folder) as place:
        inner = Path(place, "1", "2", "3")  # so that "../.." leads to nothing of others
        for name, content in one.files.items():
            path = inner / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return wrong(form.readers[one.reader], inner)


def smaller(form: Format, one: Input, seconds: float = 20.0) -> Input:
    """Return a smaller input, with fewer lines, that still fails; the search stops at the time limit."""
    files, ends = dict(one.files), time.monotonic() + seconds
    for name, content in one.files.items():
        part = len(content.splitlines()) // 2
        while part and time.monotonic() < ends:
            at = 0
            while at < len(lines := files[name].splitlines(keepends=True)) and time.monotonic() < ends:
                fewer = {**files, name: b"".join(lines[:at] + lines[at + part :])}
                if execute(form, replace(one, files=fewer)):
                    files = fewer
                else:
                    at += part
            part //= 2
    return replace(one, files=files)


def keep(form: Format, one: Input, folder: Path = FOUND) -> Path:
    """Write an input to a file of `folder`, named after a hash of its content."""
    files = {name: content.decode("latin-1") for name, content in one.files.items()}
    text = json.dumps({"format": form.name, "reader": one.reader, "told": one.told, "files": files}, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{form.name.replace(' ', '-')}-{sha256(text.encode()).hexdigest()[:8]}.json.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def kept() -> list[Path]:
    """Return the files of all findings."""
    return sorted(FOUND.glob("*.json.gz"))


def again(path: Path) -> str | None:
    """Execute a stored input; return a description of the failure, or None."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    files = {name: content.encode("latin-1") for name, content in data["files"].items()}
    return execute(FORMATS[data["format"]], Input(data["reader"], files, data["told"]))
