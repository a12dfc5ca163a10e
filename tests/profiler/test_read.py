"""Profile files: version 1 can be read, and decompression is limited."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kiviat.analysis.profiles.mpi_time import use_of
from kiviat.cli.main import main
from kiviat.profile import DISTANCES, read_profile
from kiviat.profile.waits import unpacked
from kiviat.record import InputError

FIELDS = (
    *("magic", "rank", "ranks", "stage", "inside", "first_ticks", "first_ns", "last_ticks", "last_ns"),
    *("started_s", "counter", "threads", "socket", "node", "lost_slots", "lost_persistent", "unseen_sends"),
    *("in_memory", "interfaces", "sent_before", "received_before", "sent_after", "received_after"),
    *("crossing", "latest", "resident"),
)
TEXTS = ("host", "cpus", "library", "program")
SIZES = 36
SLOT = 3 + 3 * 4 + SIZES
SLOTS_AT = len(FIELDS) + len(TEXTS)
GROUPS_AT = SLOTS_AT + SLOT
ROWS_AT = GROUPS_AT + 6


def _first_version(
    mpi_ns: int, fields: dict[str, int], changes: dict[str, object]
) -> tuple[bytes, NDArray[np.uint64]]:
    """Return layout and words of one rank that runs for a second and sends 8 B within its socket."""
    layout = {
        "format": "kiviat.profile/1",
        "fields": FIELDS,
        "texts": {name: [len(FIELDS) + at, 1] for at, name in enumerate(TEXTS)},
        **{"slots_at": SLOTS_AT, "slots": 1, "slot_words": SLOT},
        **{"groups_at": GROUPS_AT, "groups": 1, "group_words": 6, "rows_at": ROWS_AT, "rows": 4},
        **{"size_classes": SIZES, "calls": ["Send"], **changes},
    }
    words = np.zeros(ROWS_AT + 8, dtype=np.uint64)
    told = {"ranks": 1, "last_ticks": 10**9, "last_ns": 10**9, "threads": 3, "node": 7, **fields}
    for name, value in told.items():
        words[FIELDS.index(name)] = value
    slot = {0: 1, 1: 1, 5: mpi_ns, 9: 8, 13: 1}  # key, calls, ticks, bytes and messages
    for at, value in slot.items():
        words[SLOTS_AT + at] = value
    line = json.dumps(layout, separators=(",", ":")).encode()
    return line, words


def write_first_version(path: Path, mpi_ns: int, **changes: object) -> None:
    """Write a merged file in format version 1."""
    line, words = _first_version(mpi_ns, {"stage": 2}, changes)
    octets, before = bytearray(), 0
    places = np.flatnonzero(words).tolist()
    numbers = [len(places)]
    for place in places:
        numbers += [place - before, int(words[place])]
        before = place
    for number in numbers:
        rest = number
        while rest >= 0x80:
            octets.append(rest & 0x7F | 0x80)
            rest >>= 7
        octets.append(rest)
    second = {"ranks": 1, "bytes": len(octets), "adler32": zlib.adler32(octets)}
    path.write_bytes(b"\n".join((line, json.dumps(second).encode(), octets)))


def write_first_state(path: Path, started_s: int) -> None:
    """Write the file of a rank that has not reached MPI_Finalize, in format version 1."""
    line, words = _first_version(250_000_000, {"stage": 1, "started_s": started_s}, {})
    path.write_bytes(words.tobytes() + line)


def test_the_first_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version 1 has no times of threads, so a time in MPI that exceeds the total time is shown as unknown,
    not as 398.6 %.
    """
    path = tmp_path / "a.profile"
    write_first_version(path, 250_000_000)
    use = use_of(read_profile(path))
    assert use.share == pytest.approx(0.25)
    assert dict(zip(DISTANCES, use.bytes, strict=True))["same socket"] == 8
    write_first_version(path, 3_986_000_000)
    assert np.isnan(use_of(read_profile(path)).share)
    assert main(["show", str(path)]) == 0
    assert "398.6" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"slots_at": 1 << 40}, "slots_at is 1099511627776"),
        ({"slots": 2}, "its first line does not describe a profile"),
        ({"calls": [[]]}, "calls is a list of 0, not a text"),
        ({"fields": ["rank"]}, "fields lacks magic"),
    ],
)
def test_a_first_line_that_describes_no_profile(changes: dict[str, object], why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    write_first_version(path, 1, **changes)
    with pytest.raises(InputError, match=f"is damaged: {why}"):
        read_profile(path)


def test_waits_that_unpack_to_more_than_there_can_be() -> None:
    packed = zlib.compress(b'{"rank":[' + b"0," * ((1 << 25) + 9) + b"0]}")
    with pytest.raises(ValueError, match=r"they unpack to more than the 64 MiB that [0-9.]* KiB can hold"):
        unpacked(base64.b64encode(packed).decode(), 8)
