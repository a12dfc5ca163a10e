"""One table in three renderings: terminal text, data (JSON and CSV), and HTML."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass

import pytest

from kiviat.cli.text.table import print_table, table_lines
from kiviat.report.html.table import table_html
from kiviat.report.table import Absent, Cell, Column, Interval, Table, Value, tabled

HOSTILE = "<b>\x1b[2J"


@dataclass(frozen=True)
class Measured:
    machine: str
    size: int | None
    time_s: float | None
    low_s: float | None = None
    high_s: float | None = None


MEASURED = (
    Measured("hermes", 8, 1.25e-6, 1.2e-6, 1.3e-6),
    Measured("hermes", 1 << 20, 9e-5),
    Measured(HOSTILE, None, None),
)
COLUMNS: tuple[Column[Measured], ...] = (
    Column("machine", lambda one: one.machine, key="machine", merged=True),
    Column("bytes", lambda one: one.size, "B", key="bytes", absent="–"),
    Column("median", lambda one: Value(one.time_s, "s"), key="time_s", side=">", group="time"),
    Column(
        "interval",
        lambda one: Interval(one.low_s, one.high_s, "s"),
        key=("low_s", "high_s"),
        side=">",
        absent="too few launches",
        group="time",
    ),
    Column("", lambda one: Absent("not asked") if one.time_s is None else "yes", key="asked"),
    Column(None, lambda one: [one.size], key="sizes"),
    Column("on pages", lambda one: Cell("x", below=("1 < 2",), hover='"', swatch="run-1")),
)


@pytest.fixture
def table() -> Table:
    return tabled("Times", COLUMNS, MEASURED, notes=["Of one run."])


def test_people_see_aligned_texts_with_units(table: Table) -> None:
    heads, lines = table_lines(table)
    assert [line.split("  ")[0] for line in lines] == ["hermes", "", "<b>\\u001b[2J"]
    assert heads[0].split() == ["machine", "bytes", "time,", "median", "time,", "interval", "on", "pages"]
    assert " ".join(lines[0].split()) == "hermes 8 B 1.25 µs 1.20 – 1.30 µs yes x"
    assert " ".join(lines[1].split()) == "1 MiB 90.0 µs too few launches yes x"
    assert " ".join(lines[2].split()[1:]) == "– unavailable too few launches not asked x"
    ends = [line.index(word) + len(word) for line, word in zip(lines, ("8 B", "1 MiB", "–"), strict=True)]
    assert len(set(ends)) == 1


def test_nothing_is_cut_on_a_narrow_terminal() -> None:
    words = "a sentence that is wider than the terminal and has to be wrapped"
    table = tabled(
        "Words", [Column("name", lambda one: one[0]), Column("words", lambda one: one[1])], [("a", words)]
    )
    heads, lines = table_lines(table, 30)
    assert heads and len(lines) > 1 and all(len(line) <= 30 for line in (*heads, *lines))
    assert " ".join(" ".join(lines).split()) == f"a {words}"
    heads, lines = table_lines(table, 12)  # too narrow for columns: each row becomes a block
    assert not heads and [line.split("  ")[0] for line in lines] == ["name", "words", ""]
    assert words in lines[1]


def test_programs_get_numbers_and_null(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table, "json")
    entries = json.loads(capsys.readouterr().out)
    assert entries[0] == {
        "machine": "hermes",
        "bytes": 8,
        "time_s": 1.25e-6,
        "low_s": 1.2e-6,
        "high_s": 1.3e-6,
        "asked": "yes",
        "sizes": [8],
    }
    assert entries[1]["machine"] == "hermes" and entries[1]["low_s"] is None
    assert [entries[2][key] for key in ("machine", "bytes", "time_s", "asked")] == [HOSTILE, None, None, None]
    print_table(table, "csv")
    from_csv = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [list(row) for row in from_csv] == [list(entries[0])] * 3
    assert (
        from_csv[0]["time_s"] == "1.25e-06" and from_csv[2]["time_s"] == "" and from_csv[0]["sizes"] == "[8]"
    )


def test_csv_has_its_heads_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(tabled("Times", COLUMNS, []), "csv")
    assert capsys.readouterr().out == "machine,bytes,time_s,low_s,high_s,asked,sizes\n"
    print_table(tabled("Times", COLUMNS, []), "json")
    assert json.loads(capsys.readouterr().out) == []


def test_pages_have_merged_cells_groups_and_escaped_texts(table: Table) -> None:
    page = str(table_html(table, captioned=True))
    assert '<th scope="rowgroup" rowspan="2">hermes</th>' in page and page.count("hermes") == 1
    assert '<th scope="colgroup" colspan="2" class="n">Time</th>' in page
    assert page.count('rowspan="2"') == 5  # hermes, and the four headings beside the group
    assert "&lt;b&gt;" in page and "<b>" not in page
    assert '<span class="below">1 &lt; 2</span>' in page and 'title="&#34;"' in page
    assert "<caption>Times</caption>" in page and '<p class="small">Of one run.</p>' in page
    assert "too few launches" in page and '"sizes"' not in page


def test_of_a_table_without_rows_pages_have_its_notes() -> None:
    empty = tabled("Times", COLUMNS, [], notes=["None < 1."])
    assert table_html(empty, captioned=True) == "<p><b>Times.</b> None &lt; 1.</p>"


def test_rows_share_headings_above_them() -> None:
    names: list[Column[str]] = [Column("name", lambda one: one, merged=True)]
    table = tabled("Names", names, ["ab", "ac", "ac", "bc"], part_of=lambda one: one[0].upper())
    assert [row.above for row in table.rows] == ["A", "", "", "B"]
    page = str(table_html(table))
    assert page.count("<tbody>") == 2 and page.count("<tr") == 1 + 2 + 4
    assert '<tr class="part"><th scope="rowgroup" colspan="1"><span>B</span></th></tr>' in page
    assert table_lines(table)[1] == ["A", "ab", "ac", "", "B", "bc"]


def test_cells_are_merged_within_merged_cells_before_them() -> None:
    columns: list[Column[tuple[str, str]]] = [
        Column("kernel", lambda one: one[0], merged=True),
        Column("rate", lambda one: one[1], merged=True),
    ]
    table = tabled("Rates", columns, [("a", "1"), ("a", "1"), ("b", "1")])
    assert table.texts() == [["a", "1"], ["", ""], ["b", "1"]]
    page = str(table_html(table))
    assert page.count('rowspan="2"') == 2 and page.count(">1<") == 2


def test_texts_are_the_same_on_the_terminal_and_on_pages(table: Table) -> None:
    page = str(table_html(table))
    for row in table.texts():
        for text in row:
            if HOSTILE not in text:
                assert f">{text}<" in page
