"""Reads every file of a folder: results, or the reason why a file has none, in one sentence.

Job scripts are read for the facts that logs lack: a log's script is the one that names it as its output, else
the one with the same stem, else the only one in the folder; launches that are redirected to other files are
left out.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.ingest import (
    Format,
    parse_as,
    ranks_for,
    recognised,
    refuse_impossible_ranks,
)
from kiviat.ingest.reported import PartlyReadError
from kiviat.ingest.stated import Stated, common, looks_like_script, matches, of_log, of_script
from kiviat.record import InputError, Metric, Record
from kiviat.record.files import IrregularFileError, read_text

_LARGEST_BYTES = 1 << 28
_HIDDEN = "."


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a tree. `kind`: results, script, same, empty, other, failed, unknown or unreadable.

    `says` is the sentence about a file without results, or on tables that were left out. `stated` are the
    facts about its launch.
    """

    path: Path
    kind: str
    says: str = ""
    format: str = ""
    records: tuple[Record, ...] = ()
    stated: Stated = field(default_factory=Stated)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, in order of names, without hidden ones and without following links."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(_HIDDEN) and not path.is_symlink():
                yield path


def read_tree(folder: Path, ranks: int | None = None) -> Iterator[list[Source]]:
    """Yield the files of each folder below `folder`; `ranks` is for logs where nothing states the number.

    Raise InputError for a number of ranks that no launch has.
    """
    refuse_impossible_ranks(ranks)
    together: list[Path] = []
    for path in files_below(folder):
        if together and together[0].parent != path.parent:
            yield read_together(together, ranks)
            together = []
        together.append(path)
    if together:
        yield read_together(together, ranks)


def read_together(paths: Sequence[Path], ranks: int | None = None) -> list[Source]:
    """Return what the files of one folder are; of files about one launch, the longest has the results."""
    texts = {path: _text(path) for path in paths}
    scripts: dict[Path, list[Stated]] = {}
    for path, text in texts.items():
        with suppress(Exception):  # `_source` gives the reason
            if _is_script(path, text):
                scripts[path] = of_script(str(text))
    sources = [_source(path, text, scripts, ranks) for path, text in texts.items()]
    return _without_same(sources, {path: text for path, text in texts.items() if isinstance(text, str)})


def beside(path: Path) -> dict[Path, list[Stated]]:
    """Return the job scripts in the folder of a log, as far as names and sizes let them be some."""
    found: dict[Path, list[Stated]] = {}
    for other in sorted(path.parent.iterdir())[:_MOST_BESIDE]:
        small = other.is_file() and other.stat().st_size <= _LARGEST_SCRIPT
        if (
            small
            and other != path
            and other.suffix in _OF_SCRIPTS
            and _is_script(other, text := _text(other))
        ):
            found[other] = of_script(str(text))
    return found


_OF_SCRIPTS = (
    ".sh",
    ".slurm",
    ".sbatch",
    ".pbs",
    ".job",
    ".lsf",
    ".sge",
    ".bash",
    ".cmd",
    ".sub",
    ".batch",
    "",
)
_MOST_BESIDE, _LARGEST_SCRIPT = 2000, 1 << 18


def _is_script(path: Path, text: str | Source) -> bool:
    return (
        isinstance(text, str)
        and looks_like_script(text)
        and not _of_suffix(path)
        and not _of_mark(text)
        and recognised(text) is None
    )


def _text(path: Path) -> str | Source:
    try:
        text = read_text(path, errors="replace", largest_bytes=_LARGEST_BYTES)
    except IrregularFileError as error:
        return Source(path, "unreadable", f"is {error.kind}")
    except OSError as error:
        return Source(path, "unreadable", f"cannot be read: {error.strerror}")
    if not text.strip():
        return Source(path, "empty", "is empty" if not text else "has white space only")
    begin = text[:4096]
    if "\0" in begin or begin.count("\ufffd") > len(begin) // 20:
        return Source(path, "unknown", "is no text")
    return text


def _source(path: Path, text: str | Source, scripts: dict[Path, list[Stated]], ranks: int | None) -> Source:
    if isinstance(text, Source):
        return text
    if path in scripts:
        return Source(path, "script", "is a script" + _states(scripts[path]))
    try:
        return _of_text(path, text, scripts, ranks)
    except Exception as error:  # a fault of a format, which may be of a site, must not end the whole folder
        words = " ".join(f"unexpected {type(error).__name__}: {error}".split())
        return Source(
            path, "failed", f"cannot be read: {words}; give it alone to `kiviat ingest` to see where"
        )


