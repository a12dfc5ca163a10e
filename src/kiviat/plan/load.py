"""Reads plan files and expands them to cases, with overrides from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiviat.plan.arrangement import Arrangement, arrangements_of
from kiviat.plan.benchmark import (
    Benchmark,
    benchmark_names,
    find_benchmarks,
    is_pattern,
    names_benchmark,
)
from kiviat.plan.case import Case
from kiviat.plan.controls import LARGEST, SECONDS, are_seconds, checked_controls, refuse_contradictions
from kiviat.plan.expand import COMMAND_LINE, Group, Overrides, expand
from kiviat.plan.overrides import refuse_unknown_axes, refuse_unused
from kiviat.plan.plan import Plan
from kiviat.record import InputError, data_path
from kiviat.record.files import read_toml
from kiviat.record.site import by_name
from kiviat.record.suggestion import suggestion
from kiviat.record.types import FIRST_LOOK, Scalar
from kiviat.record.valid import first_wrong

PLAN_SCHEMA = "kiviat.plan/1"
_NAMED = 3  # of benchmarks in the name of a run
_MOST_LAUNCHES = 1_000_000
_USUAL_LAUNCHES_MAX = 25
_TOP: Mapping[str, tuple[type, ...]] = {
    "schema": (str,),
    "name": (str,),
    "summary": (str,),
    "launches": (int,),
    "interval": (int, float),
    "launches_max": (int,),
    "seed": (int,),
    "bytes": (str, int, list),
    "ranks": (str, int, list),
    "controls": (dict,),
    "arrangements": (list,),
    "cases": (list,),
}
_GROUP: Mapping[str, tuple[type, ...]] = {
    "benchmarks": (str, list),
    "bytes": (str, int, list),
    "ranks": (str, int, list),
    "subset": (bool,),
    "axes": (dict,),
    "controls": (dict,),
    "nominal_s": (int, float),
}
_KIND = {
    str: "text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
    bool: "true or false",
}


def load_plan(
    name_or_path: str | Path,
    describe: Sequence[Mapping[str, Any]],
    available: int,
    overrides: Overrides | None = None,
    *,
    name: str | None = None,
) -> Plan:
    """Return the plan expanded to up to `available` ranks; `describe` is from `kiviat-bench --describe`.

    `name`, if given, replaces the plan's own. Raise InputError for an unknown or invalid plan, unused
    overrides and plans without cases.
    """
    path = _find(name_or_path)
    data, where, asked = _read(path), f"plan {path}", overrides or Overrides()
    if name:
        data["name"] = name
    known = [Benchmark.from_json(entry) for entry in describe]
    refuse_unused(_groups(data, where, known, asked), asked)
    return _expand_all(data, where, known, available, asked)


def load_arrangements(name_or_path: str | Path) -> tuple[Arrangement, ...]:
    """Return the arrangements of a plan, empty if the command line determines nodes and placement."""
    path = _find(name_or_path)
    return arrangements_of(_read(path), f"plan {path}")


def plan_benchmarks(name_or_path: str | Path) -> list[str]:
    """Return the names and patterns of benchmarks in a plan, as written."""
    return definition_benchmarks(_read(_find(name_or_path)))


def definition_benchmarks(definition: Mapping[str, Any]) -> list[str]:
    """Return the names and patterns of benchmarks in a plan's definition, as a run stores it."""
    groups = [group["benchmarks"] for group in definition.get("cases", [])]
    return [name for group in groups for name in ([group] if isinstance(group, str) else group)]


def reload_plan(
    definition: Mapping[str, Any], describe: Sequence[Mapping[str, Any]], file: Path = Path("run.json")
) -> Plan:
    """Return the plan of a run to resume, from the definition in its `file`; InputError if invalid."""
    data = dict(definition)
    given = dict(data.pop("command_line", {}))
    wrong = first_wrong({"cases": [], **data}, "plan") or first_wrong(given, "plan", "command_line")
    if wrong or "name" not in data:
        wrong = wrong or "lacks 'name'"
        raise InputError(f"{file}: plan.definition {wrong}; the run cannot be resumed, start a new one")
    available = given.pop("ranks_available")
    known = [Benchmark.from_json(entry) for entry in describe]
    where = f"plan {data.get('name', '')!r} of the run"
    return _expand_all(data, where, known, available, Overrides(**given))


