"""Formatting of quantities."""

import pytest

from kiviat.record.units import axis_text, counted, format_bytes, format_size, format_value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.234e-6, "s", "1.23 µs"),
        (999.4e-9, "s", "999 ns"),
        (999.6e-9, "s", "1.00 µs"),  # rounding carries into the next prefix
        (5e-10, "s", "0.500 ns"),
        (12345.0, "s", "12300 s"),
        (12.34e9, "B/s", "12.3 GB/s"),
        (999.6e6, "B/s", "1.00 GB/s"),
        (4.2e6, "1/s", "4.20 M/s"),
        (3.0, "1/s", "3.00 1/s"),
        (2e12, "flop/s", "2.00 Tflop/s"),
        (69.4e6, "flop/J", "69.4 Mflop/s per W"),
        (2e8, "op/s", "200 Mop/s"),
        (7.456e-14, "1", "7.46e-14"),
        (9.999e-5, "1", "0.000100"),
        (45.67, "%", "45.7 %"),
        (1.5, "1", "1.50"),
        (0.0, "s", "0 s"),
        (-2e-6, "s", "-2.00 µs"),
        (None, "s", "unavailable"),
        (float("nan"), "B/s", "unavailable"),
    ],
)
def test_values(value: float | None, unit: str, text: str) -> None:
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (1000, "1000 B"),
        (1024, "1 KiB"),
        (65536, "64 KiB"),
        (2_000_000, "1.91 MiB"),
        (4 << 20, "4 MiB"),
        (None, "unavailable"),
    ],
)
def test_bytes(count: int | None, text: str) -> None:
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1536, "1.5 KiB"),
        (1300, "1,300 B"),
        (20_000, "20,000 B"),
        (1000 << 10, "1000 KiB"),
        (4 << 20, "4 MiB"),
        ((4 << 20) + 1, "4,194,305 B"),
        (None, "unavailable"),
    ],
)
def test_sizes_of_messages_are_exact(count: int | None, text: str) -> None:
    assert format_size(count) == text


def test_counts() -> None:
    assert [counted(1, "rank"), counted(0, "rank"), counted(1024, "rank")] == [
        "1 rank",
        "0 ranks",
        "1,024 ranks",
    ]
    assert [counted(1, "launch"), counted(2, "launch")] == ["1 launch", "2 launches"]


def test_axes() -> None:
    words = [axis_text("scope", "single"), axis_text("memory", "auto:268435456"), axis_text("memory", "auto")]
    assert words == ["scope single", "memory 256 MiB (auto)", "memory auto"]
