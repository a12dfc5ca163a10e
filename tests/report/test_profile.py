"""The profile page in a real browser."""

from __future__ import annotations

import numpy as np
from playwright.sync_api import expect

from kiviat.profile import Traffic, Waits
from kiviat.profile.profile import Groups
from kiviat.report.profile.page import render_profile
from tests.profiler.made_up import halo_profile, halo_waits

from .conftest import Open


def test_calls_pattern_and_maps(open_page: Open) -> None:
    page = open_page(render_profile(halo_profile()))
    expect(page.locator("h1")).to_have_text("halo <b>, 16 ranks")
    expect(page.locator(".number .value").first).to_have_text("23.5 %")
    expect(page.locator("#calls tbody th").first).to_have_text("MPI_Waitall")
    expect(page.locator("#who li").first).to_contain_text("nearest neighbours in a 4 × 4 torus")
    expect(page.locator("#matrix")).to_be_visible()
    expect(page.locator("#share")).to_be_visible()
    expect(page.locator("#share .x-ticks text")).to_have_text([str(rank) for rank in range(0, 16, 2)])


def test_what_was_not_counted_is_not_zero() -> None:
    """If 15 of 16 ranks left no profile and no traffic is known, the page reports both and draws no zeros."""
    seen = np.array([True] + [False] * 15)
    whole = halo_profile()
    kept = whole.calls.rank == 0
    calls = type(whole.calls)(**{name: getattr(whole.calls, name)[kept] for name in whole.calls.__slots__})
    none = Traffic.of_entries(16, [])
    html = render_profile(
        halo_profile(
            seen=seen,
            node=np.where(seen, 0, -1),
            calls=calls,
            sent=none,
            groups=Groups(*(np.zeros(0, dtype=np.int64),) * 7),
            seconds=np.where(seen, 10.0, np.nan),
            interfaces=(),
        )
    )
    assert "15 of 16 ranks left nothing" in html
    assert "No rank sends anything to another." in html
    assert 'id="matrix"' not in html


def test_many_ranks_become_blocks() -> None:
    """A page of 900 ranks shows blocks of ranks and stays below 8 MB."""
    html = render_profile(halo_profile(side=30, per_node=30))
    assert "0–4" in html
    assert len(html) < 8_000_000


def test_who_waits_for_whom(open_page: Open) -> None:
    page = open_page(render_profile(halo_profile(waits=halo_waits())))
    section = page.locator("#waits")
    expect(section.locator("p").first).to_contain_text("16.0 % of the time in MPI")
    expect(section.locator("p").first).to_contain_text("Most of it is for rank 15 (75 %)")
    expect(section.locator("tbody th").first).to_have_text("MPI_Allreduce")
    expect(section.locator("#waiting")).to_be_visible()


def test_waiting_that_nobody_knows_is_not_none() -> None:
    html = render_profile(halo_profile(waits=Waits.none("several threads of rank 0 call MPI")))
    assert "are unavailable: several threads of rank 0 call MPI." in html
    assert 'id="waiting"' not in html
    assert 'id="waits"' not in render_profile(halo_profile())