def _expand_all(
    data: Mapping[str, Any],
    where: str,
    known: Sequence[Benchmark],
    available: int,
    overrides: Overrides,
) -> Plan:
    seed = data.get("seed", 1) if overrides.seed is None else overrides.seed
    if abs(seed) > LARGEST:
        place = where if overrides.seed is None else COMMAND_LINE
        raise InputError(f"seed is {seed} in {place}; give a whole number of at most {LARGEST}")
    cases: dict[str, Case] = {}
    left_out: dict[str, None] = {}
    for group in _groups(data, where, known, overrides):
        for benchmark in group.benchmarks:
            expanded, reason = expand(group, benchmark, available, seed)
            if reason:
                left_out[reason] = None
            for case in expanded:
                cases.setdefault(case.id, case)
    if not cases:
        reason = next(iter(left_out), "it names no benchmark")
        raise InputError(f"{where} has no case for -n {available}: {reason}; give another number")
    named = {case.benchmark for case in cases.values()}
    launches = _launches(data, overrides, where)
    interval, launches_max = _precision(data, overrides, launches, where)
    return Plan(
        name=data["name"],
        launches=launches,
        seed=seed,
        cases=tuple(cases.values()),
        definition={**data, "command_line": {"ranks_available": available} | overrides.to_json()},
        left_out=tuple(left_out),
        benchmarks={one.name: one.report for one in known if one.report and one.name in named},
        interval=interval,
        launches_max=launches_max,
    )


def plan_names() -> list[str]:
    """Return the names of the plans that come with Kiviat, and of those of sites, sorted."""
    return sorted(_known())


def _known() -> dict[str, Path]:
    return by_name("plans", data_path("plans"))


def name_of_selection(benchmarks: Sequence[str]) -> str | None:
    """Return the name of a run without a plan, such as "pingpong-bcast"; None without benchmarks."""
    first, more = benchmarks[:_NAMED], len(benchmarks) - _NAMED
    return "-".join([*first, *([f"and-{more}-more"] if more > 0 else [])]) or None


def names_plan(word: str) -> bool:
    """True for names of known plans, and for words that look like paths of plan files."""
    return word in plan_names() or word.endswith(".toml")


def plan_in(
    words: Sequence[str], describe: Sequence[Mapping[str, Any]], given: str | None
) -> tuple[str | None, list[str]]:
    """Return the plan named in `words` of the command line, else `given`, and the names of benchmarks.

    Names of benchmarks take precedence over plans, and plans over aliases of benchmarks. Raise InputError,
    with the nearest name, for a word that is neither.
    """
    known = [Benchmark.from_json(entry) for entry in describe]
    names = {benchmark.name for benchmark in known}
    plans, benchmarks = [], []
    for word in words:
        if names_plan(word) and word not in names:
            plans.append(word)
        elif names_benchmark(word, known):
            benchmarks.append(word)
        else:
            nearest = suggestion(
                word,
                [*benchmark_names(known), *plan_names()],
                "`kiviat list` shows benchmarks; plans are " + ", ".join(plan_names()),
            )
            raise InputError(f"unknown benchmark or plan {word!r} in {COMMAND_LINE}{nearest}")
    if len(plans) + (given is not None) > 1:
        named = ", ".join([*plans, *([] if given is None else [given])])
        raise InputError(f"several plans in {COMMAND_LINE}: {named}; give one")
    return (plans[0] if plans else given), benchmarks


def _find(name_or_path: str | Path) -> Path:
    name = str(name_or_path)
    if (known := _known().get(name)) is not None:
        return known
    if not Path(name).is_file():
        names = plan_names()
        raise InputError(
            f"there is no plan {name!r}{suggestion(name, names, 'give ' + ', '.join(names) + ' or a file')}"
        )
    return Path(name)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = read_toml(path)
    except ValueError as error:
        raise InputError(f"plan {path} is not TOML: {error}; correct it there") from None
    if data.get("schema") != PLAN_SCHEMA:
        raise InputError(
            f"plan {path} has schema {data.get('schema')!r}; this kiviat reads {PLAN_SCHEMA!r}: "
            f'begin the file with schema = "{PLAN_SCHEMA}"'
        )
    _check(data, _TOP, f"plan {path}")
    for index, group in enumerate(data.get("cases", [])):
        if not isinstance(group, dict):
            raise InputError(f"cases[{index}] is {group!r} in plan {path}; write [[cases]] tables")
        _check(group, _GROUP, f"plan {path}, cases[{index}]")
        if not group.get("benchmarks"):
            raise InputError(f"benchmarks is missing in plan {path}, cases[{index}]; name some or a pattern")
        if wrong := first_wrong(
            {key: group[key] for key in ("benchmarks", "axes") if key in group}, "plan", "group"
        ):
            raise InputError(f"plan {path}, cases[{index}]: {wrong}; correct it there")
        if not are_seconds(group.get("nominal_s", 1)):
            raise InputError(
                f"nominal_s is {group['nominal_s']} in plan {path}, cases[{index}]; give {SECONDS}"
            )
    return {"name": path.stem, **data}