def _of_text(path: Path, text: str, scripts: dict[Path, list[Stated]], ranks: int | None) -> Source:
    if words := _of_suffix(path) or _of_mark(text):
        return Source(path, "other", f"is {words}, which kiviat does not read")
    found = recognised(text)
    if found is None:
        return Source(path, "unknown", _unknown(text))
    return read_log(path, *found, scripts, ranks)


def read_log(
    path: Path, found: Sequence[Format], text: str, scripts: dict[Path, list[Stated]], ranks: int | None
) -> Source:
    """Return what a text of known formats is; `scripts` are the job scripts in its folder.

    Raise InputError for a number of
    ranks that no launch has.
    """
    refuse_impossible_ranks(ranks)
    beside = _stated(path, text, scripts)
    stated = Stated()
    names: list[str] = []
    records: list[Record] = []
    left_out: list[tuple[str, str]] = []
    for one in found:
        program = getattr(one, "ALONE", "")
        # Without this program in the command line, those facts are of another one, or of the job.
        own = Stated() if program and not _names(beside.command, program) else beside
        read, says = _read(path, one, text, ranks_for(one, found, ranks) or own.ranks, own.command)
        if read:
            names.append(one.NAME)
            records += read
        if own is beside:
            stated = beside
        if says:
            left_out.append((one.NAME, says))
    if len(found) > 1:
        says = "; ".join(f"not all of {name} was read: {why}" for name, why in left_out)
    else:
        says = "".join(why for _, why in left_out)
    name = " and ".join(names or [one.NAME for one in found])
    if not records:
        return Source(path, "failed", says, name, stated=stated)
    return Source(path, "results", says, name, tuple(records), _of_records(stated, records))


def _read(
    path: Path, module: Format, text: str, ranks: int | None, command: str
) -> tuple[Sequence[Record], str]:
    """Return the results that a text has in a format, and a sentence about those that cannot be read."""
    try:
        return parse_as(module, text, str(path), ranks, command), ""
    except PartlyReadError as error:
        return error.records, _sentence(error, path)
    except InputError as error:
        return (), _sentence(error, path)


def _names(command: str, program: str) -> bool:
    """True if a word of a command line is the name of the program, or of a variant such as stream_mpi.exe."""
    return any(program in word.rsplit("/", 1)[-1].lower() for word in command.split())


def _sentence(error: InputError, path: Path) -> str:
    """Return what an error says after the file's name."""
    return str(error).removeprefix(str(path)).removeprefix(":").strip()


def _states(launches: Sequence[Stated]) -> str:
    words = []
    counts = {launch.ranks for launch in launches if launch.ranks}
    nodes = {launch.nodes for launch in launches if launch.nodes}
    if counts:
        words.append(f"{_listed(counts)} rank{'s' * (counts != {1})}")
    if nodes:
        words.append(f"{_listed(nodes)} node{'s' * (nodes != {1})}")
    return f", which states {' on '.join(words)}" if words else ", which states no number of ranks"


def _listed(numbers: set[int]) -> str:
    return " or ".join(map(str, sorted(numbers)[:4]))


# Facts from beside a log


def _stated(path: Path, text: str, scripts: dict[Path, list[Stated]]) -> Stated:
    """Return what the log states, and what it lacks from its job script."""
    own = of_log(text)
    if own.ranks and own.command:
        return own
    beside = _beside(path, scripts)
    if own.ranks:
        return replace(own, command=own.command or beside.command)
    return beside


def _beside(path: Path, scripts: dict[Path, list[Stated]]) -> Stated:
    """Return the facts of the script of a log: only those in which all its candidates agree."""
    named = {
        script: [launch for launch in launches if any(matches(one, path.name) for one in launch.output)]
        for script, launches in scripts.items()
    }
    chosen = {script: launches for script, launches in named.items() if launches}
    if not chosen:
        others = {
            script: [launch for launch in launches if not launch.redirected]
            for script, launches in scripts.items()
        }
        chosen = {script: launches for script, launches in others.items() if _stem(script) == _stem(path)}
        if not chosen and len(others) == 1:
            chosen = others
    launches = [launch for some in chosen.values() for launch in some]
    if not launches:
        return Stated()
    source = " and ".join(script.name for script in list(chosen)[:2])
    return replace(common(launches), source=source)


_NUMBER_OF_JOB = re.compile(r"[-_.]\d{3,}$")


def _stem(path: Path) -> str:
    """Return a file's name without its suffix and a number of a job: "job-4-123.out" goes with "job-4.sh"."""
    return _NUMBER_OF_JOB.sub("", path.name.rsplit(".", 1)[0])


def _of_records(stated: Stated, records: Sequence[Record]) -> Stated:
    """Return the facts without those that the results contradict: the results count."""
    most = max(record.ranks for record in records)
    if stated.ranks is None or most > stated.ranks:
        return Stated(most, command=stated.command, source=stated.source).placed()
    return stated


