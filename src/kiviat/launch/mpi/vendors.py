"""Facts about MPI implementations, one file per vendor in `vendors/`.

A need lists arguments and variables for the vendor's launcher if all its conditions hold: running as root,
more ranks than cores, a transport probe, binding (if requested), an emulated cluster. Needs can be limited to
versions. A file that `derives` from another one inherits everything that it does not set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Any, Literal, get_args

from kiviat.record import InputError
from kiviat.record.site import by_name, read_facts, refusing_facts
from kiviat.record.suggestion import suggestion

# Condition "preloaded": ranks on an emulated cluster preload the library that the vendor's `preload` names.
LaunchCondition = Literal["root", "oversubscribed", "bind", "probe", "emulated", "preloaded"]

# The library of the ABI that MPI 5 defines, which an MPI may offer beside that of its own.
STANDARD_ABI = r"libmpi_abi\.so\.1"
# The family that runs on modelled machines instead of real ones.
SIMULATOR = "smpi"
_FOLDER = Path(__file__).parent / "vendors"
_TABLES = ("derives", "need", "leftover", "placement")  # keys of files that are no fields of a Vendor
_COMPARISON = re.compile(r"(<=|>=|<|>|==)\s*(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Need:
    """Arguments and variables that a launcher needs when all conditions `when` hold, and the reason `why`.

    `versions` restricts it to some versions of the MPI, as in ">=5"; empty for all.
    """

    when: tuple[LaunchCondition, ...]
    why: str
    versions: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Leftover:
    """Files that a killed launch leaves behind; while a program of `used_by` runs, they may be in use."""

    folder: Literal["shared_memory", "temporary"]
    patterns: tuple[str, ...]
    used_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placement:
    """Placement syntax of a launcher for some versions: `launcher` and `version` are those of placement.emit.

    `name` is its name in `kiviat place --emit`.
    """

    name: str
    launcher: str
    version: str
    versions: str = ""


@dataclass(frozen=True)
class OptionSyntax:
    """Options of a launcher, by their effect and number of arguments.

    `ranks` set the number of ranks; options in `one` or `two` have one or two arguments; `placing` options
    place ranks; `needless` options have no effect here. Of options with arguments, `variables` set a variable
    whose name begins with the value given here, `assignments` take NAME=VALUE, and `inheriting` pass on the
    whole environment.
    """

    ranks: tuple[str, ...] = ()
    one: tuple[str, ...] = ()
    two: tuple[str, ...] = ()
    placing: tuple[str, ...] = ()
    needless: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    inheriting: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: OptionSyntax) -> OptionSyntax:
        """Return the union of the options of two launchers."""
        joined = {one.name: getattr(self, one.name) for one in fields(self)}
        for name, value in joined.items():
            more = getattr(other, name)
            joined[name] = value | more if name == "variables" else value + more
        return OptionSyntax(**joined)


@dataclass(frozen=True)
class Vendor:
    """Contents of a vendor's file.

    `pmi`: protocol that Slurm's srun must offer. `wrappers`: names that only this vendor's C++ wrapper has;
    it needs `wrapper_environment`, in which {prefix} is its installation. `path_launchers` are found on PATH
    where none is beside the wrapper. `library_folders` of its installation may contain the MPI's library.
    `abi` matches names of the library as seen by the loader; `abi_title` is its name in messages. The MPI
    reads `variables` that begin with these words; `exports` passes a variable, {name}, to other nodes.
    `transport`: how the output of a probe is read (mpi/transport.py). `preload`: source in native/emulated
    that ranks on emulated nodes preload. `wheel`: Python distribution. `monitoring`: whether the MPI can
    count the messages that it sends. `collectives`: its algorithms as machine files name them
    (mpi.collectives), empty if unknown.
    """

    family: str
    title: str
    version_arguments: tuple[str, ...]
    version_pattern: str
    launcher_pattern: str
    library_marker: str
    launchers: tuple[str, ...]
    other_launchers: tuple[str, ...]
    pmi: str
    debian_packages: tuple[str, ...]
    needs: tuple[Need, ...]
    leftovers: tuple[Leftover, ...]
    placements: tuple[Placement, ...] = ()
    command_line: OptionSyntax = OptionSyntax()
    wrappers: tuple[str, ...] = ()
    wrapper_environment: Mapping[str, str] = field(default_factory=dict)
    path_launchers: tuple[str, ...] = ()
    library_folders: tuple[str, ...] = ("lib", "lib64")
    variables: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    abi: str = ""
    abi_title: str = ""
    transport: str = ""
    preload: str = ""
    wheel: str = ""
    monitoring: bool = False
    collectives: str = ""

    @property
    def launcher_names(self) -> tuple[str, ...]:
        """The launchers next to the compiler wrapper, and those that users' commands begin with."""
        return self.launchers + self.other_launchers

    def needed(self, conditions: Iterable[LaunchCondition], version: str) -> list[Need]:
        """Return the needs of a version, of which all conditions hold."""
        holding = set(conditions)
        return [need for need in self.needs if holding.issuperset(need.when) and fits(version, need.versions)]

    def placement(self, version: str) -> tuple[str, str]:
        """Return the launcher and its version as placement.emit names them, by default its own."""
        matching = (one for one in self.placements if fits(version, one.versions))
        return next(((one.launcher, one.version) for one in matching), (self.family, version))


