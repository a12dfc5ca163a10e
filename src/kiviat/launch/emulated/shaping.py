"""Parameters that give a link its rate: token bucket, segments, windows.

They were found by measurement; see docs/howto/emulated.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from kiviat.launch.emulated.spec import Spec
from kiviat.record import InputError

# A full bucket passes at once, so a message of this length takes no time of its own. With half of it, the
# rate at 1 Gbit/s is 1 % lower, because the kernel wakes too late to use all tokens.
_BUCKET_S = 131.072e-6
_FRAME_BYTES = 1600
# TCP uses some hundred bytes of a segment for headers, and fills the rest with whole frames.
_LEAST_SEGMENT_BYTES = 2000
_LARGEST_SEGMENT_BYTES = 65536
_WINDOW_S = 8e-3
_LEAST_WINDOW_BYTES = 128 * 1024
_MOST_WINDOW_BYTES = 64 * 1024 * 1024
_LEAST_SEND_BUFFER_BYTES = 4 * 1024 * 1024
# The kernel's default, set explicitly so that clusters do not depend on the machine's settings.
_UNSHAPED_WINDOW = "4096 131072 6291456"
_UNSHAPED_SEND_BUFFER = "4096 16384 4194304"


@dataclass(frozen=True)
class Shaping:
    """Shaping of a link with the given rate and one-way delay.

    Nodes have buckets of `bucket_bytes`. The bridge, which limits traffic arriving from several nodes at
    once, passes a node's largest segment whole, because it would otherwise take twice as long.
    """

    rate_bit_per_s: int
    delay_s: float = 0.0

    @property
    def bucket_bytes(self) -> int:
        """Size of a node's token bucket: 131 µs at full rate, but at least one frame."""
        return max(_FRAME_BYTES, round(self.rate_bit_per_s / 8 * _BUCKET_S))

    @property
    def bridge_bucket_bytes(self) -> int:
        """Size of the bridge's token bucket.

        Twice the node's bucket, or two smallest segments if that is more.
        """
        return 2 * max(self.bucket_bytes, _LEAST_SEGMENT_BYTES)

    @property
    def segment_bytes(self) -> int:
        """Largest packet that TCP may hand over: one frame up to 100 Mbit/s.

        It passes an idle link at once, like a full bucket.
        """
        return min(max(self.bucket_bytes, _LEAST_SEGMENT_BYTES), _LARGEST_SEGMENT_BYTES)

    @property
    def refill_s(self) -> float:
        """Time in which an idle link fills its bucket, even if a segment has overdrawn it.

        The bridge's is at least half full then. To wait longer would lengthen the calls themselves
        (docs/explanation/method.md, section 2).
        """
        return (self.bucket_bytes + self.segment_bytes) * 8 / self.rate_bit_per_s

    @property
    def queued_bytes(self) -> int:
        """Limit on the bytes of one connection in its node's queue: four segments.

        The kernel's own rule gives more to the connection that already has more, so two connections would not
        share a link evenly. A few segments keep the link busy, and a rank's next message waits for at most
        these.
        """
        return 4 * self.segment_bytes

    @property
    def window_bytes(self) -> int:
        """Limit on the bytes of one connection in flight, which bounds the bridge's queues without losses."""
        on_the_way_s = _WINDOW_S + 4 * self.delay_s
        wanted = round(self.rate_bit_per_s / 8 * on_the_way_s)
        return min(max(wanted, _LEAST_WINDOW_BYTES), _MOST_WINDOW_BYTES)


def shaping_of(spec: Spec) -> Shaping | None:
    """Return the shaping of the cluster's links; None if their rate is not limited."""
    return None if spec.rate_bit_per_s is None else Shaping(spec.rate_bit_per_s, spec.delay_s or 0.0)


def refuse_capped(spec: Spec) -> None:
    """Raise InputError if a stream cannot reach the links' rate, because too many bytes would be in flight.

    A window holds twice the bytes of a round trip, since TCP offers only about half of its buffer.
    """
    if spec.nodes < 2 or not spec.rate_bit_per_s or not spec.delay_s:
        return
    longest_s = _MOST_WINDOW_BYTES / (4 * spec.rate_bit_per_s / 8)
    if spec.delay_s > longest_s:
        raise InputError(
            f"emulated cluster {spec.label!r}: a stream may have {_MOST_WINDOW_BYTES >> 20} MiB in flight, "
            f"too little for this rate with a delay of more than {longest_s * 1e3:.1f} ms; give a shorter "
            "delay or a lower rate"
        )


def rest_between_calls_s(spec: Spec) -> float:
    """Return how long links rest between calls of collectives, so that each finds full buckets."""
    shaping = shaping_of(spec)
    return shaping.refill_s if shaping and spec.nodes > 1 else 0.0


def tcp_settings(spec: Spec) -> dict[str, str]:
    """Return values of files in /proc/sys/net/ipv4 of each node."""
    shaping = shaping_of(spec)
    settings = {
        # bbr probes for the rate itself and never settles on a shaped one.
        "tcp_congestion_control": "reno",
        # A launch must not start with the congestion window learned by an earlier one.
        "tcp_no_metrics_save": "1",
        "tcp_slow_start_after_idle": "0",
    }
    if shaping is None:
        return settings | {"tcp_rmem": _UNSHAPED_WINDOW, "tcp_wmem": _UNSHAPED_SEND_BUFFER}
    window = shaping.window_bytes
    return settings | {
        "tcp_rmem": f"4096 {window} {window}",
        "tcp_wmem": f"4096 16384 {max(window, _LEAST_SEND_BUFFER_BYTES)}",
        "tcp_limit_output_bytes": str(shaping.queued_bytes),
    }
