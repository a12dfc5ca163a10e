"""Site folders: where they are searched, and which contents are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.record import InputError, data_path, published, site


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Create four site folders: two in $KIVIAT_SITE, one of the user, one of an installed package."""
    made = [tmp_path / "one", tmp_path / "two", tmp_path / "config" / "kiviat", tmp_path / "site_package"]
    for folder in made:
        (folder / "plans").mkdir(parents=True)
    (tmp_path / "site_package" / "__init__.py").touch()
    info = tmp_path / "site_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: site-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kiviat.site]\nours = site_package\n")
    monkeypatch.setenv("KIVIAT_SITE", f"{made[0]}:{made[1]}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.syspath_prepend(tmp_path)
    site._folders.cache_clear()
    return made


def test_folders_in_their_order(folders: list[Path]) -> None:
    assert list(site.site_folders()) == folders
    assert site.own_folder() == folders[0]


def test_without_any_new_files_are_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KIVIAT_SITE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert site.own_folder() == tmp_path / "kiviat"
    assert tmp_path / "kiviat" not in site.site_folders()


def test_files_are_found_by_kind(folders: list[Path]) -> None:
    for folder, name in zip(folders, "abcd", strict=True):
        (folder / "plans" / f"{name}.toml").touch()
        (folder / "plans" / "notes.md").touch()
    (folders[0] / "benchmarks" / "deep").mkdir(parents=True)
    (folders[0] / "benchmarks" / "deep" / "ring.cpp").touch()
    shipped = folders[0].parent / "shipped"
    shipped.mkdir()
    (shipped / "quick.toml").touch()
    assert list(site.by_name("plans", shipped)) == ["quick", "a", "b", "c", "d"]
    assert [path.name for path in site.site_files("benchmarks")] == ["ring.cpp"]


def test_two_of_one_name_are_refused(folders: list[Path]) -> None:
    for folder in folders[:2]:
        (folder / "plans" / "ours.toml").touch()
    with pytest.raises(InputError, match=r"two/plans/ours.toml and .*one/plans/ours.toml have the same name"):
        site.by_name("plans", folders[0].parent)


def test_a_site_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIVIAT_SITE", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"KIVIAT_SITE names .*none, which is not a folder"):
        site.site_folders()


def test_published_results_of_a_site_are_known(folders: list[Path]) -> None:
    paper = min(data_path("published").glob("*.toml"))
    (folders[0] / "published").mkdir()
    (folders[0] / "published" / "ours.toml").write_text(paper.read_text())
    published.papers.cache_clear()
    try:
        assert "ours" in {one.name for one in published.papers()}
    finally:
        published.papers.cache_clear()
