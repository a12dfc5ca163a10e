"""Fragments of HTML that notebooks show. All data are escaped."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from kiviat.record.units import UNAVAILABLE, three_digits

_MOST_ROWS = 20


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], total: int | None = None) -> str:
    """Return a table of the first rows; `total` is the number of all, if `rows` are not all."""
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in columns)
    shown = rows[:_MOST_ROWS]
    lines = [
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(_cell(value)) for value in row)
        )
        for row in shown
    ]
    made = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(
        head, Markup("").join(lines)
    )
    count = len(rows) if total is None else total
    return str(made) + (paragraph(f"{len(shown)} of {count} rows") if count > len(shown) else "")


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def heading(title: str, *remarks: str) -> str:
    """Return a title in bold, followed by remarks."""
    words = escape(", ".join(filter(None, remarks)))
    return f"<p><b>{escape(title)}</b>{' ' if words else ''}{words}</p>"


def items(texts: Sequence[str]) -> str:
    """Return a list of sentences; nothing without any."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def _cell(value: object) -> str:
    if value is None:
        return UNAVAILABLE
    if isinstance(value, bool | int | str):
        return str(value)
    return three_digits(value) if isinstance(value, float) else str(value)
