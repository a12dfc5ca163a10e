"""`import kiviat` is fast, and provides the documented names."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kiviat

PACKAGE = Path(kiviat.__file__).parent


def test_import_loads_nothing_heavy() -> None:
    """`import kiviat` takes at most 0.2 s; DuckDB and NumPy alone would take half of that."""
    code = "import sys, kiviat; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert [name for name in loaded if name.startswith("kiviat")] == ["kiviat"]
    assert not {"duckdb", "numpy", "jinja2", "dataclasses"} & set(loaded)


def test_loading_runs_imports_no_pages() -> None:
    code = "import sys, kiviat; kiviat.load; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "jinja2" not in done.stdout.split()


def test_names_for_type_checkers_are_those_at_run_time() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    checked = {
        alias.name: node.module
        for branch in tree.body
        if isinstance(branch, ast.If)
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert checked == {name: f"kiviat.{module}" for name, module in kiviat._MODULES.items()}
    assert set(checked) <= set(dir(kiviat))


@pytest.mark.parametrize("name", sorted(kiviat._MODULES))
def test_every_name_is_there(name: str) -> None:
    value = getattr(kiviat, name)
    assert value is getattr(import_module(f"kiviat.{kiviat._MODULES[name]}"), name)
    assert value.__doc__


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        kiviat.lode  # noqa: B018


def test_types_travel_with_the_package() -> None:
    assert (PACKAGE / "py.typed").is_file()
