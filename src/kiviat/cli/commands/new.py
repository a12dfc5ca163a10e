"""`kiviat new`: writes a benchmark, machine or plan that works, to be changed."""

from __future__ import annotations

import re
from pathlib import Path

from kiviat.cli.options.request import NewRequest
from kiviat.cli.text.hints import typeable
from kiviat.machine.modelled.machine import machines
from kiviat.plan import plan_names, shipped_names
from kiviat.record import InputError, write_whole
from kiviat.record.site import KINDS, own_folder, site_files

_TEMPLATES = Path(__file__).parents[1] / "templates"
# C++ names a function like its benchmark; other names are those of files.
_NAMES = {"benchmark": (r"[a-z][a-z0-9_]*", "_"), "machine": (r"[a-z][a-z0-9-]*", "-")}
_NEXT = {
    "benchmark": "`kiviat run {name} -n 2` builds and runs it, `kiviat list {name}` describes it",
    "machine": "`kiviat model show {name}` shows it, `kiviat run --on simulated:{name} b_eff` simulates it",
    "plan": "`kiviat run {name} --dry-run` shows what it does, `kiviat run {name}` runs it",
}


def execute(request: NewRequest) -> int:
    """Write the file into the site folder and print its path and what to do next.

    Raise InputError for names that are taken or do not fit.
    """
    kind, name = request.kind, request.name
    pattern, joint = _NAMES.get(kind, _NAMES["machine"])
    if not re.fullmatch(pattern, name):
        raise InputError(
            f"{name!r} cannot be the name of a {kind}; give lower-case letters, digits and {joint}, "
            "beginning with a letter"
        )
    if name in (machines() if kind == "machine" else _words_of_run()):
        what = kind if kind == "machine" else "benchmark or plan"
        raise InputError(f"there is a {what} {name!r} already; give another name")
    suffix = KINDS[f"{kind}s"]
    path = own_folder() / f"{kind}s" / f"{name}{suffix}"
    template = (_TEMPLATES / f"{kind}{suffix}").read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(template.replace("YOUR_NAME", name), path, kind)
    print(path)
    print(typeable(_NEXT[kind].format(name=name)))
    return 0


def _words_of_run() -> set[str]:
    """Return the words that `kiviat run` knows; each has one meaning."""
    return {*shipped_names(), *(path.stem for path in site_files("benchmarks")), *plan_names()}
