"""Machine files: shipped ones load; missing, wrong or contradictory values are refused and named."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kiviat.machine.modelled import lowering, networks
from kiviat.machine.modelled.machine import (
    _FIELDS,
    _SEGMENT,
    _WORDS,
    assumed,
    find_machine,
    load_machine,
    machines,
)
from kiviat.machine.modelled.quantity import CONFIDENCES
from kiviat.record import InputError, data_path
from kiviat.record.published import papers, uses

FOLDER = data_path("machines")
PAPERS = {
    *(
        "sicortex-sc072",
        "opteron-myri10g",
        "vt-myri10g",
        "vt-myri10g-pcix",
        "altix-bx2",
        "altix-bx2-numalink3",
    ),
    *(
        "altix-bx2-2048",
        "cray-x1-ssp",
        "cray-x1-msp",
        "cray-opteron",
        "dell-poweredge",
        "dell-poweredge-pcie",
    ),
    *("nec-sx8", "nec-sx8-8gbs"),
}
TODAY = {"ndr-fat-tree", "slingshot-dragonfly", "torus-3d", "ethernet-cloud"}
each_machine = pytest.mark.parametrize("name", sorted(machines()))


def test_the_machines_there_are() -> None:
    assert set(machines()) >= PAPERS | TODAY
    assert "frozen" not in machines()


@each_machine
def test_every_machine_file_loads_and_describes_itself(name: str) -> None:
    machine = find_machine(name)
    assert machine.cores == len([core for node in machine.topology().nodes for core in node.cores])
    assert machine.title and machine.summary and machine.open_questions
    text = lowering.platform(machine)
    assert text.count("\ncore ") == machine.cores and "nan" not in text and "inf " not in text
    assert lowering.options(machine)["smpi/async-small-thresh"].isdecimal()


def test_an_eager_limit_beyond_an_int_is_the_largest_int() -> None:
    """SMPI once ended with an error on 4 GB, which says that no message waits."""
    for text, option in (("4 GB", "2147483647"), ("64 KiB", "65536")):
        eager = {"value": text, "source": "P3", "confidence": "assumed"}
        machine = load_machine(FOLDER / "cray-opteron.toml", {"mpi": {"eager": eager}})
        options = lowering.options(machine)
        assert options["smpi/async-small-thresh"] == options["smpi/send-is-detached-thresh"] == option


@each_machine
def test_calibration_is_named_or_its_lack_explained(name: str) -> None:
    machine = find_machine(name)
    numbers = list(machine.numbers.values())
    for segments in machine.segments.values():
        numbers += [q for segment in segments for q in (segment.latency, segment.bandwidth)]
    numbers += machine.in_flight.values()
    calibrated = [number for number in numbers if number.confidence == "calibrated"]
    assert machine.uncalibrated or calibrated
    for number in calibrated:
        rows = [word.strip(",;") for word in number.note.split() if word.strip(",;") in uses()]
        named = {*machine.calibrated_on, *machine.base_rows}
        assert set(rows) <= named, f"{number} is fitted to rows the file does not name"
        assert rows, f"{number} is called calibrated, and names no row"


def test_machines_of_papers_point_at_their_rows() -> None:
    known = {(system.machine, system.mode) for paper in papers() for system in paper.systems}
    for name in PAPERS:
        machine = find_machine(name)
        assert machine.published or machine.base
        assert set(machine.published) <= known, name
    assert all(find_machine(name).uncalibrated and not find_machine(name).published for name in TODAY)


def test_a_variant_is_a_few_lines() -> None:
    found = 0
    for name, path in machines().items():
        if "base" in tomllib.loads(path.read_text()):
            found += 1
            assert find_machine(name).base in machines()
            assert len(path.read_text().splitlines()) <= 40
            assert find_machine(name).hash != find_machine(str(find_machine(name).base)).hash
    assert found >= 6


def test_a_variant_keeps_what_it_does_not_say() -> None:
    one, other = find_machine("nec-sx8"), find_machine("nec-sx8-8gbs")
    assert (one.number("nic.bandwidth"), other.number("nic.bandwidth")) == (16e9, 8e9)
    assert one.number("core.flops") == other.number("core.flops") and one.sources == other.sources
    assert one.segments["node"] == other.segments["node"] and one.summary != other.summary


def test_assumed_numbers_are_listed() -> None:
    places = {place for place, _ in assumed(find_machine("sicortex-sc072"))}
    assert "memory.bandwidth" in places and "node.count" not in places


def test_the_document_explains_every_key() -> None:
    document = Path(__file__).parents[2] / "docs" / "reference" / "machines.md"
    explained = set(re.findall(r"`([\w.-]+)`", document.read_text(encoding="utf-8")))
    for key in (*_FIELDS, *_WORDS, *_SEGMENT, *CONFIDENCES, *networks.KINDS):
        assert key in explained, key
    for wanted, _ in networks.KINDS.values():
        assert set(wanted) <= explained


# Invalid changes of a file, each with the text that the error message must contain.


Change = Callable[[str], str]


def swap(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return change


def drop(start: str) -> Change:
    """Return a change that removes all lines with this beginning."""

    def change(text: str) -> str:
        lines = text.splitlines()
        kept = [line for line in lines if not line.startswith(start)]
        assert len(kept) < len(lines), start
        return "\n".join(kept)

    return change


def without(table: str, key: str) -> Change:
    """Return a change that removes a key of a table."""

    def change(text: str) -> str:
        before, head, rest = text.partition(f"\n[{table}]\n")
        body, next_, after = rest.partition("\n[")
        kept = [line for line in body.splitlines() if not line.startswith(f"{key} = ")]
        assert len(kept) == len(body.splitlines()) - 1, (table, key)
        return before + head + "\n".join(kept) + next_ + after

    return change


SHORT = 'collective.allgather_short = { value = "1 kB", source = "P4", confidence = "low" }'


def shared(*keys: str) -> Change:
    """Return a change that adds these costs of collectives in shared memory."""
    units = {"bandwidth": "GB/s", "largest": "kB"}
    lines = [
        f'shared_memory.{key} = {{ value = "1 {units.get(key, "us")}", source = "P4", confidence = "low" }}'
        for key in keys
    ]
    return swap("[mpi]", "\n".join(["[mpi]", *lines]))


def drop_value(key: str, other: str) -> Change:
    """Return a change that replaces the value of this key."""

    def change(text: str) -> str:
        changed, times = re.subn(rf"^{key} = .*$", f"{key} = {other}", text, count=1, flags=re.MULTILINE)
        assert times == 1, key
        return changed

    return change


def write(folder: Path, change: Change, name: str = "cray-opteron") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(change((FOLDER / f"{name}.toml").read_text(encoding="utf-8")), encoding="utf-8")
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_machine(path)
    message = str(caught.value)
    assert str(path) in message and "\n" not in message
    return message


def needed_places() -> list[tuple[str, str]]:
    """Return every number of a complete file, by table and key."""
    data = tomllib.loads((FOLDER / "cray-opteron.toml").read_text(encoding="utf-8"))
    found = []
    for table in ("node", "core", "memory", "nic", "topology", "mpi"):
        found += [
            (table, key) for key, value in data[table].items() if isinstance(value, dict) and "value" in value
        ]
    return found


OPTIONAL = {("core", "copy_bandwidth"), ("nic", "host_bus")}


@pytest.mark.parametrize(("table", "key"), needed_places())
@pytest.mark.parametrize("wrong", ["missing", "negative", "of a wrong unit", "no number", "sourceless"])
def test_each_number_is_needed_and_checked(table: str, key: str, wrong: str, tmp_path: Path) -> None:
    data = tomllib.loads((FOLDER / "cray-opteron.toml").read_text(encoding="utf-8"))
    number = data[table][key]
    value = {"negative": f"-{number['value']}", "of a wrong unit": "3 parsec", "no number": "many"}.get(wrong)
    changes: dict[str, Any] = {table: {key: {**number, "value": value or number["value"]}}}
    if wrong == "missing":
        path = write(tmp_path, without(table, key))
        if (table, key) not in OPTIONAL:
            message = refused(path)
            assert table in message and key in message
        return
    if wrong == "sourceless":
        del changes[table][key]["source"]
    with pytest.raises(InputError) as caught:
        load_machine(FOLDER / "cray-opteron.toml", changes)
    assert f"{table}.{key}" in str(caught.value)
    assert (value or "source") in str(caught.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop("name = "), "lacks 'name'"),
        (drop("version = "), "lacks 'version'"),
        (swap("version = 2", 'version = "one"'), "version is 'one'"),
        (swap("version = 2", "version = 0"), "version is 0"),
        (swap('name = "cray-opteron"', 'name = "cray"'), "name is 'cray'"),
        (swap("kiviat.machine/1", "kiviat.machine/9"), "kiviat.machine/9"),
        (swap("[nic]", "[nick]"), "unknown key 'nick'"),
        (swap("version = 2", "version = 2\nbase_rows = 1"), "unknown key 'base_rows'"),
        (drop("collectives = "), "lacks mpi.collectives; give one of"),
        (swap("[nic]\nbandwidth", "[[nic]]\nbandwidth"), "nic is [{"),
        (swap("losses = [", "losses = [1, "), "losses is [1, "),
        (swap("published = [{ machine", "published = [{ maschine"), "published is [{'maschine'"),
        (swap("[nic]", "[nic"), "cannot be read as a machine file"),
        (swap("flops =", "flop ="), "unknown 'core.flop'"),
        (
            swap('source = "P4", confidence', 'source = "P9", confidence'),
            "source 'P9', which is not listed in [sources]",
        ),
        (swap('confidence = "high"', 'confidence = "certain"'), "confidence 'certain'"),
        (swap("count = { value = 63", "count = { value = 63.5"), "node.count is '63.5'"),
        (swap("count = { value = 63", "count = { value = 0"), "node.count is '0'"),
        (swap("count = { value = 63", "count = { value = 65"), "65 nodes do not fit into a fat-tree of 64"),
        (swap("passes = { value = 4", "passes = { value = 0"), "memory.passes is '0'"),
        (
            swap('"2.9 GB/s"', '"29 GB/s"'),
            "core.memory_bandwidth is '29 GB/s' and memory.bandwidth '5.3 GB/s'",
        ),
        (swap('"2.9 GB/s"', '"0 GB/s"'), "core.memory_bandwidth is '0 GB/s'"),
        (swap('"4 Gflop/s"', '"4 GB/s"'), "core.flops of"),
        (drop("copy_duplex"), "one of core.copy_bandwidth and core.copy_duplex"),
        (drop("copy_reach"), "one of core.copy_bandwidth and core.copy_reach"),
        (drop("host_bus_duplex"), "one of nic.host_bus and nic.host_bus_duplex"),
        (
            swap("[nic]", '[nic]\nbucket_out = { value = "1 kB", source = "P4", confidence = "high" }'),
            "only some of nic.bucket_out, nic.bucket_in, nic.packet",
        ),
        (
            swap("[nic]", '[nic]\nframe = { value = "1 kB", source = "P4", confidence = "high" }'),
            "only some of nic.frame, nic.header",
        ),
        (
            swap(
                "[nic]",
                '[nic]\nframe = { value = "1 kB", source = "P4", confidence = "high" }\n'
                'header = { value = "66 B", source = "P4", confidence = "high" }',
            ),
            "has nic.frame, but not nic.bucket_out, nic.bucket_in, nic.packet",
        ),
        (
            swap("[nic]", '[nic]\ntrailer_from = { value = "1 kB", source = "P4", confidence = "high" }'),
            "has nic.trailer_from, but not nic.bucket_out, nic.bucket_in, nic.packet",
        ),
        (swap('copy_duplex = "half"', 'copy_duplex = "both"'), "core.copy_duplex is 'both'"),
        (drop("buses ="), "lacks memory.buses"),
        (swap('collectives = "mpich"', 'collectives = "fast"'), "mpi.collectives is 'fast'"),
        (swap("[mpi]", '[mpi]\nnode_aware = "yes"'), "mpi.node_aware is 'yes'"),
        (swap("[mpi]", "[mpi]\none_connection = 1"), "mpi.one_connection is 1"),
        (shared("latency", "flag"), "only some of mpi.shared_memory.latency"),
        (shared("latency", "flag", "bandwidth", "largest"), "not mpi.node_aware = true"),
        (shared("speed"), "unknown 'mpi.shared_memory.speed'"),
        (
            swap("[mpi]", f"[mpi]\n{SHORT}"),
            'needs mpi.collectives = "mpich3" or "mpich4"',
        ),
        (swap('kind = "fat-tree"', 'kind = "thicket"'), "'thicket'"),
        (swap("down = [8, 8]", "down = [8, 8.5]"), "topology.down is [8, 8.5]"),
        (drop("planes = "), "lacks 'planes'"),
        (swap('value = "256 KiB"', 'value = "0 B"'), "mpi.node of"),
        (swap('bandwidth = { value = "245.5 MB/s"', 'bandwidth = { value = "0 MB/s"'), "mpi.network[0]"),
        (swap('latency = { value = "6.15 us"', 'latency = { value = "-6.15 us"'), "'-6.15 us'"),
        (swap("[[mpi.network]]", "[[mpi.far]]"), "lacks [[mpi.network]]"),
        (swap('"F1-063"', '"F9-999"'), "calibrated_on names 'F9-999'"),
        (swap('"F1-063"', '"F2-032"'), "'F2-032'"),
        (swap('"F1-063"', '"myri_m2000"'), "calibrated_on names 'myri_m2000'"),
        (swap("version = 2", "version = true"), "version is True"),
        (swap('schema = "kiviat.machine/1"', ""), 'begins with schema = "kiviat.machine/1"'),
        (swap("version = 2", "version = 2\nuncalibrated = ''"), "uncalibrated is ''"),
        (swap("version = 2", "version = 2\nuncalibrated = 5"), "uncalibrated is 5"),
        (drop_value("title", "[1]"), "title is [1]"),
        (swap("[sources]", "[sources]\nfar = 1"), "sources.far is 1"),
        (swap("published = [{ machine", "published = [{ mod = 'x', machine"), "published is [{'mod'"),
        (swap("published = [{ machine", "published = [{ mode = 7, machine"), "'mode': 7"),
        (swap("[mpi]", '[mpi]\nin_flight = "5 MB"'), "mpi.in_flight is '5 MB'"),
        (
            swap("[mpi]", '[mpi]\nin_flight.network = { value = "0 B", source = "P4", confidence = "high" }'),
            "mpi.in_flight.network is 0",
        ),
        (swap("[mpi]", '[mpi]\nalgorithms = "x"'), "mpi.algorithms is 'x'"),
        (swap("[mpi]", '[mpi]\nalgorithms = { barier = "x" }'), "mpi.algorithms.barier"),
        (swap("[mpi]", '[mpi]\nalgorithms = { barrier = "x --cfg=y:z" }'), "'x --cfg=y:z'"),
        (swap('source = "P4", confidence', 'source = [["P4"]], confidence'), "source ['P4']"),
        (swap('source = "P4", confidence', "source = [], confidence"), "has no source"),
        (swap('"4 Gflop/s"', '"1e999 Gflop/s"'), "'1e999 Gflop/s'; give a number from 1 to 1e+24, in flop/s"),
        (swap('"245.5 MB/s"', '"1e-300 B/s"'), "'1e-300 B/s'; give a number from 1 to 1e+18, in B/s"),
        (swap("passes = { value = 4", "passes = { value = 1000000000"), "memory.passes is '1000000000'"),
        (swap("cores = { value = 1", "cores = { value = 100000"), "12600000 cores, 200000 on each node"),
        (drop("kind = "), "lacks topology.kind"),
        (swap("version = 2", 'version = 2\nbase = "nowhere"'), "base is 'nowhere'"),
        (swap("version = 2", 'version = 2\nbase = "cray-opteron"'), "circular base"),
        (swap("version = 2", "version = 2\nbase = 7"), "base is 7"),
    ],
)
def test_files_that_are_wrong_are_refused(change: Change, says: str, tmp_path: Path) -> None:
    assert says in refused(write(tmp_path, change))


def test_validate_rows_may_not_calibrate(tmp_path: Path) -> None:
    message = refused(write(tmp_path, swap('"F1-063"', '"F2-032"')))
    assert "'validate'" in message and "calibrate" in message


def test_a_documented_rate_of_one_core_may_calibrate(tmp_path: Path) -> None:
    path = write(tmp_path, swap('"F1-063"', '"F1-063", "P4"'))
    assert "P4" in load_machine(path).calibrated_on


def test_errors_in_a_base_name_the_base_file(tmp_path: Path) -> None:
    base = write(tmp_path, swap('"245.5 MB/s"', '"-1 MB/s"'))
    (tmp_path / "mine.toml").write_text(VARIANT.format(base="cray-opteron"))
    with pytest.raises(InputError, match="'-1 MB/s'") as caught:
        load_machine(tmp_path / "mine.toml")
    assert str(base) in str(caught.value) and "mine.toml" not in str(caught.value)


VARIANT = """
schema = "kiviat.machine/1"
name = "mine"
title = "Mine"
summary = "of my own"
version = 1
base = "{base}"
[sources]
me = "I"
[nic]
bandwidth = {{ value = "2 GB/s", source = "me", confidence = "assumed" }}
"""


@pytest.mark.parametrize("base", ["ndr-fat-tree", "altix-bx2"])
def test_a_variant_that_does_not_say_what_it_was_fitted_to_is_uncalibrated(base: str, tmp_path: Path) -> None:
    """A variant is uncalibrated unless its own file says what it was fitted to, whatever its base says."""
    path = tmp_path / "mine.toml"
    path.write_text(VARIANT.format(base=base))
    assert f"a variant of {base}" in str(load_machine(path).uncalibrated)
    path.write_text(path.read_text().replace("version = 1", 'version = 1\nuncalibrated = "a guess"'))
    assert load_machine(path).uncalibrated == "a guess"
    base_rows = find_machine(base).calibrated_on
    assert (load_machine(path).calibrated_on, load_machine(path).base_rows) == ((), base_rows)
    row = "F1-008"
    path.write_text(path.read_text().replace('uncalibrated = "a guess"', f'calibrated_on = ["{row}"]'))
    assert load_machine(path).uncalibrated is None and load_machine(path).calibrated_on == (row,)


def test_a_changed_machine_is_uncalibrated() -> None:
    """A machine with changed values is uncalibrated, although its file was fitted.

    A what-if study once listed the rows to which the unchanged machine had been fitted.
    """
    path = machines()["altix-bx2"]
    changed = load_machine(path, {"version": 2})
    assert (changed.calibrated_on, changed.base_rows) == ((), load_machine(path).calibrated_on)
    assert "altix-bx2 with changes" in str(changed.uncalibrated)


def test_a_file_that_was_fitted_to_nothing_is_uncalibrated(tmp_path: Path) -> None:
    whole = (FOLDER / "ndr-fat-tree.toml").read_text(encoding="utf-8")
    path = tmp_path / "ndr-fat-tree.toml"
    path.write_text(drop("uncalibrated = ")(whole))
    assert load_machine(path).uncalibrated == "its file names no rows that it was fitted to"


def test_longer_circles_are_seen(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.toml").write_text(f'name = "{one}"\nbase = "{other}"\n')
    assert "a → b → a" in refused(tmp_path / "a.toml")


def test_unknown_machine_names_are_refused() -> None:
    with pytest.raises(InputError, match="there is no machine 'cray-9'; `kiviat model list` lists them"):
        find_machine("cray-9")
    with pytest.raises(InputError, match=r"nowhere/mine.toml cannot be read as a machine file"):
        find_machine("nowhere/mine.toml")


AFTER = 'after = { value = "1 us", source = "P3", confidence = "assumed" }'


def test_the_hash_is_of_what_a_simulation_depends_on(tmp_path: Path) -> None:
    whole = load_machine(FOLDER / "cray-opteron.toml")
    for change in (
        swap("Cray Opteron cluster", "Some cluster"),
        swap("2+2 Gb/s", "two and two"),
        swap("[mpi]", "[mpi]\nnode_aware = false\none_connection = false"),
    ):
        assert load_machine(write(tmp_path, change)).hash == whole.hash
    for change in (
        swap('"245.5 MB/s"', '"245.6 MB/s"'),
        swap('collectives = "mpich"', 'collectives = "ompi"'),
        swap("[mpi]", "[mpi]\nnode_aware = true"),
        swap("[mpi]", "[mpi]\none_connection = true"),
        swap('collectives = "mpich"', 'collectives = "mpich3"'),
        swap('collectives = "mpich"', f'collectives = "mpich3"\n{SHORT}'),
        swap("cables = [1, 1]", "cables = [1, 2]"),
        swap('copy_reach = "node"', 'copy_reach = "network"'),
        swap('"16288 B"', '"16289 B"'),
        swap('latency = { value = "6.15', f'{AFTER}\nlatency = {{ value = "6.15'),
    ):
        assert load_machine(write(tmp_path, change)).hash != whole.hash


def test_changes_replace_values_of_the_file() -> None:
    """Changes given with load_machine(), as in what-if studies, replace values of the file."""
    quick = {"value": "1 GB/s", "source": "P3", "confidence": "assumed"}
    machine = load_machine(FOLDER / "cray-opteron.toml", {"nic": {"bandwidth": quick}})
    assert machine.number("nic.bandwidth") == 1e9
    other = load_machine(FOLDER / "cray-opteron.toml", {"topology": {"kind": "crossbar"}})
    assert other.topology_kind == "crossbar" and other.topology_parameters == {}
    assert other.number("topology.link") == 0.25e9
