"""Timelines of times that are known, as numbers, as a drawing and as trace events."""

from __future__ import annotations

import io
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kiviat.profile import chrome_trace
from kiviat.profile.chrome_trace import write_chrome_trace
from kiviat.profile.timeline import Timeline, packed, timeline_of, unpacked
from kiviat.profile.wait_states import each_wait, waits_in
from kiviat.report.profile.timeline import timeline_svg
from kiviat.trace import read_trace
from kiviat.trace.layout import Layout
from kiviat.trace.stamps import Recording, read_stamps
from kiviat.trace.trace import RankTrace, Trace
from tests.fuzz.streams import checked

from .recorded import Call, call, isend, recv, send, write_rank


def _recorded(folder: Path, *ranks: list[Call]) -> Recording:
    for rank, calls in enumerate(ranks):
        write_rank(folder, rank, len(ranks), calls)
    recording = read_stamps(folder)
    assert recording is not None
    return recording


def _late(folder: Path) -> Recording:
    """Rank 1 waits from 10 to 60 ms for rank 0, which computes; both work in MPI until 100 ms."""
    return _recorded(
        folder, [call(0, 1, isend(1, 0, 5)), call(60, 100, send(1))], [call(10, 100, recv(0), number=1)]
    )


def test_shares_of_intervals_add_up_to_the_time_of_calls(tmp_path: Path) -> None:
    _late(tmp_path)
    _, found = waits_in(tmp_path)
    assert found is not None and (found.rows, found.elapsed_s) == (2, pytest.approx(0.1))
    interval_s = found.elapsed_s / found.in_mpi.shape[1]
    assert found.in_mpi.sum(axis=1) * interval_s == pytest.approx([0.041, 0.090], rel=1e-6)
    assert found.waiting.sum(axis=1) * interval_s == pytest.approx([0.0, 0.050], rel=1e-6)
    at = [round(one * found.in_mpi.shape[1]) for one in (0.2, 0.8)]
    assert found.waiting[1, at].tolist() == [1.0, 0.0] and found.in_mpi[1, at].tolist() == [1.0, 1.0]
    (wait,) = found.longest
    assert (wait.rank, wait.cause, wait.call, wait.kind) == (1, 0, "MPI_Other", "late sender")
    assert (wait.begin_s, wait.end_s) == (pytest.approx(0.010), pytest.approx(0.060))


def test_many_ranks_share_rows_and_many_calls_intervals(tmp_path: Path) -> None:
    calls = [call(at, at + 0.5, ("barrier", 0, 0)) for at in range(1000)]
    recording = _recorded(tmp_path, *[calls] * 130)
    found = timeline_of(recording, each_wait(recording))
    assert found is not None and found.in_mpi.shape == (44, 240)
    assert (found.name(0), found.name(43)) == ("0–2", "129")
    assert float(found.in_mpi.mean()) == pytest.approx(0.5, abs=0.01)
    assert len(timeline_svg(found)) < 200_000


def test_a_profile_keeps_it(tmp_path: Path) -> None:
    _late(tmp_path)
    found = waits_in(tmp_path)[1]
    assert found is not None
    back = unpacked(packed(found), 2)
    assert np.abs(back.waiting - found.waiting).max() < 0.003
    assert (back.longest, back.elapsed_s, back.waits) == (found.longest, found.elapsed_s, 1)
    with pytest.raises(ValueError, match=r"timeline\.ranks"):
        unpacked(packed(found), 3)


def test_the_drawing_says_who_waits_for_whom(tmp_path: Path) -> None:
    _late(tmp_path)
    found = waits_in(tmp_path)[1]
    assert isinstance(found, Timeline)
    drawn = timeline_svg(found)
    assert "rank 1 waited 50.0 ms for rank 0 in MPI_Other: late sender" in drawn
    assert drawn.count('class="waiting"') == 1 and drawn.count('class="in-mpi"') == 2
    assert "<script" not in drawn and "ranks wait for others for 25 % of the time" in drawn


