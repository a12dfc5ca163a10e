from __future__ import annotations

import pytest

from kiviat.plan import RankRule, expand_ranks, expand_sizes
from kiviat.record import InputError


@pytest.mark.parametrize(
    ("written", "sizes"),
    [
        (8, (8,)),
        ("8", (8,)),
        ("1K", (1024,)),
        ("4 MiB", (4 << 20,)),
        ("2g", (2 << 30,)),
        ("0:8", (0, 1, 2, 4, 8)),
        ("1:4", (1, 2, 4)),
        ("0:0", (0,)),
        ("3:20", (3, 6, 12)),
        ("pow2(0, 3)", (1, 2, 4, 8)),
        ("pow2(0, 3),64", (1, 2, 4, 8, 64)),
        ("8,0,1K:2K", (0, 8, 1024, 2048)),
        ([0, "pow2(2,3)", 4], (0, 4, 8)),
        ("8:4194304", tuple(2**k for k in range(3, 23))),
    ],
)
def test_sizes(written: object, sizes: tuple[int, ...]) -> None:
    assert expand_sizes(written, "here") == sizes


@pytest.mark.parametrize(
    "written",
    [
        "",
        "x",
        "8Q",
        "20,000",
        "08",
        "-1",
        -1,
        1.5,
        True,
        "8:4",
        "1:2:3",
        "pow2(3, 2)",
        "pow2(0, 99)",
        [],
        [[8]],
        2**51,
    ],
)
def test_invalid_sizes_are_refused_with_value_and_place(written: object) -> None:
    with pytest.raises(InputError, match="in the file") as refusal:
        expand_sizes(written, "the file")
    assert "\n" not in str(refusal.value)


ANY = RankRule()
PAIR = RankRule(2, 2)
PAIRS = RankRule(2, None, 2)


@pytest.mark.parametrize(
    ("written", "available", "rule", "ranks"),
    [
        ("all", 8, ANY, (8,)),
        ("all", 8, PAIR, (2,)),
        ("all", 7, PAIRS, (6,)),
        ("all", 1, PAIR, ()),
        ("doubling", 8, RankRule(2), (2, 4, 8)),
        ("doubling", 12, RankRule(2), (2, 4, 8, 12)),
        ("doubling", 7, PAIRS, (2, 4, 6)),
        ("doubling", 1, PAIRS, ()),
        (40, 8, ANY, (40,)),
        ([2, 40, "all"], 8, ANY, (2, 8, 40)),
        ("3:20", 8, ANY, (3, 6, 12, 20)),
        ("2,3,4", 8, PAIRS, (2, 4)),
        ("all", 12, RankRule(numbers="powers_of_two"), (8,)),
        ("all", 12, RankRule(numbers="squares"), (9,)),
        ("doubling", 12, RankRule(numbers="powers_of_two"), (2, 4, 8)),
        ("1:16", 16, RankRule(numbers="squares"), (1, 4, 16)),
    ],
)
def test_ranks(written: object, available: int, rule: RankRule, ranks: tuple[int, ...]) -> None:
    assert expand_ranks(written, available, rule, "here") == ranks


def test_ranks_written_out_must_fit_the_rule() -> None:
    with pytest.raises(InputError, match=r"ranks 3 in here does not fit: it runs on exactly 2 ranks"):
        expand_ranks(3, 8, PAIR, "here")
    assert expand_ranks(3, 8, PAIR, "here", strict=False) == ()
    with pytest.raises(InputError, match=r"ranks 3 .* runs on 1, 2, 4, 8 or another power of two ranks"):
        expand_ranks(3, 8, RankRule(numbers="powers_of_two"), "here")


@pytest.mark.parametrize("written", ["x", 0, -2, "1,000", "08", "4:2", True, "", 2.5])
def test_invalid_numbers_of_ranks_are_refused(written: object) -> None:
    with pytest.raises(InputError, match=r"ranks .* in the file"):
        expand_ranks(written, 8, ANY, "the file")
