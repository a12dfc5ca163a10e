from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kiviat.record import InputError, schema
from kiviat.store import RunDirectory, read_run
from kiviat.store.directory import OtherPlanError
from kiviat.store.lock import Writer
from kiviat.store.names import summaries
from kiviat.store.read import load
from tests.store.made_up import MACHINE, PLAN, launch, metric, record


def test_written_files_conform_to_the_schemas(finished: RunDirectory) -> None:
    run = json.loads((finished.path / "run.json").read_text())
    assert list(Draft202012Validator(schema("run")).iter_errors(run)) == []
    assert run["state"] == "complete"
    validator = Draft202012Validator(schema("record"))
    lines = (finished.path / "records.jsonl").read_text().splitlines()
    assert len(lines) == 4
    for line in lines:
        assert list(validator.iter_errors(json.loads(line))) == []


def test_a_record_can_be_read_as_soon_as_it_is_written(run: RunDirectory) -> None:
    run.append(record(run.id))
    stored, rows, warnings = load(run.path)
    assert (stored.state, len(rows), warnings) == ("running", 1, [])


def test_launches_are_added_and_updated_by_their_index(run: RunDirectory) -> None:
    run.set_launch(launch(0, 0))
    run.set_launch(launch(1, 0))
    run.set_launch(launch(0, 0, outcome="failed", reason="killed"))
    assert [entry.outcome for entry in read_run(run.path).launches] == ["failed", "running"]


def test_nothing_unreadable_is_written(home: Path, run: RunDirectory) -> None:
    """A lone surrogate in a host name, or a seed of 70 bits, once made a run unreadable."""
    run.set_launch(launch(0, 0))
    bad = launch(1, 1, ranks=[{"rank": 0, "host": "\ud800", "node": 0}])
    with pytest.raises(InputError, match=r"unreadable: launches\[0\].ranks\[0\].host is '\\ud800', which"):
        run.set_launch(bad)
    assert len(read_run(run.path).launches) == 1
    with pytest.raises(InputError, match=r"unreadable: plan.definition.seed is .* 64 bits"):
        RunDirectory.create(home, "other", machine=MACHINE, plan={**PLAN, "definition": {"seed": 2**70}})
    assert list(home.iterdir()) == [run.path]


def test_a_reader_sees_the_old_run_or_the_new_one(run: RunDirectory) -> None:
    with (run.path / "run.json").open() as old:
        run.set_launch(launch(0, 0))
        assert json.load(old)["launches"] == []
    assert len(read_run(run.path).launches) == 1


