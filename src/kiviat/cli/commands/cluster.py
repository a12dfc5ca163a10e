"""`kiviat cluster`: creates, lists and removes emulated clusters; measures the rates their links can have."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from kiviat.cli.options.request import (
    ClusterCeilingRequest,
    ClusterDownRequest,
    ClusterStatusRequest,
    ClusterUpRequest,
)
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import print_csv, print_json, print_rows, print_table
from kiviat.launch.emulated import journal, removal
from kiviat.launch.emulated.ceiling import highest_rate, unshaped_rates
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.journal import ClusterJournal
from kiviat.launch.emulated.removal import clean_dead
from kiviat.launch.emulated.spec import parse_spec, written_rate
from kiviat.record import InputError
from kiviat.report.table import Column, tabled

ClusterRequest = ClusterUpRequest | ClusterStatusRequest | ClusterDownRequest | ClusterCeilingRequest


def execute(request: ClusterRequest) -> int:
    """Remove clusters of dead processes, then create, remove, measure or list clusters."""
    for line in clean_dead():
        print(f"kiviat: {line}", file=sys.stderr)
    match request:
        case ClusterUpRequest():
            _up(request.spec, request.name)
        case ClusterDownRequest():
            _down(request.name)
        case ClusterCeilingRequest():
            _ceiling(request.format)
        case ClusterStatusRequest():
            _status(request.format)
    return 0


def _up(spec: str, name: str | None) -> None:
    cluster = Cluster.up(parse_spec(spec), name, kept=True)
    nodes = list(cluster.addresses().items())
    (first, address), (last, _) = nodes[0], nodes[-1]
    print(f"{cluster.name}: {cluster.spec.label} is up, nodes {first} to {last}, {first} is {address}")
    print(f"a run on it     kiviat run --on emulated:{cluster.name}")
    print(f"a shell on one  {' '.join(cluster.entering(first))} sh")
    print(f"take it down    kiviat cluster down {cluster.name}")


def _down(name: str | None) -> None:
    known = {noted.name: noted for noted in journal.journals()}
    if name is None:
        kept = [noted.name for noted in known.values() if noted.kept]
        if not kept:
            raise InputError("no cluster is up; `kiviat cluster up 2x1` creates one")
        if len(kept) > 1:
            raise InputError(f"{len(kept)} clusters are up ({', '.join(kept)}); name one")
        name = kept[0]
    if name not in known:
        raise InputError(f"there is no emulated cluster {name!r}; `kiviat cluster status` lists them")
    owner = known[name].marker
    if not known[name].is_here():
        raise InputError(f"emulated cluster {name!r} was created on host {owner.host}; take it down there")
    if not known[name].kept:
        raise InputError(
            f"emulated cluster {name!r} belongs to a running kiviat, process {owner.owner}, which takes it "
            "down when it ends; interrupt that process"
        )
    ended = Cluster(known[name]).down()
    note = f"; what ran in it was ended: {', '.join(map(str, ended))}" if ended else ""
    print(f"{name} is down{note}")


def _status(form: str) -> None:
    found = [_entry(noted) for noted in journal.journals()]
    if form != "table":
        print_rows(found, form)
    elif not found:
        print(typeable("no emulated cluster; `kiviat cluster up 4x2,rate=1Gbit` makes one"))
    else:
        columns: list[Column[dict[str, Any]]] = [
            Column("cluster", lambda one: one["name"]),
            Column("spec", lambda one: one["spec"]),
            Column("state", lambda one: one["state"]),
            Column("owner", lambda one: one["owner"] or "kept"),
            Column("sent by its nodes", lambda one: _sent(one["nodes"]), "B"),
        ]
        print_table(tabled("Emulated clusters", columns, found))


def _ceiling(form: str) -> None:
    """Measure the highest credible link rate on a temporary cluster without rate limit, and print it."""
    rates = unshaped_rates()
    highest = highest_rate(rates)
    if form != "table":
        measured = {"unshaped_bit_per_s": rates, "highest_rate_bit_per_s": highest}
        print_csv([measured]) if form == "csv" else print_json(measured)
        return
    gbit = [f"{rate / 1e9:.2f}" for rate in sorted(rates)]
    print(f"plain TCP between two nodes without a limit: {', '.join(gbit)} Gbit/s")
    print(f"believe links up to half of the median: rate={written_rate(highest)}")


def _sent(nodes: dict[str, dict[str, int]] | None) -> int | None:
    return None if nodes is None else sum(node["sent_bytes"] for node in nodes.values())


def _entry(noted: ClusterJournal) -> dict[str, Any]:
    here = noted.is_here()
    nodes = None
    if here and removal.is_up(noted):
        with suppress(InputError, KeyError, OSError):  # it is being made, or removed
            nodes = {
                name: {"sent_bytes": traffic.sent_bytes, "received_bytes": traffic.received_bytes}
                for name, traffic in Cluster(noted).traffic().items()
            }
    return {
        "name": noted.name,
        "spec": noted.spec.label,
        "state": "up" if nodes else "not whole" if here else f"on {noted.marker.host}",
        "owner": None if noted.kept else f"process {noted.marker.owner}",
        "folder": str(noted.folder),
        "nodes": nodes,
    }