def _check(table: Mapping[str, Any], allowed: Mapping[str, tuple[type, ...]], where: str) -> None:
    for key, value in table.items():
        if key not in allowed:
            hint = suggestion(key, list(allowed), "known: " + ", ".join(allowed))
            raise InputError(f"unknown key {key!r} in {where}{hint}")
        if not isinstance(value, allowed[key]) or (isinstance(value, bool) and bool not in allowed[key]):
            wanted = " or ".join(_KIND[kind] for kind in allowed[key])
            raise InputError(f"{key} is {value!r} in {where}; give {wanted}")


def _launches(data: Mapping[str, Any], overrides: Overrides, where: str) -> int:
    launches: int = data.get("launches", 5) if overrides.launches is None else overrides.launches
    if not 1 <= launches <= _MOST_LAUNCHES:
        place = where if overrides.launches is None else COMMAND_LINE
        raise InputError(f"launches is {launches} in {place}; give at least 1, at most {_MOST_LAUNCHES}")
    return launches


def _precision(
    data: Mapping[str, Any], overrides: Overrides, launches: int, where: str
) -> tuple[float | None, int | None]:
    """Return the wanted half width of intervals and the most launches of a case; None for both without."""
    interval: float | None = data.get("interval") if overrides.interval is None else overrides.interval
    most: int | None = data.get("launches_max") if overrides.launches_max is None else overrides.launches_max
    if interval is None and most is not None:
        place = where if overrides.launches_max is None else COMMAND_LINE
        raise InputError(
            f"launches_max is {most} in {place}, but interval is not given: it limits the launches that "
            "cases get until their interval is narrow enough; give interval (--interval PCT), too"
        )
    if interval is None:
        return None, None
    if not 0 < interval < 1:
        place = where if overrides.interval is None else COMMAND_LINE
        raise InputError(f"interval is {interval} in {place}; give a fraction between 0 and 1, such as 0.05")
    if most is None:
        return interval, max(launches, _USUAL_LAUNCHES_MAX)
    if not max(launches, FIRST_LOOK) <= most <= _MOST_LAUNCHES:
        place = where if overrides.launches_max is None else COMMAND_LINE
        raise InputError(
            f"launches_max is {most} in {place}; give at least {max(launches, FIRST_LOOK)}, the number of "
            f"launches after which intervals are looked at first, at most {_MOST_LAUNCHES}"
        )
    return interval, most


def _groups(
    data: Mapping[str, Any], where: str, known: Sequence[Benchmark], overrides: Overrides
) -> list[Group]:
    """Return the groups of the plan, restricted to the benchmarks that the command line names, if any.

    Benchmarks that are not in the plan form a group of their own with the plan's ranks and controls, and the
    plan's sizes unless they have their own.
    """
    wanted = {b.name: b for b in find_benchmarks(known, overrides.benchmarks, COMMAND_LINE)}
    base = _Base.of(data, where, overrides)
    groups, held = [], set()
    for index, table in enumerate(data.get("cases", [])):
        place = f"{where}, cases[{index}]"
        names = [table["benchmarks"]] if isinstance(table["benchmarks"], str) else table["benchmarks"]
        chosen = [b for b in find_benchmarks(known, names, place) if not wanted or b.name in wanted]
        held |= {benchmark.name for benchmark in chosen}
        groups.append(base.group(chosen, table, place, any(is_pattern(name) for name in names)))
    if missing := [benchmark for name, benchmark in wanted.items() if name not in held]:
        groups.append(base.group(missing, {}, COMMAND_LINE, False))
    refuse_unknown_axes(groups, overrides)
    return groups


@dataclass(frozen=True)
class _Base:
    """Settings shared by all groups: defaults from the top of the plan, overrides from the command line."""

    top: Mapping[str, Any]
    controls: Mapping[str, Scalar]
    overrides: Overrides

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str, overrides: Overrides) -> _Base:
        top = {"bytes": data.get("bytes", "0:4M"), "ranks": data.get("ranks", "all")}
        return cls(top, checked_controls(data.get("controls", {}), where), overrides)

    def group(
        self, benchmarks: Sequence[Benchmark], table: Mapping[str, Any], where: str, by_pattern: bool
    ) -> Group:
        settings = {**self.top, **table}
        controls = {
            **self.controls,
            **checked_controls(table.get("controls", {}), where),
            **checked_controls(self.overrides.controls, COMMAND_LINE),
        }
        refuse_contradictions(controls, COMMAND_LINE if self.overrides.controls else where)
        return Group(
            benchmarks=benchmarks,
            by_pattern=by_pattern,
            bytes=settings["bytes"],
            own_sizes=where == COMMAND_LINE,
            ranks=settings["ranks"],
            subset=settings.get("subset", False),
            axes=settings.get("axes", {}),
            controls=controls,
            nominal_s=settings.get("nominal_s"),
            where=where,
            overrides=self.overrides,
        )
