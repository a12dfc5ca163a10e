"""Mutations of files, as accidents or attackers could make them: of JSON trees, lines and bytes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

Place = tuple[Any, str | int]

# Values put in place of others. A lone surrogate cannot be encoded; 10^400 does not fit into any column.
STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2.5, -0.0, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400),
    *(1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        "x",
        "0",
        "nan",
        "\ud800",
        "a\0b",
        "\x1b[31mred\x1b[0m",
        "a\nb",
        "…" * 50,
        "x" * 70_000,
        "../../etc",
    ),
    *([], [None], [[]], [1, "a"], {}, {"": 0}, {"x": {"y": []}}),
)


class Deep:
    """A list nested more deeply than any parser supports."""

    def __init__(self, depth: int) -> None:
        self.depth = depth


def places(tree: Any) -> list[Place]:
    """Return every key and index of a tree, with its container."""
    found: list[Place] = []
    todo = [tree]
    while todo:
        holder = todo.pop()
        keys = (
            list(holder)
            if isinstance(holder, dict)
            else range(len(holder))
            if isinstance(holder, list)
            else ()
        )
        for key in keys:
            found.append((holder, key))
            todo.append(holder[key])
    return found


def change(rng: Random, tree: Any, times: int = 1) -> tuple[Any, str]:
    """Return a changed copy of the tree, and a description of the change."""
    mutant = copy.deepcopy(tree)
    told = []
    for _ in range(times):
        found = places(mutant)
        if not found:
            return rng.choice(STRANGE), "all"
        # Choosing uniformly among all places would nearly always change the longest list.
        kinds = sorted({str(key) if isinstance(key, str) else "[]" for _, key in found})
        kind = rng.choice(kinds)
        holder, key = rng.choice(
            [one for one in found if (str(one[1]) if isinstance(one[1], str) else "[]") == kind]
        )
        told.append(_change(rng, holder, key))
    return mutant, "; ".join(told)


def _change(rng: Random, holder: Any, key: Any) -> str:
    how = rng.choice(
        ("drop", "replace", "replace", "replace", "replace", "swap", "again", "rename", "deep", "wrap")
    )
    value = holder[key]
    if how == "drop":
        del holder[key]
    elif how == "replace":
        holder[key] = copy.deepcopy(rng.choice(STRANGE))
        return f"{key!r}: {str(value)[:30]} → {str(holder[key])[:30]!a}"
    elif how == "swap":
        other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        holder[key], holder[other] = holder[other], holder[key]
    elif how == "again":
        if isinstance(holder, list):
            holder.insert(key, value)
        else:
            holder[f"{key}_"] = value
    elif how == "rename":
        if isinstance(holder, dict):
            holder[rng.choice(("", "\ud800", str(key).upper(), "__class__"))] = holder.pop(key)
    elif how == "deep":
        holder[key] = Deep(rng.choice((40, 3000, 100_000)))
    else:
        holder[key] = [value] if rng.random() < 0.5 else {"value": value}
    return f"{how} {key!r}"


# Replacement values of the same type: a schema accepts most of them, so they reach the computations.
_NUMBERS = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e300, 1.7e308, -1e308, 1e-9, 1e9, 0.1 + 0.2)
_WHOLE = (0, 1, 2, 3, 7, 64, 1000, 2**31 - 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -1)
TEXTS = (
    *(
        "",
        " ",
        "-",
        ".",
        "..",
        "../../x",
        "/etc/passwd",
        "a b",
        "é",
        "\u202egnp",
        "\x1b[2J",
        "\x00",
        "\n",
        "\t",
    ),
    *(
        "<script>x()</script>",
        "'\"><img src=x onerror=x()>",
        "{{x}}",
        "${x}",
        "`x`",
        "%s%n",
        "x" * 5000,
        "NaN",
    ),
    *("null", "1e999", "-1", "=cmd|' /C calc'!A0", "\\", "a,b", 'a"b', "n0", "node", "2026-13-45T99:99:99Z"),
)


def change_alike(rng: Random, trees: list[Any], times: int = 1) -> tuple[list[Any], str]:
    """Return copies of the trees with one value replaced by another of the same type, in one tree or at the
    same place of all trees.
    """
    mutants = copy.deepcopy(trees)
    told = []
    for _ in range(times):
        everywhere = [(at, path) for at, tree in enumerate(mutants) for path in _leaves(tree)]
        if not everywhere:
            break
        names = sorted({_name(path) for _, path in everywhere})
        name = rng.choice(names)
        alike = [one for one in everywhere if _name(one[1]) == name]
        chosen = alike if rng.random() < 0.5 else [rng.choice(alike)]
        new: Any = ...
        for at, path in chosen:
            holder = mutants[at]
            for key in path[:-1]:
                holder = holder[key]
            if new is ... or rng.random() < 0.1:
                new = _alike(
                    rng, holder[path[-1]], [_at(mutants[where], other) for where, other in alike[:50]]
                )
            holder[path[-1]] = copy.deepcopy(new)
        told.append(f"{name} ({len(chosen)}×) → {str(new)[:30]!a}")
    return mutants, "; ".join(told)


def _alike(rng: Random, value: Any, others: list[Any]) -> Any:
    how = rng.random()
    if how < 0.1:
        return None
    if how < 0.25:
        return rng.choice(others)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int) and how < 0.8:
        return rng.choice((*_WHOLE, value + 1, value - 1, 2 * value))
    if isinstance(value, int | float):
        return rng.choice((*_NUMBERS, -value, value * 1e6, value * 1e-6))
    if isinstance(value, str):
        return rng.choice((*TEXTS, value * 2, value[: len(value) // 2], value.upper()))
    if isinstance(value, list):
        return rng.choice(([], value[:1], value + value, value[::-1]))
    if isinstance(value, dict):
        return rng.choice(({}, {**value, rng.choice(TEXTS): 1}, dict(list(value.items())[:1])))
    return rng.choice((0, 1.0, "", [], {}))


def _leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the paths of all values, including containers."""
    if path:
        yield path
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield from _leaves(tree[key], (*path, key))


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(str(key) if isinstance(key, str) else "[]" for key in path)


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def to_json(tree: Any) -> str:
    """Return JSON, also for values that JSON lacks (NaN) and for nesting deeper than Python's encoder
    supports.
    """
    deep: list[Deep] = []

    def known(value: Any) -> str:
        deep.append(value)
        return f"deep-{len(deep) - 1}"

    text = json.dumps(tree, separators=(",", ":"), default=known)
    for index, value in enumerate(deep):
        text = text.replace(f'"deep-{index}"', "[" * value.depth + "]" * value.depth)
    return text


