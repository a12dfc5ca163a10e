"""Notation of sizes and numbers of ranks in plans and on the command line."""

from __future__ import annotations

import re

from kiviat.plan.benchmark import RankRule
from kiviat.record import InputError

_POWERS = re.compile(r"pow2\(\s*(0|[1-9]\d?)\s*,\s*(0|[1-9]\d?)\s*\)")
_SIZE = re.compile(r"(0|[1-9]\d{0,17})\s*([kKmMgGtTpP])?(?:iB|B)?")
_COUNT = re.compile(r"[1-9]\d{0,8}")
_UNIT = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_LARGEST = 2**50
_SIZE_HELP = 'write bytes such as 8, 64K or 4M, ranges such as "0:4M" or "pow2(0, 22)", or a list of these'
_RANKS_HELP = 'write a number, "all", "doubling", a range such as "2:16", or a list of these'


def expand_sizes(value: object, where: str) -> tuple[int, ...]:
    """Return the distinct message sizes in bytes, ascending; InputError for anything unreadable.

    `"0:4M"` and `"pow2(0, 22)"` double from the first to the last; a range from 0 continues with 1.
    """
    sizes = {size for item in _items(value) for size in _sizes(item, where)}
    if not sizes:
        raise InputError(f"no sizes in {where}; {_SIZE_HELP}")
    return tuple(sorted(sizes))


def size_or_none(text: str) -> int | None:
    """Return the number that text such as 4096, 64K and 2 TiB states; None for other text."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNIT[(match[2] or "").lower()] if match else None


def expand_ranks(
    value: object, available: int, rule: RankRule, where: str, strict: bool = True
) -> tuple[int, ...]:
    """Return the numbers of ranks that fit the rule; empty if `available` is too small for "all", "doubling".

    If `strict`, raise InputError if numbers are given explicitly and none fits.
    """
    asked: set[int] = set()
    written = False
    for item in _items(value):
        if item == "all":
            largest = rule.largest(available)
            asked |= set() if largest is None else {largest}
        elif item == "doubling":
            largest = rule.largest(available)
            asked |= set() if largest is None else set(doubling(rule.min if rule.min > 1 else 2, largest))
        else:
            written = True
            asked |= set(_numbers_of_ranks(item, where))
    fitting = tuple(sorted(ranks for ranks in asked if rule.fits(ranks)))
    if strict and written and not fitting:
        raise InputError(f"ranks {value!r} in {where} does not fit: it runs on {rule}; change that")
    return fitting


def _items(value: object) -> list[object]:
    if isinstance(value, str):
        return [word.strip() for word in re.split(r",(?![^()]*\))", value)]
    return list(value) if isinstance(value, list | tuple) else [value]


def _sizes(item: object, where: str) -> list[int]:
    if isinstance(item, int) and not isinstance(item, bool):
        return [_bounded(item, where)]
    if not isinstance(item, str):
        raise InputError(f"size {item!r} in {where} is not a size; {_SIZE_HELP}")
    if powers := _POWERS.fullmatch(item.strip()):
        first, last = int(powers[1]), int(powers[2])
        if first > last or last > 50:
            raise InputError(f"sizes {item!r} in {where}: exponents run from low to high, 50 at most")
        return [2**exponent for exponent in range(first, last + 1)]
    if ":" in item:
        low, high = (_size(word, item, where) for word in item.split(":", 1))
        if low > high:
            raise InputError(f"sizes {item!r} in {where}: the first is larger than the last; swap them")
        doubled = [max(low, 1)]
        while doubled[-1] * 2 <= high:
            doubled.append(doubled[-1] * 2)
        return [size for size in (low, *doubled) if size <= high]
    return [_size(item, item, where)]


def _size(word: str, item: str, where: str) -> int:
    size = size_or_none(word.strip())
    if size is None:
        raise InputError(f"size {item!r} in {where} is not a size; {_SIZE_HELP}")
    return _bounded(size, where)


def _bounded(size: int, where: str) -> int:
    if not 0 <= size <= _LARGEST:
        raise InputError(f"size {size} in {where} is out of range; sizes are 0 to 2^50 bytes")
    return size


def _numbers_of_ranks(item: object, where: str) -> list[int]:
    words = str(item).split(":", 1)
    if isinstance(item, bool) or not all(_COUNT.fullmatch(word.strip()) for word in words):
        raise InputError(f"number of ranks {item!r} in {where} cannot be read; {_RANKS_HELP}")
    low, high = int(words[0]), int(words[-1])
    if low > high:
        raise InputError(f"ranks {item!r} in {where}: the first is larger than the last; swap them")
    return doubling(low, high)


def doubling(low: int, high: int) -> list[int]:
    """Return low, 2·low, … and high, as IMB does with -npmin."""
    numbers = []
    while low < high:
        numbers.append(low)
        low *= 2
    return [*numbers, high]
