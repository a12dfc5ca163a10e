"""Share of MPI in the run time, by call and distance, compared with values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kiviat.analysis.profiles.mpi_time import pattern_of, size_range, use_of
from kiviat.analysis.profiles.wait_states import wait_use_of
from kiviat.profile import DISTANCES, Traffic

from .made_up import halo_profile, halo_waits


def test_shares_and_calls() -> None:
    use = use_of(halo_profile())
    # Of 10 s, ranks spend 0.1 s in MPI_Isend, 0.5 s in MPI_Allreduce, and 1.0 … 2.5 s in MPI_Waitall.
    assert use.share == pytest.approx((0.1 + 0.5 + 1.75) / 10)
    assert (use.least, use.most) == pytest.approx((0.16, 0.31))
    assert [call.name for call in use.calls] == ["MPI_Waitall", "MPI_Allreduce", "MPI_Isend"]
    waits = use.calls[0]
    assert (waits.mean_s, waits.least_s, waits.most_s) == pytest.approx((1.75, 1.0, 2.5))
    assert waits.of_mpi == pytest.approx(1.75 / 2.35)
    assert use.seconds == pytest.approx((0, 0.1, 0, 0, 2.25))
    assert use.nodes == 4
    # Each row of the 4 × 4 torus is a node, so two of four neighbours are on other nodes.
    assert use.bytes[DISTANCES.index("other node")] == 16 * 2 * 100_000 + 16 * 15 * 100
    assert use.carried == 20_000_000


def test_ranks_that_left_nothing_are_no_zeros() -> None:
    seen = np.ones(16, dtype=np.bool_)
    seen[3] = False
    seconds = np.where(seen, 10.0, np.nan)
    whole = halo_profile()
    kept = whole.calls.rank != 3
    calls = type(whole.calls)(**{name: getattr(whole.calls, name)[kept] for name in whole.calls.__slots__})
    use = use_of(halo_profile(seen=seen, ended=np.zeros(16, dtype=np.bool_), seconds=seconds, calls=calls))
    assert use.calls[2].least_s == pytest.approx(0.1)  # MPI_Isend; ranks without calls do not count as 0
    assert use.nodes is None
    assert use.remarks[0] == "1 of 16 ranks left nothing"
    assert use.remarks[1].startswith("15 of 16 ranks did not reach MPI_Finalize")


def test_who_was_inside_of_what() -> None:
    use = use_of(halo_profile(inside={2: "MPI_Recv", 5: "MPI_Recv", 7: "MPI_Send"}))
    assert "inside of MPI_Recv when it ended: ranks 2, 5" in use.remarks
    assert "inside of MPI_Send when it ended: rank 7" in use.remarks


def test_the_pattern_of_messages_and_of_collectives() -> None:
    messages, collectives, nodes = pattern_of(halo_profile())
    assert messages == "Messages, 99.6 % of the bytes. All of them: nearest neighbours in a 4 × 4 torus."
    assert "all-to-all" in collectives
    assert nodes == "50 % of the bytes go between nodes."


def test_collectives_that_are_not_described_count_among_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pairs of collectives, messages were once said to be all of the bytes."""
    profile = halo_profile()
    assert profile.collective_bytes == profile.collective.bytes.sum() > 0
    monkeypatch.setattr("kiviat.analysis.profiles.mpi_time.MOST_PAIRS", 0)
    collectives, messages, nodes = pattern_of(profile)
    assert collectives == "Collectives have too many pairs of ranks to be described."
    assert messages.startswith("Messages, 99.6 % of the bytes. ")
    assert nodes == "50 % of the bytes in messages go between nodes."


def test_bytes_of_mpi_get_flow_to_the_caller() -> None:
    fetched = Traffic.of_entries(16, [(0, 5, 2, 70)])
    traffic = halo_profile(fetched=fetched).traffic(collectives=False).dense_bytes()
    assert traffic[5, 0] == 70
    assert traffic[0, 5] == 0


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, ""),
        ({0: 3}, "0 B"),
        ({4: 1}, "8 – 16 B"),
        ({0: 1, 11: 5}, "0 B – 2 KiB, mostly 1 – 2 KiB"),
        ({3: 9, 35: 1}, "from 4 B"),
    ],
)
def test_sizes_in_words(counts: dict[int, int], words: str) -> None:
    assert size_range([counts.get(size, 0) for size in range(36)]) == words


def test_waiting_of_all_time_and_for_whom() -> None:
    use = wait_use_of(halo_profile(waits=halo_waits()))
    assert use is not None
    assert use.mean_s == pytest.approx(15 * 0.4 / 16)
    assert use.of_time == pytest.approx(15 * 0.4 / 160)
    assert (use.least, use.most) == (pytest.approx(0.01), pytest.approx(0.04))
    assert use.error_s == pytest.approx(15 * 0.001 / 16)
    assert [(one.call, one.kind, one.waits) for one in use.calls] == [
        ("MPI_Allreduce", "imbalance", 1500),
        ("MPI_Waitall", "late sender", 1500),
    ]
    assert (use.causes[0].rank, use.causes[0].part) == (15, pytest.approx(0.75))
    assert len(use.pairs) == 20 and {one.cause for one in use.pairs[:15]} == {15}
    assert use.pairs[0].most == "MPI_Allreduce, imbalance"
    assert wait_use_of(halo_profile()) is None
