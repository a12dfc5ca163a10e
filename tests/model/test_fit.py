"""From measured ping-pongs to a machine file that loads and names what was not measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.machine.modelled.machine import Machine, load_machine
from kiviat.model.fit import fit_level, waits_from, with_exchange
from kiviat.model.machine_file import Structure, machine_file
from kiviat.model.pairs import curves, level_of
from kiviat.record import InputError
from kiviat.record.run import Run
from tests.analysis.rows import curve
from tests.report.synthetic import with_launches
from tests.store.made_up import MACHINE

SIZES = [0, *(2**k for k in range(21))]
KNOWN = Structure(4, 1, 2, 10**9, 10**6, "MPICH", "run x", "made up, MPICH 4", collectives="mpich")


def line(latency_s: float, bandwidth: float, **axes: int) -> list[Any]:
    points = [(size, latency_s + size / bandwidth) for size in SIZES]
    return curve(points, axes=dict(axes))


def run_of(**nodes: int) -> Run:
    """A run in which each rank r0, r1 … is on the given node."""
    ranks = [
        {"rank": int(name[1:]), "host": f"n{node}", "node": node, "sockets": "0"}
        for name, node in nodes.items()
    ]
    return with_launches([{"ranks": ranks}], run="x", machine={**MACHINE, "sockets": 1})


def written(tmp_path: Path, structure: Structure, **levels: Any) -> Machine:
    path = tmp_path / "made-up.toml"
    path.write_text(machine_file("made-up", structure, levels))
    return load_machine(path)


def test_a_line_is_found_again() -> None:
    fitted = fit_level(line(5e-6, 1e9))
    assert [(one.from_bytes, one.latency_s, one.bandwidth) for one in fitted.lines] == [
        (0, pytest.approx(5e-6), pytest.approx(1e9))
    ]
    assert fitted.max_error < 1e-6


def test_a_protocol_switch_begins_a_segment_above_the_last_size_before_it() -> None:
    points = [(size, (2e-6 if size <= 4096 else 9e-6) + size / 1e9) for size in SIZES]
    fitted = fit_level(curve(points))
    assert [one.from_bytes for one in fitted.lines] == [0, 4097]
    assert fitted.lines[1].latency_s == pytest.approx(9e-6, rel=0.01)
    assert fitted.waits_from == 4097


def test_the_file_has_the_smallest_message_that_waits(tmp_path: Path) -> None:
    """Messages of exactly the eager limit were once simulated as if they waited for their receiver."""
    points = [(size, (2e-6 if size <= 4096 else 9e-6) + size / 1e9) for size in SIZES]
    eager = written(tmp_path, KNOWN, network=fit_level(curve(points))).numbers["mpi.eager"]
    assert (eager.value, eager.confidence) == (4097, "calibrated")


def test_senders_of_single_messages_show_from_where_on_they_wait() -> None:
    copied = [(size, 10e-6 + size / 2e9) for size in SIZES if size <= 16384]
    waiting = [(size, 20e-6 + size / 1e6) for size in (20000, 32768, 65536)]
    assert waits_from(curve(copied + waiting)) == 20000
    assert waits_from(curve([(size, 10e-6 + size / 2e9) for size in SIZES])) is None
    one_slow_size = [(size, 90e-6 if size == 4096 else seconds) for size, seconds in copied]
    assert waits_from(curve(one_slow_size)) is None
    assert waits_from([]) is None


def test_pingpings_say_how_long_a_rank_is_busy_when_a_message_has_left() -> None:
    """Sizes that spend most of their time on the link take the value of the longest other size."""
    link = 100e6
    points = [(size, (5e-6 if size <= 128 else 9e-6) + size / link) for size in SIZES]
    busy_s = {size: 2e-6 if size <= 128 else 3e-6 if size <= 65536 else 70e-6 for size in SIZES}
    pingpings = [(size, time + busy_s[size]) for size, time in points]
    fitted = with_exchange(fit_level(curve(points), link), curve(pingpings, benchmark="pingping"), link)
    assert [one.from_bytes for one in fitted.lines][:2] == [0, 129]
    assert fitted.lines[0].exchange_s == pytest.approx(2e-6)
    assert fitted.lines[-1].exchange_s == pytest.approx(3e-6)
    assert with_exchange(fitted, [], link).lines[0].exchange_s == 0


def test_both_ways_at_once_say_how_much_longer_messages_take_that_cross(tmp_path: Path) -> None:
    points = [(size, (1e-6 if size <= 4096 else 3e-6) + size / 5e9) for size in SIZES]
    both = [
        (size, time + (0.4e-6 + 0.1e-9 * size if size <= 4096 else 0.05e-9 * size)) for size, time in points
    ]
    fitted = with_exchange(fit_level(curve(points)), curve(both, benchmark="sendrecv"))
    first, second = written(tmp_path, KNOWN, node=fitted).segments["node"]
    for segment, crossing_s, s_per_byte in ((first, 0.4e-6, 0.1e-9), (second, 0.0, 0.05e-9)):
        assert segment.crossing and segment.crossing_per_byte and segment.after is None
        assert segment.crossing.value == pytest.approx(crossing_s, rel=0.01, abs=1e-9)
        assert segment.crossing_per_byte.value == pytest.approx(s_per_byte, rel=0.01)
    no_longer = [(size, 1.04 * time) for size, time in points]
    fitted = with_exchange(fit_level(curve(points)), curve(no_longer, benchmark="sendrecv"))
    assert written(tmp_path, KNOWN, node=fitted).segments["node"][0].crossing is None


def test_nothing_is_quicker_than_the_link() -> None:
    """Short messages of an emulated cluster pass an idle link at once; longer ones get its rate."""
    link = 12e6
    points = [(size, 5e-6 + size / (2 * link if size <= 8192 else link)) for size in SIZES]
    fitted = fit_level(curve(points), link)
    assert all(one.bandwidth <= link * (1 + 1e-9) for one in fitted.lines)
    assert fitted.quick(link)
    assert fitted.time(1 << 20) == pytest.approx(dict(points)[1 << 20], rel=0.01)


def test_messages_too_short_to_cost_by_the_byte_tell_no_bandwidth(tmp_path: Path) -> None:
    """A flat line of short messages once made a network of 1 TB/s."""
    points = [(size, 2e-6 if size <= 64 else 3e-6 + size / 1e9) for size in SIZES]
    machine = written(tmp_path, KNOWN, network=fit_level(curve(points)))
    assert machine.number("nic.bandwidth") == pytest.approx(1e9, rel=0.05)
    assert machine.number("topology.link") == pytest.approx(1e9, rel=0.05)


def test_the_fastest_line_decides_the_bandwidth(tmp_path: Path) -> None:
    """Beyond a cache, messages are slower; those below it must not be slowed down to their rate."""
    points = [(size, 1e-6 + size / 10e9 + (30e-6 + size / 1e9 if size > 65536 else 0)) for size in SIZES]
    machine = written(tmp_path, KNOWN, network=fit_level(curve(points)))
    assert machine.number("nic.bandwidth") == pytest.approx(10e9, rel=0.05)


def test_no_latency_is_negative() -> None:
    """Beyond the cache each byte costs more, so a line through large sizes has a negative intercept."""
    points = [(size, 1e-6 + size / 10e9 + max(0, size - 65536) / 1e9) for size in SIZES]
    fitted = fit_level(curve(points))
    assert all(one.latency_s >= 0 for one in fitted.lines)
    assert fitted.median_error < 0.1


def test_pairs_are_told_apart_by_where_they_ran() -> None:
    run = run_of(r0=0, r1=1, r2=0)
    found = curves(run, [*line(5e-6, 1e9), *line(1e-6, 5e9, distance=2)])
    assert {level: points[0].median for level, points in found.items()} == {"network": 5e-6, "node": 1e-6}


def test_a_pair_that_moved_is_refused() -> None:
    run = run_of(r0=0, r1=1)
    run = replace(run, launches=(*run.launches, *run_of(r0=0, r1=0).launches))
    with pytest.raises(InputError, match="ranks 0 and 1 of run x were on different levels"):
        level_of(run, 1)


def test_the_file_loads_and_names_what_was_not_measured(tmp_path: Path) -> None:
    machine = written(tmp_path, KNOWN, network=fit_level(line(5e-6, 1e9)))
    assert machine.segments["network"][0].latency.value == pytest.approx(5e-6)
    assert machine.segments["network"][0].latency.confidence == "calibrated"
    assert machine.segments["node"][0].latency.confidence == "assumed"
    assert any("no pair of level node was measured" in question for question in machine.open_questions)
    assert machine.numbers["core.flops"].confidence == "assumed"
    assert machine.words["mpi.collectives"] == "mpich"
    assert machine.calibrated_on == ()


def test_a_node_of_which_only_one_socket_was_measured_is_assumed(tmp_path: Path) -> None:
    """The times in a socket were once passed off as measured between sockets."""
    machine = written(tmp_path, replace(KNOWN, sockets=2), socket=fit_level(line(1e-6, 5e9)))
    found = {level: segments[0].latency.confidence for level, segments in machine.segments.items()}
    assert found == {"socket": "calibrated", "node": "assumed", "network": "assumed"}
    for level in ("node", "network"):
        question = f"no pair of level {level} was measured: it is copied from level socket"
        assert question in machine.open_questions


def test_a_network_that_was_not_measured_is_assumed(tmp_path: Path) -> None:
    """A run within a node once passed for a measurement of the network."""
    for level, confidence in (("node", "assumed"), ("network", "calibrated")):
        machine = written(tmp_path, KNOWN, **{level: fit_level(line(1e-6, 5e9))})
        for place in ("nic.bandwidth", "topology.link", "topology.hop"):
            assert machine.numbers[place].confidence == confidence, (level, place)
    given = written(tmp_path, replace(KNOWN, link=1e9), node=fit_level(line(1e-6, 5e9)))
    assert given.numbers["nic.bandwidth"].confidence == "high"


def test_what_is_given_is_not_assumed(tmp_path: Path) -> None:
    given = Structure(2, 2, 4, 10**9, 10**6, "Open MPI", "x", "x", 1.2e9, "said so", 5e9, 4e9, 20e9)
    given = replace(given, collectives="ompi")
    far, near = fit_level(line(5e-6, 1e9), 1.2e9), fit_level(line(1e-6, 5e9))
    machine = written(tmp_path, given, network=far, node=near)
    for place in ("nic.bandwidth", "core.flops", "core.memory_bandwidth", "memory.bandwidth"):
        assert machine.numbers[place].confidence == "high", place
    assert machine.number("nic.bandwidth") == 1.2e9
    assert machine.words["mpi.collectives"] == "ompi"
    assert machine.cores == 16


def test_a_given_memory_bounds_the_assumed_rate_of_a_core(tmp_path: Path) -> None:
    """The given memory was once refused as slower than one core, whose rate was only assumed."""
    given = replace(KNOWN, memory_bandwidth=20e9)
    machine = written(tmp_path, given, node=fit_level(line(1e-6, 5e9)))
    core, memory = machine.numbers["core.memory_bandwidth"], machine.numbers["memory.bandwidth"]
    assert (core.value, core.confidence) == (20e9, "assumed")
    assert (memory.value, memory.confidence) == (20e9, "high")


@pytest.mark.parametrize(
    ("mpi", "version", "collectives", "aware"),
    [
        ("MPICH", "5.0.2", "mpich4", True),
        ("MPICH", "4.0.2", "mpich4", True),
        ("MPICH", "3.4", "mpich3", True),
        ("MPICH", "1.1", "mpich", True),
        ("MPICH", "1.0.8p1", "mpich", False),
        ("MPICH", "", "mpich", False),
        ("Open MPI", "4.1.4", "ompi", False),
    ],
)
def test_versions_of_mpich_decide_differently(
    tmp_path: Path, mpi: str, version: str, collectives: str, aware: bool
) -> None:
    """Collectives are node-aware since 1.1.

    This also holds for runs of one rank per node, because models choose their allreduce by it.
    """
    named = "mpich" if mpi == "MPICH" else "ompi"
    structure = replace(KNOWN, mpi=mpi, mpi_version=version, collectives=named, sockets=1, cores=1)
    machine = written(tmp_path, structure, network=fit_level(line(5e-6, 1e9)))
    assert machine.words["mpi.collectives"] == collectives
    assert machine.node_aware is aware


@pytest.mark.parametrize("one", [True, False])
def test_connections_are_those_of_the_structure(tmp_path: Path, one: bool) -> None:
    structure = replace(KNOWN, one_connection=one)
    assert written(tmp_path, structure, network=fit_level(line(5e-6, 1e9))).one_connection is one


def test_unknown_algorithms_of_collectives_are_an_open_question(tmp_path: Path) -> None:
    """Collectives of an MPI without a selector were once simulated by SMPI's default, without a word."""
    structure = replace(KNOWN, mpi="Fancy MPI", collectives="")
    machine = written(tmp_path, structure, network=fit_level(line(5e-6, 1e9)))
    assert machine.words["mpi.collectives"] == "default"
    assert any("collectives of Fancy MPI are unknown" in question for question in machine.open_questions)
    known = written(tmp_path, KNOWN, network=fit_level(line(5e-6, 1e9)))
    assert not any("collectives" in question for question in known.open_questions)


def test_too_few_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="2 sizes"):
        fit_level(curve([(0, 1e-6), (8, 1e-6)]))
