"""One end of a plain TCP connection: run as a script on a node, by raw_tcp. Imports nothing of kiviat.

    raw_peer.py receive ADDRESS BEGIN END      prints its port, then bytes and seconds between the times
    raw_peer.py send ADDRESS PORT END
    raw_peer.py answer ADDRESS                 prints its port, sends back what it gets
    raw_peer.py ask ADDRESS PORT               prints the lower quartile of half round trips, in seconds

Times are those of the monotonic clock, which all nodes share.
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import suppress

_READ_BYTES = 256 * 1024
_WRITE_BYTES = 64 * 1024
_ROUND_TRIPS = 30
_PATIENCE_S = 10.0


def _receive(address: str, begin: float, end: float) -> None:
    buffer = memoryview(bytearray(_READ_BYTES))
    with socket.create_server((address, 0)) as server:
        server.settimeout(_PATIENCE_S)
        print(server.getsockname()[1], flush=True)
        stream = server.accept()[0]
    total, first, last = 0, None, begin
    with stream, suppress(TimeoutError):
        while (left := end - time.monotonic()) > 0:
            stream.settimeout(left)
            count = stream.recv_into(buffer)
            now = time.monotonic()
            if count == 0 or now > end:
                break
            if now >= begin:
                # The bytes of the first read were sent before the measured interval.
                total, first, last = (total + count, first, now) if first else (0, now, now)
    print(total, last - (first or begin), flush=True)


def _send(address: str, port: int, end: float) -> None:
    data = bytes(_WRITE_BYTES)
    # The receiver may close the connection first.
    with socket.create_connection((address, port), timeout=_PATIENCE_S) as stream, suppress(OSError):
        while (left := end - time.monotonic()) > 0:
            stream.settimeout(left)
            stream.send(data)


def _answer(address: str) -> None:
    with socket.create_server((address, 0)) as server:
        server.settimeout(_PATIENCE_S)
        print(server.getsockname()[1], flush=True)
        connection = server.accept()[0]
    with connection:
        connection.settimeout(_PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while byte := connection.recv(1):
            connection.sendall(byte)


def _ask(address: str, port: int) -> None:
    times = []
    with socket.create_connection((address, port), timeout=_PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(_ROUND_TRIPS):
            start = time.monotonic()
            connection.sendall(b"?")
            connection.recv(1)
            times.append((time.monotonic() - start) / 2)
    times.sort()
    print(times[len(times) // 4], flush=True)


if __name__ == "__main__":
    role, where, *rest = sys.argv[1:]
    if role == "receive":
        _receive(where, float(rest[0]), float(rest[1]))
    elif role == "send":
        _send(where, int(rest[0]), float(rest[1]))
    elif role == "answer":
        _answer(where)
    else:
        _ask(where, int(rest[0]))
