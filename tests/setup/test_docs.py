"""Commands, links and code in the documentation work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    path
    for path in sorted([*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md")])
    if not path.is_symlink()
]
each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(CHECKOUT).as_posix()
)


def code_in(document: Path) -> list[str]:
    """Return all code in a document: inline spans, indented lines and fenced lines."""
    text = document.read_text()
    spans = [span for line in text.splitlines() for span in re.findall(r"`([^`]+)`", line)]
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    fenced = [
        line for block in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()
    ]
    return spans + lines + fenced


def test_there_are_documents() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "method.md", "architecture.md"} <= {
        path.name for path in DOCUMENTS
    }


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    dead = []
    prose = re.sub(r"^```.*?^```|`[^`\n]+`|^    .*?$", "", document.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        place = (document.parent / name).resolve() if name else document
        if not place.exists() or (anchor and anchor not in anchors(place)):
            dead.append(target)
    assert not dead


@each_document
def test_files_of_the_tests_that_are_named_are_there(document: Path) -> None:
    """Tests that documents name exist, because faults.md names the test of each guarantee."""
    named = set(re.findall(r"`(tests/[\w./-]+)`", document.read_text()))
    assert {name for name in named if not (CHECKOUT / name).exists()} == set()


def anchors(document: Path) -> set[str]:
    """Return the anchors of headings as GitHub makes them: lower case, blanks as dashes, no punctuation."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_names_every_document() -> None:
    folder = CHECKOUT / "docs"
    index = (folder / "README.md").read_text()
    for part in ("tutorial", "howto", "reference", "explanation"):
        named = set(re.findall(rf"\]\(({part}/[\w-]+\.md)\)", index))
        assert named == {path.relative_to(folder).as_posix() for path in (folder / part).glob("*.md")}


@each_document
def test_kiviat_commands_parse(document: Path) -> None:
    """Command lines in documents are accepted by the real parser, including all options."""
    from kiviat.cli.options.arguments import parsed

    for code in (part for line in code_in(document) for part in line.split(" && ")):
        if not code.startswith("kiviat "):
            continue
        words = shlex.split(re.split(r"\s#", code)[0])[1:]
        words = ["--help" if word == "COMMAND" else word for word in words]
        if len(words) == 1:  # the name of a command within a sentence
            words.append("--help")
        try:
            parsed(words)
        except SystemExit as left:
            assert left.code == 0, f"`{code}` in {document.name}"


def test_messages_name_commands_that_exist() -> None:
    """Messages name existing commands only.

    A finding once recommended `kiviat binding`, which never existed.
    """
    from kiviat.cli.options.arguments import parser

    usage = parser().format_help()
    for path in sorted((CHECKOUT / "src").rglob("*")):
        if path.suffix not in (".py", ".j2", ".html", ".js"):
            continue
        for name in re.findall(r"(?:`|<code>)kiviat ([a-z][a-z-]*)", path.read_text()):
            assert re.search(rf"^    {name}\s", usage, re.M), f"`kiviat {name}` in {path}"


def test_the_readme_names_what_there_is() -> None:
    """The README lists the ten commands that users need, and each of them supports --help."""
    named = {code.split()[1] for code in code_in(CHECKOUT / "README.md") if re.match(r"kiviat [a-z]+", code)}
    assert {"run", "list", "runs", "show", "report", "compare", "export", "sql"} <= named
    for command in sorted(named):
        done = subprocess.run(
            [sys.executable, "-m", "kiviat.cli.main", command, "--help"],
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"usage: kiviat {command}")


@each_document
def test_make_targets_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (CHECKOUT / "Makefile").read_text(), re.M))
    for code in code_in(document):
        if match := re.match(r"make ([a-z][a-z-]*)(?=$| )", code):
            assert match[1] in targets, code


@each_document
def test_code_of_a_file_is_that_file(document: Path) -> None:
    """A sample marked `<!-- file: PATH -->` equals that file."""
    for path, block in re.findall(
        r"<!-- file: (\S+) -->\n```\w*\n(.*?)^```", document.read_text(), re.M | re.S
    ):
        assert block == (CHECKOUT / path).read_text(), f"copy {path} into {document.name} again"


@each_document
def test_plans_in_documents_are_valid(document: Path, tmp_path: Path) -> None:
    """A sample marked `<!-- plan -->` loads and has cases."""
    from kiviat.plan import load_plan, shipped_benchmarks

    for block in re.findall(r"<!-- plan -->\n```toml\n(.*?)^```", document.read_text(), re.M | re.S):
        (tmp_path / "sample.toml").write_text(block)
        assert load_plan(tmp_path / "sample.toml", shipped_benchmarks(), 8).cases


# Variables that Kiviat sets for its own processes.
INTERNAL = {
    *("KIVIAT_COUNTERS", "KIVIAT_CROSSING", "KIVIAT_HELPERS", "KIVIAT_LAUNCH", "KIVIAT_PLATFORM"),
    *("KIVIAT_PROCESSES", "KIVIAT_PROFILE_TAKEN", "KIVIAT_REFILL", "KIVIAT_SIMULATED_TIME"),
    *("KIVIAT_TRACE", "KIVIAT_TRACE_TAKEN", "KIVIAT_UCX_NO_FLUSH", "KIVIAT_UCX_YIELD", "KIVIAT_WAITS"),
}


def test_the_page_of_environment_variables_is_complete() -> None:
    """environment.md names each KIVIAT_… variable that the sources read, and no other."""
    sources = [*(CHECKOUT / "src").rglob("*.py"), *(CHECKOUT / "native").rglob("*.[ch]pp")]
    read = {
        name
        for path in sources
        if "tests" not in path.relative_to(CHECKOUT).parts
        for name in re.findall(r'"(KIVIAT_[A-Z_]+)"', path.read_text())
    }
    page = (CHECKOUT / "docs" / "reference" / "environment.md").read_text()
    assert set(re.findall(r"`(KIVIAT_[A-Z_]+)`", page)) == read - INTERNAL


def test_contributing_shows_a_whole_benchmark() -> None:
    assert "<!-- file: native/bench/" in (CHECKOUT / "CONTRIBUTING.md").read_text()


def test_the_index_of_decisions_is_complete() -> None:
    folder = CHECKOUT / "docs" / "adr"
    index = (folder / "README.md").read_text()
    for path in folder.glob("[0-9]*.md"):
        title = path.read_text().splitlines()[0].lstrip("# ").partition(". ")[2]
        assert f"]({path.name}) | {title} |" in index


def test_make_help_lists_every_target() -> None:
    done = subprocess.run(["make", "-C", CHECKOUT, "help"], capture_output=True, text=True, check=True)
    for target in ("run", "test", "test-full", "lint", "bench", "clean", "help"):
        assert re.search(rf"^  make {target} ", done.stdout, re.M)
