"""A run being written: created or reopened, appended to, finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Any

from kiviat import __version__
from kiviat.record import RUN_SCHEMA, InputError, NotStartedError, Record
from kiviat.record.plain import plain_name
from kiviat.record.run import Run
from kiviat.record.valid import first_wrong, parse_json
from kiviat.store.check import refuse_damaged
from kiviat.store.checksum import seal
from kiviat.store.files import RECORDS_FILE, read_run_json, replace_run
from kiviat.store.held import LOST, HeldFolder, is_at
from kiviat.store.lock import Writer, lock, unlock
from kiviat.store.tail import torn_tail


class OtherPlanError(NotStartedError):
    """A run cannot be continued, because it has another plan, such as that of another version of Kiviat."""


class RunDirectory:
    """A run being written. Leaving its `with` block without `finish` marks it as interrupted."""

    def __init__(
        self, path: Path, document: dict[str, Any], done: frozenset[tuple[int, str]], writer: Writer
    ) -> None:
        self.path = path
        self._writer = writer
        self._document = document  # content of run.json, including keys of other versions
        self.done = done
        self._records = os.open(path / RECORDS_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._synced = self._size()
        self._held = HeldFolder(path)

    @classmethod
    def create(
        cls,
        home: Path,
        name: str,
        *,
        machine: Mapping[str, Any],
        plan: Mapping[str, Any] | None,
        substrate: str = "native",
        clock: str = "wall",
        where: Mapping[str, Any] | None = None,
        benchmarks: Mapping[str, Any] | None = None,
        launches: Sequence[Mapping[str, Any]] = (),
    ) -> RunDirectory:
        """Create a run below `home` and return it; its identifier consists of the time and `name`.

        `launches` have ended already.
        """
        now = datetime.now(UTC)
        path = _new_directory(home, f"{now:%Y%m%d-%H%M%S}-{plain_name(name)}")
        try:
            document: dict[str, Any] = {
                "schema": RUN_SCHEMA,
                "id": path.name,
                "state": "running",
                "version": __version__,
                "created": _timestamp(now),
                "finished": None,
                "substrate": substrate,
                "clock": clock,
                "where": dict(where or {}),
                "plan": plan,
                "machine": machine,
                "benchmarks": dict(benchmarks or {}),
                "launches": [dict(launch) for launch in launches],
            }
            _refuse_unreadable(document)
            writer = lock(path)
            replace_run(path, document)
            return cls(path, document, frozenset(), writer)
        except OSError as error:
            rmtree(path, ignore_errors=True)
            raise _no_run(home, error) from None
        except BaseException:  # also a signal, which would leave an empty folder
            rmtree(path, ignore_errors=True)
            raise

    @classmethod
    def reopen(cls, path: Path, plan_hash: str, job: str = "") -> RunDirectory:
        """Reopen an interrupted run with the same plan, in a scheduler's `job` if any.

        Drops an incomplete final line.
        """
        _resumable(path, plan_hash)
        try:
            writer = lock(path, job)
        except OSError as error:
            raise InputError(
                f"{path} cannot be written: {error.strerror}; no run can continue there"
            ) from None
        try:
            document = _resumable(
                path, plan_hash
            )  # read again, because another writer may have finished it meanwhile
            records = path / RECORDS_FILE
            if torn := torn_tail(records):
                os.truncate(records, torn.start)
            if records.exists():
                refuse_damaged(records, records)
            done = _done(records, Run.from_json(document))
            for launch in document["launches"]:
                if launch["outcome"] == "running":
                    launch |= {"outcome": "interrupted", "reason": "kiviat was killed"}
                    rmtree(path / "launches" / str(launch["index"]), ignore_errors=True)
            document |= {"schema": RUN_SCHEMA, "state": "running", "finished": None}
            replace_run(path, document)
            return cls(path, document, done, writer)
        except BaseException:
            unlock(path, writer)
            raise

    @property
    def id(self) -> str:
        """Identifier of the run."""
        identifier: str = self._document["id"]
        return identifier

    @property
    def run(self) -> Run:
        """The run as written so far."""
        return Run.from_json(self._document)

    def append(self, record: Record) -> None:
        """Write one record; `sync` puts it on the disk. A failure leaves the records before it."""
        line = seal(record.to_json())
        size = self._size()
        try:
            _write_all(self._records, line)
        except OSError:
            self._cut(size)
            raise
        self._refuse_vanished()

    def append_all(self, records: Iterable[Record]) -> None:
        """Write and sync records that can be made again."""
        _write_all(self._records, b"".join(seal(record.to_json()) for record in records))
        self._refuse_vanished()
        self.sync()

    def sync(self) -> None:
        """Put the appended records on the disk. If that fails, the file ends with the last that is there.

        It takes milliseconds, in which processors may be missing to ranks: once for many records is better.
        """
        if (size := self._size()) == self._synced:
            return
        try:
            os.fsync(self._records)
        except OSError:
            self._cut(self._synced)
            raise
        self._synced = size

    def _size(self) -> int:
        return os.fstat(self._records).st_size

    def _cut(self, size: int) -> None:
        with suppress(OSError):
            os.ftruncate(self._records, size)

    def set_launch(self, launch: Mapping[str, Any]) -> None:
        """Sync the records; add a launch, or replace the launch of the same index.

        Raise InputError if it breaks the schema.
        """
        _refuse_unreadable({**self._document, "launches": [launch]})
        launches = self._document["launches"]
        launches[launch["index"] : launch["index"] + 1] = [dict(launch)]
        self._refuse_vanished()
        self.sync()
        replace_run(self._held.here, self._document)

    def finish(self, state: str = "complete") -> None:
        """Write state and time to run.json. Raise InputError if the folder is no longer at its path."""
        self._refuse_vanished()
        self._finish(state)

    def _finish(self, state: str) -> None:
        self.sync()
        self._document["state"] = state
        self._document["finished"] = _timestamp(datetime.now(UTC))
        replace_run(self._held.here, self._document)

    def close(self) -> None:
        """Release the lock; records can no longer be appended."""
        os.close(self._records)
        unlock(self._held.here, self._writer)
        self._held.close()

    def _refuse_vanished(self) -> None:
        """Raise InputError if the file being written is no longer the one at `path`."""
        self._held.refuse_vanished()
        if not is_at(self._records, self.path / RECORDS_FILE):
            raise InputError(
                f"{self.path / RECORDS_FILE} was deleted or replaced while the run was going on; {LOST}"
            )

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._document["state"] == "running":
                with suppress(OSError):
                    self._finish("interrupted")
                if isinstance(error, Exception):
                    self._refuse_vanished()  # reports this reason, whatever the error is
        finally:
            self.close()


def _timestamp(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _new_directory(home: Path, identifier: str) -> Path:
    try:
        home.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, 1000):
            path = home / (identifier if attempt == 1 else f"{identifier}-{attempt}")
            with suppress(FileExistsError):
                path.mkdir()
                return path
    except OSError as error:
        raise _no_run(home, error) from None
    raise InputError(f"{home} has a thousand runs from this second; try again in a second")


def _no_run(home: Path, error: OSError) -> InputError:
    return InputError(
        f"no run can be created in {home}: {error.strerror}; "
        "give a writable folder with room, by -o or in KIVIAT_RUNS"
    )


def _refuse_unreadable(document: Mapping[str, Any]) -> None:
    """Raise InputError for a run.json that no reader would accept, before it replaces the last good one."""
    try:
        wrong = first_wrong(parse_json(json.dumps(document)), "run")
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise InputError(
            f"the run would be unreadable: {wrong}; correct what has that value, such as the host's name, or "
            "report it as a fault of kiviat"
        )


def refuse_complete(run: Run) -> None:
    """Raise InputError if the run is complete and cannot be continued."""
    if run.state == "complete":
        raise InputError(f"run {run.id} is complete; there is nothing to resume")


def _resumable(path: Path, plan_hash: str) -> dict[str, Any]:
    document = read_run_json(path)
    run = Run.from_json(document)
    refuse_complete(run)
    theirs = run.plan and run.plan.hash
    if theirs != plan_hash:
        raise OtherPlanError(
            f"run {run.id} has plan {str(theirs)[:12]}, this one is {plan_hash[:12]}: "
            "resume with the options it was started with, or start a new run"
        )
    return document


def _write_all(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _done(records: Path, run: Run) -> frozenset[tuple[int, str]]:
    """Return the (repetition, case) pairs that have a record."""
    repetition = {launch.index: launch.repetition for launch in run.launches}
    done = set()
    if records.exists():
        with records.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = parse_json(line)
                    done.add((repetition[record["launch"]], record["case"]))
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError(
                        f"{records} line {number} is not a record of this run ({error!r}); "
                        "it cannot be resumed: start a new one"
                    ) from None
    return frozenset(done)
