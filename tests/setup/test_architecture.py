"""The import contract equals the table of docs/explanation/architecture.md.

The two once differed, and 28 imports that the table forbids passed the linter.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "src" / "kiviat"
LARGEST_FOLDER = 24


def table() -> dict[str, set[str]]:
    """Return the permitted imports of each package according to the table."""
    text = (CHECKOUT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## Rooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| ([^|]+) \|$", section, re.M)
    rooms = {room for room, _ in rows} - {"room"}
    return {
        room: rooms - {room} if allowed == "all" else set(re.findall(r"\w+", allowed)) & rooms
        for room, allowed in rows
        if room in rooms
    }


def contracts() -> dict[str, set[str]]:
    """Return the permitted imports of each package according to the linter's contract in pyproject.toml."""
    configured = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    allowed = {room: rooms - {room} for room in rooms}
    for contract in configured["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "forbidden":
            assert contract["allow_indirect_imports"] is True
            for source in contract["source_modules"]:
                allowed[source.removeprefix("kiviat.")] -= {
                    module.removeprefix("kiviat.") for module in contract["forbidden_modules"]
                }
    return allowed


def test_the_contract_is_the_table() -> None:
    assert table()
    assert contracts() == table()


def test_no_circles_are_allowed() -> None:
    configured = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    kinds = [contract["type"] for contract in configured["tool"]["importlinter"]["contracts"]]
    assert "acyclic_siblings" in kinds


def test_no_folder_is_flat_and_wide() -> None:
    """No folder has more than some twenty files.

    launch and cli once had 40 and 53 files, distinguished by prefixes.
    """
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    sizes = {str(folder.relative_to(PACKAGE)): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: size for name, size in sizes.items() if size > LARGEST_FOLDER} == {}


def test_a_namespace_does_not_leave_the_options() -> None:
    """argparse's Namespace is used in cli/options only; commands get frozen requests.

    A Namespace was once passed through 38 files and modified on its way.
    """
    options = PACKAGE / "cli" / "options"
    outside = [path for path in PACKAGE.rglob("*.py") if options not in path.parents]
    assert [str(path) for path in outside if re.search(r"\bNamespace\b", path.read_text("utf-8"))] == []