@pytest.mark.parametrize("by", ["files", "names"])
def test_a_run_that_ends_while_it_is_read_is_not_interrupted(
    by: str, home: Path, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer ends after run.json is read as "running", and before its lock is looked at."""

    def ends(path: Path) -> bool:
        if json.loads((path / "run.json").read_text())["state"] == "running":
            run.finish()
        return False

    monkeypatch.setattr(f"kiviat.store.{by}.has_living_writer", ends)
    states = {
        "files": lambda: [read_run(run.path).state],
        "names": lambda: [of.state for _, of in summaries(home)],
    }
    assert states[by]() == ["complete"]


def test_not_a_number_is_not_json(run: RunDirectory) -> None:
    with pytest.raises(ValueError, match="JSON"):
        run.append(record(run.id, metrics=(metric(mean=float("nan")),)))
    assert (run.path / "records.jsonl").read_bytes() == b""


def test_a_signal_during_creation_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kiviat.store.directory.replace_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        RunDirectory.create(tmp_path, "made-up", machine=MACHINE, plan=PLAN)
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_is_kept_and_the_rest_can_be_resumed(run: RunDirectory) -> None:
    with pytest.raises(KeyboardInterrupt), run:
        run.set_launch(launch(0, 0))
        run.append(record(run.id))
        folder = run.path / "launches/0"
        folder.mkdir(parents=True)
        raise KeyboardInterrupt
    assert read_run(run.path).state == "interrupted"

    with RunDirectory.reopen(run.path, PLAN["hash"]) as again:
        assert again.done == {(0, "pingpong/ranks=2/bytes=8")}
        assert again.run.launches[0].outcome == "interrupted"
        assert not folder.exists(), "of a kiviat that was killed it stayed for ever"
        again.set_launch(launch(1, 1))
        again.append(record(run.id, launch=1))
        again.finish()
    stored, rows, warnings = load(run.path)
    assert (stored.state, len(rows), warnings) == ("complete", 2, [])


def test_continued_runs_keep_unknown_fields(run: RunDirectory) -> None:
    """Fields of run.json that this version does not know are kept when a run is continued."""
    run.set_launch({**launch(0, 0, outcome="ok", exit=0), "later": [1, {"a": None}]})
    run.finish("interrupted")
    run.close()
    before = (run.path / "run.json").read_text()
    RunDirectory.reopen(run.path, PLAN["hash"]).finish("interrupted")
    after = (run.path / "run.json").read_text()
    assert [line for line in before.splitlines() if '"finished"' not in line] == [
        line for line in after.splitlines() if '"finished"' not in line
    ]


def test_another_plan_cannot_resume_it(run: RunDirectory) -> None:
    run.close()
    with pytest.raises(OtherPlanError, match="has plan aaaaaaaaaaaa, this one is bbbbbbbbbbbb"):
        RunDirectory.reopen(run.path, "b" * 64)


def test_a_complete_run_is_immutable(finished: RunDirectory) -> None:
    with pytest.raises(InputError, match="is complete; there is nothing to resume"):
        RunDirectory.reopen(finished.path, PLAN["hash"])


def test_a_torn_record_is_measured_again(run: RunDirectory) -> None:
    """A torn record, left by a killed Kiviat process, is ignored, overwritten, and measured again."""
    run.set_launch(launch(0, 0))
    run.append(record(run.id))
    run.append(record(run.id, "barrier/ranks=2"))
    run.close()
    records = run.path / "records.jsonl"
    os.truncate(records, records.stat().st_size - 10)
    with RunDirectory.reopen(run.path, PLAN["hash"]) as again:
        assert again.done == {(0, "pingpong/ranks=2/bytes=8")}
        again.append(record(run.id, "barrier/ranks=2"))
        again.finish()
    _, rows, warnings = load(run.path)
    assert ([row.case for row in rows], warnings) == (["pingpong/ranks=2/bytes=8", "barrier/ranks=2"], [])


def test_a_run_with_lines_that_are_not_its_own_is_not_resumed(run: RunDirectory) -> None:
    run.append(record(run.id, launch=7))
    run.close()
    with pytest.raises(InputError, match=r"records.jsonl line 1 is not a record of this run"):
        RunDirectory.reopen(run.path, PLAN["hash"])
    assert not (run.path / "writer").exists()


def test_two_runs_of_the_same_second_have_two_names(home: Path) -> None:
    runs = [RunDirectory.create(home, "x", machine=MACHINE, plan=None) for _ in range(3)]
    assert len({run.id for run in runs}) == 3
    assert all(run.path.name == run.id for run in runs)


def test_a_name_is_no_path(home: Path) -> None:
    run = RunDirectory.create(home, "../my plan", machine=MACHINE, plan=None)
    assert run.path.parent == home
    assert run.id.endswith("-..-my-plan")


def test_a_run_has_only_one_writer(run: RunDirectory) -> None:
    with pytest.raises(InputError, match=f"is being written by process {os.getpid()}"):
        RunDirectory.reopen(run.path, PLAN["hash"])


def test_the_lock_of_a_killed_writer_is_stale(home: Path) -> None:
    code = (
        "import os, sys, signal; from pathlib import Path; from kiviat.store import RunDirectory;"
        "from store.made_up import MACHINE, PLAN;"
        "run = RunDirectory.create(Path(sys.argv[1]), 'x', machine=MACHINE, plan=PLAN);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    tests = Path(__file__).parents[1]
    killed = subprocess.run([sys.executable, "-c", code, home], cwd=tests)
    assert killed.returncode == -signal.SIGKILL
    (path,) = home.iterdir()
    assert (path / "writer").exists()
    stored, _, warnings = load(path)
    assert stored.state == "interrupted"
    assert warnings == [f"run {path.name} was interrupted; `kiviat run --resume {path}` goes on"]
    RunDirectory.reopen(path, PLAN["hash"]).close()


def change_lock(run: RunDirectory, **changes: Any) -> None:
    (file,) = (run.path / "writer").iterdir()
    file.rename(file.with_name(replace(Writer.parse(file.name), **changes).name))


def test_a_process_number_used_again_is_not_the_writer(run: RunDirectory) -> None:
    """A lock whose process number belongs to another process, with another start time, is stale."""
    change_lock(run, start="1")
    RunDirectory.reopen(run.path, PLAN["hash"]).close()


def test_a_writer_on_another_host_cannot_be_judged(run: RunDirectory) -> None:
    change_lock(run, host="elsewhere")
    with pytest.raises(InputError, match=r"on elsewhere; if that process is gone, delete .*writer"):
        RunDirectory.reopen(run.path, PLAN["hash"])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"no run can be created in .*file/runs: Not a directory; give"):
        RunDirectory.create(tmp_path / "file" / "runs", "x", machine=MACHINE, plan=None)


def test_a_full_disk_is_reported_and_leaves_complete_records(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk the run ends with a message, and the file contains only complete records."""
    run.set_launch(launch(0, 0))
    run.append(record(run.id))
    write, calls = os.write, []

    def half(handle: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left"), run:
        run.append(record(run.id, "barrier/ranks=2"))
    monkeypatch.undo()
    assert calls[1] < calls[0]
    stored, rows, warnings = load(run.path)
    assert (stored.state, len(rows)) == ("interrupted", 1)
    assert not any("ends within a record" in warning for warning in warnings)


def test_records_that_cannot_be_synced_are_dropped(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run.set_launch(launch(0, 0))
    run.append(record(run.id))
    run.sync()
    run.append(record(run.id, "barrier/ranks=2"))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), run:
        run.sync()
    monkeypatch.undo()
    assert len(load(run.path)[1]) == 1


def test_a_run_that_ends_has_synced_its_records(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    run.set_launch(launch(0, 0))
    run.append(record(run.id))
    monkeypatch.setattr(os, "fsync", synced.append)
    run.finish()
    assert synced[0] == run._records


def test_a_disk_that_is_full_from_the_start_keeps_no_half_run(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"no run can be created in .*: No space left on device; give"):
        RunDirectory.create(home, "x", machine=MACHINE, plan=None)
    assert list(home.iterdir()) == []


def test_a_device_that_is_always_full(home: Path) -> None:
    run = RunDirectory.create(home, "x", machine=MACHINE, plan=None)
    os.dup2(os.open("/dev/full", os.O_WRONLY), run._records)
    with pytest.raises(OSError, match="No space left"):
        run.append(record(run.id))


def test_a_failed_replacement_leaves_the_old_run(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        run.finish()
    monkeypatch.undo()
    assert read_run(run.path).state == "running"
    assert not list(run.path.glob("*.new"))


def test_records_keep_every_sample(run: RunDirectory) -> None:
    samples = tuple(1e-6 * (1 + k / 3) for k in range(1000))
    written = record(run.id, metrics=(metric(samples=samples),))
    run.append(written)
    line = (run.path / "records.jsonl").read_text()
    assert type(written).from_json(json.loads(line)) == written
    assert replace(written, case="x") != written


def vanish(run: RunDirectory, how: str) -> Path:
    """Delete, move or replace the run's folder; return its new path."""
    moved = run.path.with_name("moved")
    if how == "deleted":
        shutil.rmtree(run.path)
    elif how == "records deleted":
        (run.path / "records.jsonl").unlink()
    else:
        run.path.rename(moved)
        if how == "replaced":
            shutil.copytree(moved, run.path)
    return moved


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("deleted", "test was deleted while the run was going on; its records are lost"),
        ("records deleted", r"records.jsonl was deleted or replaced while the run .*; its records are lost"),
        ("moved", "test was moved to .*/moved while the run was going on, .* --resume .*/moved` goes on"),
        ("replaced", "test was moved to .*/moved while the run was going on"),
    ],
)
@pytest.mark.parametrize("step", ["append", "launch", "finish", "other"])
def test_a_run_whose_folder_vanishes_is_not_complete(
    run: RunDirectory, how: str, words: str, step: str
) -> None:
    """A run whose folder disappears is not reported as complete.

    The folder was once created again, and the run ended as complete without records.
    """
    with pytest.raises(InputError, match=words), run:
        run.set_launch(launch(0, 0))
        run.append(record(run.id))
        moved = vanish(run, how)
        if step == "append":
            run.append(record(run.id, "barrier/ranks=2"))
        elif step == "launch":
            run.set_launch(launch(1, 1))
        elif step == "finish":
            run.finish()
        else:
            raise OSError(errno.ENOENT, "No such file or directory", "launches")
    if moved.exists():
        with RunDirectory.reopen(moved, PLAN["hash"]) as again:
            assert len(again.done) == (2 if step == "append" else 1)
    if how in ("deleted", "moved"):
        assert not run.path.exists()


@pytest.mark.parametrize("name", ["run.json", "records.jsonl"])
@pytest.mark.parametrize("kind", ["a FIFO", "a folder"])
def test_pipes_are_refused_without_waiting(run: RunDirectory, name: str, kind: str) -> None:
    """A FIFO in place of a file is refused; opening it would wait for a writer for ever."""
    run.close()
    (run.path / name).unlink()
    os.mkfifo(run.path / name) if kind == "a FIFO" else (run.path / name).mkdir()
    with pytest.raises(InputError, match=f"{name} is {kind} instead of a file"):
        load(run.path)
    with pytest.raises(InputError, match=f"{name} is {kind} instead of a file"):
        RunDirectory.reopen(run.path, PLAN["hash"])


def test_unwritable_folders_are_refused_with_the_reason(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.close()

    def read_only(path: Path, *more: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", read_only)
    with pytest.raises(
        InputError, match="test cannot be written: Read-only file system; no run can continue there"
    ):
        RunDirectory.reopen(run.path, PLAN["hash"])
