"""The timeline of a program as a static drawing, and its longest waits as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from kiviat.profile.timeline import Floats, Timeline
from kiviat.record.units import counted, format_value
from kiviat.report.html.svg import Drawing
from kiviat.report.profile.tables import longest_table
from kiviat.report.table import Table

_WIDTH, _LEFT, _TOP, _BOTTOM = 1040.0, 62.0, 8.0, 40.0
_HEIGHT_OF_ROWS, _MOST_ROW, _LEAST_ROW = 420.0, 26.0, 8.0
_MOST_ARROWS = 60
_MOST_LINES = 12
_LEAST_NAME = 11.0  # height in pixels that a name needs
_STEPS = 20  # of a share; finer ones are not seen


def timeline_svg(timeline: Timeline) -> Markup:
    """Return a row for each rank, or block of ranks: time goes to the right, shares fill the row's height.

    Waiting fills a row from below, other time in MPI lies above it, and the rest is outside of MPI. Arrows
    lead from the awaited rank to the waiting one, at the end of the wait, for the longest waits.
    """
    row = min(_MOST_ROW, max(_LEAST_ROW, _HEIGHT_OF_ROWS / timeline.rows))
    inner = row - (3 if row > 12 else 1)
    height = _TOP + row * timeline.rows + _BOTTOM
    drawing = Drawing(_WIDTH, height)
    width = _WIDTH - _LEFT - 12
    named = math.ceil(_LEAST_NAME / row)
    for at in range(timeline.rows):
        bottom = _TOP + row * at + inner
        drawing.box((_LEFT + width / 2, bottom - inner / 2), width, inner, "outside")
        for shares, kind in ((timeline.in_mpi[at], "in-mpi"), (timeline.waiting[at], "waiting")):
            if path := _area(shares, width, bottom, inner):
                drawing.path(path, kind, 0)
        if at % named == 0:
            drawing.text((_LEFT - 8, bottom - inner / 2 + 4), timeline.name(at), "name", "end")
    _axis(drawing, timeline.elapsed_s, width, _TOP + row * timeline.rows)
    arrows = sorted(timeline.longest, key=lambda wait: wait.begin_s - wait.end_s)[:_MOST_ARROWS]
    for wait in arrows:
        x = _LEFT + width * min(1.0, wait.end_s / timeline.elapsed_s)
        source, target = (
            _TOP + row * (rank // timeline.block) + inner / 2 for rank in (wait.cause, wait.rank)
        )
        if source != target:
            drawing.lines([((x, source), (x, target))], "arrow", 1.2)
            drawing.dot(
                (x, target),
                2.6,
                "arrow-head",
                f"rank {wait.rank} waited {format_value(wait.end_s - wait.begin_s, 's')} for rank "
                f"{wait.cause} in {wait.call}: {wait.kind}",
            )
    return Markup(drawing.svg(timeline_words(timeline)).replace('class="topology"', 'class="timeline"', 1))


def timeline_words(timeline: Timeline) -> str:
    """Return what the drawing shows, in words."""
    what = "rank" if timeline.block == 1 else f"block of {timeline.block} ranks"
    waiting = 100 * float(timeline.waiting.mean())
    return (
        f"Timeline of {counted(timeline.ranks, 'rank')}, a row for each {what}, over "
        f"{format_value(timeline.elapsed_s, 's')}: ranks wait for others for {waiting:.0f} % of the time"
    )


def longest(timeline: Timeline) -> Table:
    """Return the table of the longest waits, the longest first."""
    waits = sorted(timeline.longest, key=lambda wait: wait.begin_s - wait.end_s)[:_MOST_LINES]
    few = f", {len(waits)} of {timeline.waits:,}" if timeline.waits > len(waits) else ""
    return longest_table(waits, f"The longest waits{few}")


def _area(shares: Floats, width: float, bottom: float, height: float) -> str:
    """Return the steps of an area over `bottom`; a step of equal shares is one line."""
    levels: Sequence[int] = [round(_STEPS * share) for share in shares.tolist()]
    if not any(levels):
        return ""
    step, words, before = width / len(levels), [f"M{_LEFT:.1f} {bottom:.1f}"], 0
    for at, level in enumerate(levels):
        if level != before:
            words.append(f"H{_LEFT + at * step:.1f}V{bottom - height * level / _STEPS:.1f}")
            before = level
    words.append(f"H{_LEFT + width:.1f}V{bottom:.1f}Z")
    return "".join(words)


def _axis(drawing: Drawing, elapsed_s: float, width: float, y: float) -> None:
    """Draw ticks at round times: 1, 2 or 5 times a power of ten apart, at most ten."""
    rough = elapsed_s / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    drawing.lines([((_LEFT, y + 2), (_LEFT + width, y + 2))], "axis")
    for tick in range(int(elapsed_s / step + 1e-9) + 1):
        x = _LEFT + width * tick * step / elapsed_s
        drawing.lines([((x, y + 2), (x, y + 7))], "axis")
        words = "0 s" if tick == 0 else format_value(tick * step, "s")
        last = x > _LEFT + width - _LEFT / 2
        drawing.text((x, y + 22), words, "note", "end" if last else "middle")
