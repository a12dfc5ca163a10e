"""A program run under a placement: its duration, and the bytes sent over the nodes' interfaces meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass

from kiviat.launch.process.signals import Interrupts
from kiviat.launch.run.supervise import LaunchResult, supervise
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.substrate import Substrate

_LOOK_S = 0.02
# Time for frames that are still in flight when the launcher ends.
_SETTLE_S = 0.05


@dataclass(frozen=True)
class Trial:
    """`sent_bytes`: bytes that left the nodes, headers included; None if they are not counted."""

    launch: LaunchResult
    sent_bytes: int | None


def tried(substrate: Substrate, spec: LaunchSpec) -> Trial:
    """Run the launch to its end; its output is in its folder."""
    spec.folder.mkdir(parents=True, exist_ok=True)
    spec.write(spec.folder)
    before = _sent(substrate)
    with Interrupts() as interrupts:
        result = supervise(spec, interrupts, look_s=_LOOK_S)
    time.sleep(_SETTLE_S)
    after = _sent(substrate)
    sent = None if before is None or after is None else after - before
    return Trial(result, sent)


def _sent(substrate: Substrate) -> int | None:
    sent = substrate.bytes_sent()
    return None if sent is None else sum(sent.values())
