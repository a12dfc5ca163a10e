"""Atomic writing: a file is either replaced completely or unchanged; devices are written through."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kiviat.record import InputError, replacing, write_whole, writing


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def drafts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    target = tmp_path / "new"
    before = os.umask(0o027)
    try:
        write_whole("text", target, "report")
    finally:
        os.umask(before)
    assert (target.read_text(), mode(target)) == ("text", 0o640)


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "old"
    target.write_text("old")
    target.chmod(0o604)
    with target.open() as reader:
        write_whole("new", target, "report")
        assert reader.read() == "old"
    assert (target.read_text(), mode(target), drafts(tmp_path)) == ("new", 0o604, [])


def test_a_link_is_followed(tmp_path: Path) -> None:
    """Writing to a symbolic link replaces its target.

    It once replaced the link itself.
    """
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/file")
    for text in ("first", "second"):  # a dangling link, then a link to a file
        write_whole(text, tmp_path / "link", "report")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "file").read_text() == text


def test_a_device_is_written_through(tmp_path: Path) -> None:
    """Writing to a device writes through.

    `kiviat report -o /dev/null` once replaced /dev/null by a file of 5 MB.
    """
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:  # a user other than root cannot replace devices anyway
        device = Path(os.devnull)
    write_whole("text", device, "report")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert drafts(tmp_path) == []


def test_a_full_device_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="the report cannot be written to /dev/full: No space left on device"
    ):
        write_whole("text", Path("/dev/full"), "report")


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_whole("text", pipe, "report")
    reader.join()
    assert heard == ["text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_output_to_dev_stdout_is_appended(tmp_path: Path) -> None:
    """Writing to /dev/stdout appends to a redirected file instead of truncating or replacing it."""
    words = "write_whole('b', Path('/dev/stdout'), 'report')"
    code = f"from kiviat.record import write_whole; from pathlib import Path; print('a'); {words}; print('c')"
    with (tmp_path / "out").open("w") as out:
        out.write("before\n")
        out.flush()
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\na\nbc\n"


@pytest.mark.parametrize("name", ["folder", "link", "nowhere/x", "file/x", "round", "x" * 300])
def test_where_no_file_can_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "file").write_text("old")
    with pytest.raises(InputError, match=r"the report cannot be written to .*; name another file") as refusal:
        write_whole("text", tmp_path / name, "report")
    assert "\n" not in str(refusal.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "link", "round"]
    assert (tmp_path / "file").read_text() == "old"
    assert not list((tmp_path / "folder").iterdir())


@pytest.fixture(params=["unnamed", "named"])
def draft(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kind of draft that becomes the output; not all file systems have files without a name."""
    if request.param == "named":
        monkeypatch.setattr(writing, "_unnamed", lambda folder: None)
    return str(request.param)


def test_a_draft_has_no_name_before_it_is_whole(tmp_path: Path, draft: str) -> None:
    with replacing(tmp_path / "file") as file:
        file.write(b"whole")
        assert len(drafts(tmp_path)) == (draft == "named")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"whole"]


def test_a_killed_process_leaves_nothing_of_an_output(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    program = (
        "import os, signal, sys, pathlib; from kiviat.record import replacing\n"
        "with replacing(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(target)])
    assert (done.returncode, target.read_text(), drafts(tmp_path)) == (-9, "old", [])


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_of_what_was_not_finished(
    tmp_path: Path, draft: str, error: type[BaseException]
) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(error), replacing(target) as file:
        file.write(b"half")
        raise error
    assert (target.read_text(), drafts(tmp_path)) == ("old", [])


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    target = tmp_path / os.fsdecode(b"caf\xe9")
    write_whole(f"of {target.name}", target, "report")
    assert target.read_text() == r"of caf\udce9"
