"""Reading of untrusted text files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.record.files import IrregularFileError, read_text


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    """Reading a small file takes little memory.

    Memory for the largest permitted file, 1 GiB, was once allocated first, so no command could read a run
    where memory is limited.
    """
    (tmp_path / "file").write_text("small")
    program = (
        "import resource, sys; from pathlib import Path; from kiviat.record.files import read_text;"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); print(read_text(Path(sys.argv[1])))"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "file"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("small\n", "")


def test_line_ends_of_other_systems_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read_text(tmp_path / "file") == "one\ntwo\n"


def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    """Devices and pipes are refused, because reading them may never end, such as `--place file:/dev/zero`."""
    os.mkfifo(tmp_path / "pipe")
    irregular = {
        "a device or socket": Path("/dev/zero"),
        "a FIFO": tmp_path / "pipe",
        "a folder": tmp_path,
    }
    for kind, path in irregular.items():
        with pytest.raises(IrregularFileError, match=f"it is {kind} instead of a file"):
            read_text(path)


def test_too_large_files_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 31)
    with pytest.raises(OSError, match="it is larger than 1024 MiB"):
        read_text(tmp_path / "file")
