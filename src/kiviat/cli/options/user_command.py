"""Substrate and placement for `kiviat profile` and `kiviat trace`: `--on`, `--place`, `--ppn`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kiviat.cli.options.request import Where
from kiviat.cli.options.substrate import options_of, substrate_of
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.substrate import Native, Substrate
from kiviat.launch.tools.user_command import LaunchFactory, as_it_is, on
from kiviat.record import InputError


def started(where: Where, words: Sequence[str], toolchain: Toolchain) -> tuple[Substrate, LaunchFactory]:
    """Return the substrate to enter and the factory of launches; without options the command is unchanged."""
    options = options_of(where)
    if where.on is None and not options.places:
        return Native(), as_it_is(words)
    substrate = substrate_of(where.on)
    if substrate.machine:
        raise InputError(
            f"--on {where.on}: programs compiled for a real MPI do not run there; record the program with "
            "`kiviat trace`, and replay the trace there"
        )
    starting = on(substrate, toolchain, words, options)
    starting(Path())  # refuses impossible placements before anything is created
    return substrate, starting
