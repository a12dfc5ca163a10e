"""Site folders, by which a site or a user adds plans, machines, benchmarks and other files.

They are read in this order: the folders in $KIVIAT_SITE, separated by colons; ~/.config/kiviat (or below
$XDG_CONFIG_HOME); and packages that declare an entry point of the group "kiviat.site", whose value is the
package that contains the folder. Each may have the subfolders of `KINDS`. docs/howto/extend.md describes
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kiviat.record.errors import InputError
from kiviat.record.files import read_toml

# Subfolders, and the suffix of their files.
KINDS = {
    "benchmarks": ".cpp",
    "plans": ".toml",
    "machines": ".toml",
    "published": ".toml",
    "ingest": ".py",
    "vendors": ".toml",
    "schedulers": ".toml",
}
GROUP = "kiviat.site"


def site_folders() -> tuple[Path, ...]:
    """Return the existing site folders. Raise InputError if a folder in $KIVIAT_SITE does not exist."""
    return _folders(os.environ.get("KIVIAT_SITE", ""), os.environ.get("XDG_CONFIG_HOME", ""))


def own_folder() -> Path:
    """Return the folder for new files: the first of $KIVIAT_SITE, else the user's; it need not exist."""
    named = [word for word in os.environ.get("KIVIAT_SITE", "").split(os.pathsep) if word]
    return Path(named[0]) if named else _of_user(os.environ.get("XDG_CONFIG_HOME", ""))


def site_files(kind: str) -> list[Path]:
    """Return all files of a kind in all site folders; benchmarks may be in folders of their own."""
    suffix = KINDS[kind]
    pattern = f"**/*{suffix}" if kind == "benchmarks" else f"*{suffix}"
    files = [path for folder in site_folders() for path in sorted((folder / kind).glob(pattern))]
    return [path for path in files if not path.name.startswith(("_", "."))]


def by_name(kind: str, shipped: Path) -> dict[str, Path]:
    """Return Kiviat's own files in `shipped` and those of sites, by name without suffix.

    Raise InputError if two have the same name, because it would be unclear which one is meant.
    """
    found = {path.stem: path for path in sorted(shipped.glob(f"*{KINDS[kind]}"))}
    for path in site_files(kind):
        if path.stem in found:
            raise InputError(
                f"{path} and {found[path.stem]} have the same name, {path.stem!r}; rename the first"
            )
        found[path.stem] = path
    return found


def read_facts(path: Path, what: str) -> dict[str, Any]:
    """Return the contents of a file of facts. Raise InputError if it cannot be read as TOML."""
    try:
        return read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{what} {path} cannot be read: {error}; correct it there") from None


@contextmanager
def refusing_facts(path: Path, what: str) -> Iterator[None]:
    """Context that turns a missing or wrong field in a file into an InputError naming the file."""
    try:
        yield
    except KeyError as error:
        raise InputError(
            f"{what} {path}: {error.args[0]} is missing; docs/howto/extend.md has an example"
        ) from None
    except (TypeError, ValueError) as error:
        said = str(error).partition(".__init__() ")
        raise InputError(
            f"{what} {path}: {said[2] or said[0]}; docs/howto/extend.md has an example"
        ) from None


@cache
def _folders(site: str, config: str) -> tuple[Path, ...]:
    named = [Path(word) for word in site.split(os.pathsep) if word]
    for folder in named:
        if not folder.is_dir():
            raise InputError(f"KIVIAT_SITE names {folder}, which is not a folder; create it, or correct it")
    user = _of_user(config)
    folders = [*named, *([user] if user.is_dir() else []), *_of_packages()]
    return tuple(dict.fromkeys(folder.absolute() for folder in folders))


def _of_user(config: str) -> Path:
    return (Path(config) if config.startswith("/") else Path.home() / ".config") / "kiviat"


def _of_packages() -> list[Path]:
    folders = []
    for point in entry_points(group=GROUP):
        try:
            spec = find_spec(point.value)
        except (ImportError, ValueError):
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise InputError(
                f"the entry point {point.name!r} of {GROUP} names {point.value!r}, which is not a package; "
                "correct or uninstall what declares it"
            )
        folders += [Path(folder) for folder in spec.submodule_search_locations]
    return folders