def _trace(ranks: int) -> Trace:
    layout = Layout((), {}, 0, 0, (), ("Call", "Other"), b"")
    each = [
        RankTrace(rank, f"n{rank}", rank, 1, 0.0, 0.1, {}, {}, None, 0, 0, 0, False, 0, 1, 1, 0, {})
        for rank in range(ranks)
    ]
    return Trace(Path("a.trace"), "a.out", "Open MPI", ranks, 0, None, each, 0, 0, layout)


def _events(recording: Recording) -> list[dict[str, Any]]:
    text = io.BytesIO()
    write_chrome_trace(text, _trace(recording.ranks), recording, each_wait(recording))
    events: list[dict[str, Any]] = json.loads(text.getvalue())["traceEvents"]
    return events


def check_trace_events(events: list[dict[str, Any]]) -> None:
    """The rules of the Trace Event Format for the phases M, X, s and f."""
    open_spans: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    flows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        assert event["ph"] in "MXsf" and event["name"], event
        assert type(event["pid"]) is int and type(event["tid"]) is int, event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name", "thread_sort_index") and event["args"]
            continue
        assert event["cat"] and event["ts"] >= 0, event
        if event["ph"] == "X":
            assert event["dur"] >= 0, event
            open_spans[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        else:
            flows[event["id"]].append(event)
    for spans in open_spans.values():  # complete events of a thread are nested or apart
        stack: list[float] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while stack and stack[-1] <= begin:
                stack.pop()
            assert not stack or end <= stack[-1] + 1e-6, (begin, end, stack)
            stack.append(end)
    for first, last in flows.values():  # an arrow lies within a slice at both of its ends
        assert (first["ph"], last["ph"], last["bp"]) == ("s", "f", "e")
        assert (first["name"], first["cat"]) == (last["name"], last["cat"]) and first["ts"] <= last["ts"]
        for tip in (first, last):
            spans = open_spans[tip["pid"], tip["tid"]]
            assert any(begin <= tip["ts"] < until for begin, until in spans), tip


def test_trace_events_keep_the_rules_of_the_format(tmp_path: Path) -> None:
    events = _events(_late(tmp_path))
    check_trace_events(events)
    names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {"rank 0", "rank 1"}
    (wait,) = [event for event in events if event["ph"] == "X" and event["cat"] == "wait"]
    assert (wait["name"], wait["ts"], wait["dur"]) == ("late sender", 10_000.0, 50_000.0)
    assert wait["args"] == {"rank": 1, "waits for": 0, "in": "MPI_Other"}
    (start, end) = [event for event in events if event["ph"] in "sf"]
    assert (start["tid"], end["tid"], start["ts"], end["ts"]) == (1, 2, 60_000.0, 60_000.0)


def test_nodes_are_numbered_by_their_first_rank(tmp_path: Path) -> None:
    """The recorder writes hashes of nodes, which are too large for process numbers in trace events."""
    seed = Path(__file__).parents[1] / "fuzz" / "seeds" / "calls.trace"
    first, _, words, streams = seed.read_bytes().split(b"\n", 3)
    about = json.loads(words)
    for one, node in zip(about["each"], ((1 << 64) - 1, 7, (1 << 64) - 2, 7), strict=True):
        one["node"] = node
    path = tmp_path / "hashes.trace"
    path.write_bytes(b"\n".join((first, *checked(about), streams)))
    trace = read_trace(path)
    assert [one.node for one in trace.each] == [0, 1, 2, 1] and trace.nodes == 3


def test_the_shortest_calls_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_trace, "MOST_CALLS", 2)
    text = io.BytesIO()
    recording = _late(tmp_path)
    assert write_chrome_trace(text, _trace(2), recording, each_wait(recording)) > 0
    written = json.loads(text.getvalue())
    calls = [event for event in written["traceEvents"] if event.get("cat") == "mpi"]
    assert len(calls) <= 2 and written["otherData"]["omitted"] == 3 - len(calls)
