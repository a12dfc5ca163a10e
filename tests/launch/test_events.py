from __future__ import annotations

from pathlib import Path

from kiviat.launch.run.events import Tail


def test_lines_arrive_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    tail = Tail(path)
    assert list(tail.read()) == [], "the file need not be there yet"
    with path.open("a") as file:
        for piece, expected in (
            ('{"event":"sta', []),
            ('rt"}\n{"event":"e', ["start"]),
            ('nd"}\n', ["end"]),
            ("", []),
        ):
            file.write(piece)
            file.flush()
            assert [event["event"] for event in tail.read()] == expected
    assert list(tail.finish()) == [] and tail.torn == []


def test_torn_lines_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"event"\n[]\n{"no":1}\n\xff\n{"event":"end"}\n{"event":"cut')
    tail = Tail(path)
    assert [event["event"] for event in tail.read()] == ["end"]
    assert len(tail.torn) == 4
    assert list(tail.finish()) == []
    assert tail.torn[-1] == '{"event":"cut'


def test_a_character_cut_in_two_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    line = '{"event":"start","case":"é"}\n'.encode()
    tail = Tail(path)
    cut = line.index("é".encode()) + 1
    path.write_bytes(line[:cut])
    assert list(tail.read()) == []
    path.write_bytes(line)
    assert [event["case"] for event in tail.read()] == ["é"]