def change_bytes(rng: Random, data: bytes) -> tuple[bytes, str]:
    """Return the data truncated, with flipped bits, duplicated, or in another encoding."""
    at = rng.randrange(len(data)) if data else 0
    how = rng.choice(("cut", "flip", "remove", "double", "nul", "latin", "utf-16", "bom", "not utf-8", "cr"))
    changed = (
        {
            "cut": lambda: data[:at],
            "flip": lambda: data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :],
            "remove": lambda: data[:at] + data[at + rng.randrange(1, 40) :],
            "double": lambda: data[:at] + data[max(0, at - rng.randrange(1, 400)) :],
            "nul": lambda: data[:at] + b"\0" * rng.choice((1, 100)) + data[at:],
            "latin": lambda: data.decode("utf-8", "replace").replace("e", "é").encode("latin-1", "replace"),
            "utf-16": lambda: data.decode("utf-8", "replace").encode("utf-16"),
            "bom": lambda: b"\xef\xbb\xbf" + data,
            "not utf-8": lambda: data[:at] + b"\xff\xfe\xc0" + data[at:],
            "cr": lambda: data.replace(b"\n", b"\r"),
        }[how]()
        if data
        else b"\0"
    )
    return changed, f"{how} at {at}"


WORDS = (
    *(
        "0",
        "-1",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "9" * 25,
        "9" * 5000,
        "²",
        "٣",
        "1_000",
        "0x10",
        "1.2.3",
        "",
        "-",
        "*",
    ),
    *("\x1b[31m", "\x00", "—", "x" * 10_000, "#", "=", "[", '"'),
)


def change_lines(rng: Random, text: str) -> tuple[str, str]:
    """Drop, duplicate, swap or truncate lines, or replace words."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    how = rng.choice(
        (
            "drop",
            "double",
            "swap",
            "cut",
            "word",
            "word",
            "word",
            "word",
            "number",
            "number",
            "end",
            "from",
            "fill",
        )
    )
    if how == "drop":
        del lines[at : at + rng.choice((1, 1, 3, 20))]
    elif how == "double":
        lines[at:at] = lines[at : at + rng.choice((1, 3, 20))]
    elif how == "swap":
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif how == "cut":
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    elif how in ("word", "number"):
        matches = [
            (index, one)
            for index, line in enumerate(lines)
            for one in re.finditer(r"\S+" if how == "word" else r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", line)
        ]
        if matches:
            index, one = rng.choice(matches)
            word = rng.choice(WORDS)
            lines[index] = lines[index][: one.start()] + word + lines[index][one.end() :]
            return "\n".join(lines), f"line {index + 1}: {one[0][:20]!r} → {word[:20]!r}"
    elif how == "end":
        lines = lines[: at + 1]
    elif how == "from":
        lines = lines[at:]
    else:
        lines.insert(at, rng.choice(WORDS) * rng.choice((1, 3)))
    return "\n".join(lines), f"{how} at line {at + 1}"


def to_toml(tree: Any) -> str:
    """Return TOML with one line for each top-level key; invalid TOML if the tree is not a table."""
    if not isinstance(tree, dict):
        return _toml(tree)
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in tree.items())


def _toml(value: Any) -> str:
    if isinstance(value, Deep):
        return "[" * value.depth + "]" * value.depth
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if value is None:
        return '"null"'
    if isinstance(value, float):
        return repr(value)
    return value.isoformat() if isinstance(value, date) else json.dumps(value)
