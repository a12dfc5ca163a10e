"""Changes files as accidents or attackers may: their JSON tree, their lines, their bytes."""

from __future__ import annotations

import copy
import json
import re
from random import Random
from typing import Any

Place = tuple[Any, str | int]

# What stands where something else is expected. A lone surrogate is no text; 10^400 fits no column.
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
    """Lists in lists, more of them than any parser goes down."""

    def __init__(self, depth: int) -> None:
        self.depth = depth


def places(tree: Any) -> list[Place]:
    """Every key and index of a tree, with what holds it."""
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
    """A copy of the tree with something changed, and what."""
    mutant = copy.deepcopy(tree)
    told = []
    for _ in range(times):
        found = places(mutant)
        if not found:
            return rng.choice(STRANGE), "all"
        # All places alike would change the longest list only.
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


def to_json(tree: Any) -> str:
    """As JSON, with what JSON has no words for: NaN, and nesting deeper than Python's own encoder goes."""
    deep: list[Deep] = []

    def known(value: Any) -> str:
        deep.append(value)
        return f"deep-{len(deep) - 1}"

    text = json.dumps(tree, separators=(",", ":"), default=known)
    for index, value in enumerate(deep):
        text = text.replace(f'"deep-{index}"', "[" * value.depth + "]" * value.depth)
    return text


def change_bytes(rng: Random, data: bytes) -> tuple[bytes, str]:
    """Cut, flipped, doubled, or in another encoding."""
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
    """Lines dropped, doubled, swapped, cut; words replaced."""
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


def to_toml(tree: dict[str, Any]) -> str:
    """As TOML, one line for each key of the top."""
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
    return json.dumps(value)