def fits(version: str, predicate: str) -> bool:
    """True if a version ("4.1.4") satisfies a predicate (">=4,<5"); every version satisfies ""."""
    seen = _numbers(version)
    for term in filter(None, (term.strip() for term in predicate.split(","))):
        match = _COMPARISON.fullmatch(term)
        if not match:
            raise ValueError(f"version predicate {term!r}")
        bound = _numbers(match[2])
        width = max(len(seen), len(bound))
        left, right = _padded(seen, width), _padded(bound, width)
        outcome = {
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
            "==": left == right,
        }
        if not outcome[match[1]]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _padded(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))


@cache
def vendors() -> dict[str, Vendor]:
    """Return all vendors by family, which is the file's name; those that derive from others come last."""
    data = {path: read_facts(path, "vendor") for path in by_name("vendors", _FOLDER).values()}
    bases = {path.stem: one for path, one in data.items() if "derives" not in one}
    own = {path.stem: _checked(path, one) for path, one in data.items() if "derives" not in one}
    for path, one in data.items():
        if "derives" in one:
            if one["derives"] not in bases:
                raise InputError(
                    f"vendor {path}: derives is {one['derives']!r}; give one of {', '.join(bases)}"
                )
            inherited = {key: value for key, value in bases[one["derives"]].items() if key != "wrappers"}
            own[path.stem] = _checked(path, {**inherited, **one})
    return own


def _checked(path: Path, data: Mapping[str, Any]) -> Vendor:
    known = [*_TABLES, *(field.name for field in fields(Vendor))]
    for key in data:
        if key not in known:
            raise InputError(
                f"unknown key {key!r} in vendor {path}{suggestion(key, known, 'known: ' + ', '.join(known))}"
            )
    with refusing_facts(path, "vendor"):
        return _load(path, data)


def collectives_of(mpi: str) -> str:
    """Return the `mpi.collectives` of machine files for an MPI as run.json names it; empty if unknown."""
    title = mpi.removesuffix("2")  # MVAPICH was MVAPICH2 before version 3
    return next((vendor.collectives for vendor in vendors().values() if vendor.title == title), "")


def placements() -> dict[str, tuple[str, str]]:
    """Return launcher and version for each name that `kiviat place --emit` accepts."""
    every = [one for vendor in vendors().values() for one in vendor.placements]
    return {one.name: (one.launcher, one.version) for one in every} | {"slurm": ("slurm", "0")}


def real_families() -> list[str]:
    """Return the families that run on real machines; `--on` selects the simulator's."""
    return [name for name in vendors() if name != SIMULATOR]


@cache
def launcher_options() -> OptionSyntax:
    """Return the options of all known launchers."""
    return reduce(or_, (vendor.command_line for vendor in vendors().values()), OptionSyntax())


def _load(path: Path, data: Mapping[str, Any]) -> Vendor:
    options: Mapping[str, Any] = data.get("command_line", {})
    line: dict[str, Any] = {
        key: value if key == "variables" else tuple(value) for key, value in options.items()
    }
    return Vendor(
        family=path.stem,
        title=data["title"],
        version_arguments=tuple(data["version_arguments"]),
        version_pattern=data["version_pattern"],
        launcher_pattern=data["launcher_pattern"],
        library_marker=data["library_marker"],
        launchers=tuple(data["launchers"]),
        other_launchers=tuple(data.get("other_launchers", ())),
        pmi=data["pmi"],
        debian_packages=tuple(data["debian_packages"]),
        needs=tuple(_need(path, need) for need in data["need"]),
        placements=tuple(Placement(**one) for one in data.get("placement", ())),
        command_line=OptionSyntax(**line),
        wrappers=tuple(data.get("wrappers", ())),
        wrapper_environment=data.get("wrapper_environment", {}),
        path_launchers=tuple(data.get("path_launchers", ())),
        library_folders=tuple(data.get("library_folders", Vendor.library_folders)),
        variables=tuple(data.get("variables", ())),
        exports=tuple(data.get("exports", ())),
        abi=data.get("abi", ""),
        abi_title=data.get("abi_title", ""),
        transport=data.get("transport", ""),
        preload=data.get("preload", ""),
        wheel=data.get("wheel", ""),
        monitoring=data.get("monitoring", False),
        collectives=data.get("collectives", ""),
        leftovers=tuple(
            Leftover(item["folder"], tuple(item["patterns"]), tuple(item.get("used_by", ())))
            for item in data["leftover"]
        ),
    )


def _need(path: Path, data: Mapping[str, Any]) -> Need:
    when = (data["when"],) if isinstance(data["when"], str) else tuple(data["when"])
    if unknown := set(when) - set(get_args(LaunchCondition)):
        raise ValueError(f"{path}: unknown condition {', '.join(sorted(unknown))}")
    return Need(**{**data, "when": when, "arguments": tuple(data.get("arguments", ()))})
