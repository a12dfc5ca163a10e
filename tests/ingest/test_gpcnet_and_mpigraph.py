"""GPCNeT and mpiGraph: lines as the formats of their sources print them (utils.c, mpiGraph.c)."""

from __future__ import annotations

import pytest

from kiviat.ingest import parse
from kiviat.record import InputError

BAR = "+" + 78 * "-" + "+"
GPCNET = f"""\
NetworkLoad Tests v1.2
  Test with 64 MPI ranks (8 nodes)
  Legend
   RR = random ring communication pattern

{BAR}
|                            Isolated Network Tests                            |
{BAR}
|                            Name |          Avg |          99% |        Units |
{BAR}
|          RR Two-sided Lat (8 B) |          1.8 |          3.2 |         usec |
{BAR}
| RR Two-sided BW+Sync (131072 B) |        811.5 |        512.0 |   MiB/s/rank |
{BAR}

{BAR}
|                 Network Tests running with Congestion Tests                  |
{BAR}
|          RR Two-sided Lat (8 B) |          5.4 |         32.0 |         usec |
{BAR}

{BAR}
|          Network Tests running with Congestion Tests - Key Results           |
{BAR}
|                            Name |                   Congestion Impact Factor |
|                                 |                  Avg |                 99% |
|          RR Two-sided Lat (8 B) |                 3.0X |              10.0X |
{BAR}
"""
MPIGRAPH = """\
START mpiGraph v1.5
MsgSize\t16384
Times\t100
Window\t50
Procs\t3

Send max\t2048.000000
Send avg\t1500.000000

Send\tn0:0\tn1:1\tn2:2\t
n0:0 to\t0.000\t1024.000\t2048.000\t
n1:1 to\t1024.000\t0.000\t512.000\t
n2:2 to\t1024.000\t1024.000\t0.000\t

Recv max\t2048.000000
Recv avg\t1500.000000

Recv\tn0:0\tn1:1\tn2:2\t
n0:0 from\t0.000\t1024.000\t1024.000\t
n1:1 from\t1024.000\t0.000\t256.000\t
n2:2 from\t1024.000\t1024.000\t0.000\t
END mpiGraph
"""


def test_gpcnet_alone_and_beside_congestion() -> None:
    lat, rate, beside = parse(GPCNET, "gpcnet.out")
    assert (lat.ranks, lat.bytes, dict(lat.axes)) == (64, 8, {"test": "rr_two_sided_lat"})
    assert [(one.name, one.mean) for one in lat.metrics] == [
        ("latency", pytest.approx(1.8e-6)),
        ("latency_p99", pytest.approx(3.2e-6)),
    ]
    assert (rate.bytes, rate.metrics[0].mean) == (131072, pytest.approx(811.5 * 2**20))
    assert beside.axes["beside"] == "congestion"
    values = {one.name: one.mean for one in beside.metrics}
    assert values["latency"] == pytest.approx(5.4e-6)
    assert (values["congestion_impact"], values["congestion_impact_p99"]) == (3.0, 10.0)


def test_gpcnet_built_verbose_has_six_numbers() -> None:
    line = "|          RR Two-sided Lat (8 B) |          1.8 |          3.2 |         usec |"
    verbose = line.replace("1.8 |          3.2", "1.0 | 9.0 | 1.8 | 2.0 | 3.2 | 8.8")
    assert parse(GPCNET.replace(line, verbose), "v").pop(0).metrics == parse(GPCNET, "p").pop(0).metrics


def test_a_row_of_gpcnet_without_a_name_is_refused() -> None:
    """Such a row once raised an AssertionError."""
    row = "|          RR Two-sided Lat (8 B) |          1.8 |          3.2 |         usec |"
    with pytest.raises(InputError, match=r"g.out line 11: '' is no name of a test; is the file complete\?"):
        parse(GPCNET.replace(row, "|   | 1.8 | 3.2 | usec |"), "g.out")


def test_mpigraph_has_both_matrices() -> None:
    (found,) = parse(MPIGRAPH, "mpigraph.out")
    assert (found.benchmark, found.ranks, found.bytes) == ("mpigraph", 3, 16384)
    sent, received = found.tables
    assert sent.axes == (("from", ("0", "1", "2")), ("to", ("0", "1", "2")))
    assert sent.values[:3] == (None, 1024 * 2**20, 2048 * 2**20)
    assert received.axes[0][0] == "to"
    values = {one.name: one.mean for one in found.metrics}
    assert values["send_bandwidth_max"] == 2048 * 2**20
    assert values["receive_bandwidth_min"] == 256 * 2**20


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("END mpiGraph\n", "", "END mpiGraph"),
        ("n2:2 from\t1024.000\t1024.000\t0.000\t\n", "", "2 lines of receive bandwidth, not 3"),
        ("512.000", "", "has 2 values, not 3"),
    ],
)
def test_truncated_mpigraph_is_refused(before: str, after: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse(MPIGRAPH.replace(before, after), "mpigraph.out")
