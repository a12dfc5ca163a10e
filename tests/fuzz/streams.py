"""Mutations of binary files: flipped bits, truncation, extreme numbers."""

from __future__ import annotations

import json
import random
import zlib
from typing import Any

EXTREMES = (0, 1, 2, 7, 127, 128, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 33, 1 << 40)
HUGE = (*EXTREMES, (1 << 62) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_BOMB = 1 << 22  # bytes that compress to some thousand
ODD: tuple[object, ...] = (
    None,
    True,
    -1,
    1 << 70,
    1.5,
    float("nan"),
    "",
    "\ud800\x1b[31m",
    [],
    {},
    [[]],
    {"": 0},
)


def numbers_of(stream: bytes) -> list[int]:
    found, value, shift = [], 0, 0
    for octet in stream:
        value |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            found.append(value)
            value = shift = 0
    return found


def stream_of(numbers: list[int]) -> bytes:
    octets = bytearray()
    for number in numbers:
        rest = number
        while rest >= 0x80:
            octets.append(rest & 0x7F | 0x80)
            rest >>= 7
        octets.append(rest)
    return bytes(octets)


def mutated_stream(source: random.Random, stream: bytes) -> bytes:
    """Mutate a stream of LEB128 numbers; often only the values of some numbers, so that the rest keeps its
    meaning.
    """
    kind = source.random()
    if kind < 0.7:
        numbers = numbers_of(stream)
        for _ in range(source.choice((1, 1, 1, 2, 5))):
            numbers[source.randrange(len(numbers))] = source.choice((*HUGE, source.randrange(64)))
        return stream_of(numbers)
    return mutated_bytes(source, stream)


def mutated_bytes(source: random.Random, content: bytes) -> bytes:
    octets = bytearray(content)
    kind = source.randrange(4)
    at = source.randrange(len(octets))
    if kind == 0:
        for _ in range(source.choice((1, 1, 8))):
            octets[source.randrange(len(octets))] ^= 1 << source.randrange(8)
    elif kind == 1:
        del octets[at:]
    elif kind == 2:
        del octets[at : at + source.choice((1, 2, 30))]
    else:
        octets[at:at] = octets[: source.choice((1, 10, 300))]
    return bytes(octets)


def mutated_words(source: random.Random, words: Any) -> Any:
    """Mutate the JSON part of a file: replace, remove or nest something."""
    places: list[tuple[Any, Any]] = []

    def walk(one: Any) -> None:
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            places.append((one, key))
            walk(one[key])

    walk(words)
    for _ in range(source.choice((1, 1, 2))):
        inside, key = source.choice(places)
        kind = source.random()
        if kind < 0.15 and isinstance(inside, dict):
            inside.pop(key, None)
        elif kind < 0.25 and isinstance(inside, list):
            del inside[key:]
        elif isinstance(inside, dict) or key < len(inside):
            inside[key] = source.choice((*HUGE, *ODD))
    return words


def mutated(source: random.Random, content: bytes) -> bytes:
    """Mutate a trace or a merged profile, often with valid checksums and lengths."""
    if source.random() < 0.2:
        return mutated_bytes(source, content)
    is_trace = content.startswith(b'{"format":"kiviat.trace')
    return _trace(source, content) if is_trace else _profile(source, content)


def _trace(source: random.Random, content: bytes) -> bytes:
    first, _, words, streams = content.split(b"\n", 3)
    about = json.loads(words)
    packed = []
    for one in about["each"]:
        packed.append(streams[: one["packed"]])
        streams = streams[one["packed"] :]
    kind = source.random()
    if kind < 0.4:
        at = source.randrange(len(packed))
        stream = zlib.decompress(packed[at])
        stream = source.choice((stream * 9, b"\0" * _BOMB, mutated_stream(source, stream)))
        packed[at] = zlib.compress(stream)
        about["each"][at] |= {"packed": len(packed[at]), "crc32": zlib.crc32(packed[at])}
        if source.random() < 0.7:
            about["each"][at]["length"] = len(stream)
    elif kind < 0.5:
        at = source.randrange(len(packed))
        packed[at] = mutated_bytes(source, packed[at])
        about["each"][at] |= {"packed": len(packed[at]), "crc32": zlib.crc32(packed[at])}
    elif kind < 0.9:
        about = mutated_words(source, about)
    else:
        first = _line(mutated_words(source, json.loads(first)))
    return b"\n".join((first, *checked(about), b"".join(packed)))


def _profile(source: random.Random, content: bytes) -> bytes:
    first, second, octets = content.split(b"\n", 2)
    told = json.loads(second)
    kind = source.random()
    if kind < 0.5:
        octets = mutated_stream(source, octets)
        told |= {"bytes": len(octets), "adler32": zlib.adler32(octets)}
    elif kind < 0.75:
        told = mutated_words(source, told)
    else:
        first = _line(mutated_words(source, json.loads(first)))
    return b"\n".join((first, _line(told), octets))


def checked(words: Any) -> tuple[bytes, bytes]:
    line = _line(words)
    return _line({"bytes": len(line), "crc32": zlib.crc32(line)}), line


def _line(words: Any) -> bytes:
    return json.dumps(words, separators=(",", ":")).encode()