# Files without results


def _of_suffix(path: Path) -> str:
    return next((words for words, suffixes in _suffixes() if path.suffix in suffixes), "")


def _of_mark(text: str) -> str:
    return next((words for words, pattern in _marks() if pattern.search(text)), "")


def _unknown(text: str) -> str:
    """Return a sentence about a text that nothing recognises."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    variables = sum(_VARIABLE.match(line) is not None for line in lines[:40])
    if variables >= _FEW_VARIABLES and variables > min(30, len(lines) * 3 // 4):
        return "lists variables of an environment, and no results"
    for line in lines:
        if _TROUBLE.search(line):
            return f"has no results that kiviat reads; a line of it says {_short(line)}"
    return f"has no results that kiviat reads; it begins with {_short(lines[0])}"


_FEW_VARIABLES = 3
_VARIABLE = re.compile(r"(?:BASH_FUNC_)?[A-Za-z_]\w*(?:%%|\(\))?=")
_TROUBLE = re.compile(
    r"\b(?:error|failed|cancelled|fatal|aborted|killed|segmentation fault)\b", re.IGNORECASE
)


def _short(line: str) -> str:
    plain = "".join(character if character.isprintable() else "?" for character in " ".join(line.split()))
    return repr(plain if len(plain) <= 70 else plain[:69] + "…")


@cache
def _suffixes() -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((one["is"], tuple(one["of"])) for one in _data()["suffix"])


@cache
def _marks() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((one["is"], re.compile(one["pattern"], re.MULTILINE)) for one in _data()["other"])


def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("others.toml").read_text(encoding="utf-8"))


# Files about the same launch


# Digits by which numbers must agree, of each the first two not counted, because launches of a case differ by
# a percent or so: few if one file says what the other does not, as a summary or a table made from a log; many
# if nothing else tells a copy from another launch, which may well print the same number.
_FEW, _MANY = 2, 8


def _without_same(sources: list[Source], texts: Mapping[Path, str]) -> list[Source]:
    """Return the sources; of those about the same launch, only the one that says most has results."""
    groups: dict[str, list[Source]] = {}
    for source in sources:
        if source.records:
            groups.setdefault(_results(source), []).append(source)
    same: dict[Path, Path] = {}
    for group in groups.values():
        kept: list[Source] = []
        for source in sorted(group, key=lambda one: (-_values(one), -len(texts[one.path]))):
            fuller = next((one for one in kept if _is_same(source, one, texts)), None)
            if fuller:
                same[source.path] = fuller.path
            else:
                kept.append(source)
    return [
        replace(
            source,
            kind="same",
            says=f"has the same results as {same[source.path].name}",
            records=(),
        )
        if source.path in same
        else source
        for source in sources
    ]


def _is_same(source: Source, fuller: Source, texts: Mapping[Path, str]) -> bool:
    """True if two sources, whose results begin alike, are about one launch; `fuller` says as much or more."""
    of_each = [record.metrics for record in source.records if record.metrics]
    text, longer = texts[source.path].strip(), texts[fuller.path].strip()
    if _facts(source) != _facts(fuller) or (len(text) < len(longer) and text in longer):
        return _digits(metrics[0] for metrics in of_each) >= _FEW
    # A time and a rate are one measurement, several times or rates are not.
    several = [one for metrics in of_each for one in metrics if one.unit == metrics[0].unit]
    return _digits(several) >= _MANY and _means(source) == _means(fuller)


def _values(source: Source) -> int:
    return sum(len(record.metrics) + len(record.tables) for record in source.records)


def _facts(source: Source) -> object:
    """Return what the results consist of, without the values."""
    return source.format, [
        (
            [(metric.name, metric.count > 0) for metric in record.metrics],
            [table.name for table in record.tables],
            sorted(record.notes),
        )
        for record in source.records
    ]


def _means(source: Source) -> list[float | None]:
    return [metric.mean for record in source.records for metric in record.metrics]


def _digits(metrics: Iterable[Metric]) -> int:
    """Return how many digits tell these values from those of another launch: 1 to 4 of each."""
    values = (value for metric in metrics for value in metric.samples or (metric.mean,) if value is not None)
    mantissas = (f"{value:.5e}".partition("e")[0].replace(".", "") for value in values)
    return sum(max(1, len(mantissa.strip("-0")) - 2) for mantissa in mantissas)


def _results(source: Source) -> str:
    """Return a text that is equal for equal results.

    The first metric of each case is enough: a summary may have fewer, or fewer digits of the others.
    """
    return json.dumps(
        [
            (record.case, record.outcome, [(metric.name, metric.mean) for metric in record.metrics[:1]])
            for record in source.records
        ]
    )
