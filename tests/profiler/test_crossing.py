"""Open MPI's own message counts, added to a profile."""

from __future__ import annotations

from pathlib import Path

from kiviat.profile.crossing import crossed, monitoring

# Output of Open MPI 4.1.4 with two ranks and pml_monitoring_enable_output=3.
CAPTURED = """\
# POINT TO POINT
E\t0\t1\t1044 bytes\t16 msgs sent\t0,0,0,3,2,1,0,10,0
# OSC
S\t0\t1\t64 bytes\t2 msgs sent
# COLLECTIVES
C\t0\t1\t28 bytes\t5 msgs sent
D\tMPI_COMM_SELF\tprocs: 0
O2A\t0\t0 bytes\t0 msgs sent
"""


def test_messages_are_read_and_collectives_not_twice(tmp_path: Path) -> None:
    """Messages of collectives are not counted twice: with pml_monitoring_enable=1 they are among the
    point-to-point messages.
    """
    (tmp_path / "crossing.0.prof").write_text(CAPTURED)
    (tmp_path / "crossing.1.prof").write_text(CAPTURED.replace("\t0\t1\t", "\t1\t0\t"))
    assert sorted(crossed(tmp_path)) == [(0, 1, 2, 64), (0, 1, 16, 1044), (1, 0, 2, 64), (1, 0, 16, 1044)]
    assert crossed(tmp_path / "nowhere") == []


def test_what_the_user_chose_stays_chosen() -> None:
    assert "OMPI_MCA_pml" not in monitoring(Path("/f"), "")
    assert "OMPI_MCA_pml" not in monitoring(Path("/f"), "^ucx")
    assert monitoring(Path("/f"), "ob1")["OMPI_MCA_pml"] == "ob1,monitoring"
