"""Emulated clusters match their specification, are isolated from the host and from each other, and are
removed completely.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kiviat.cli.commands import cluster as command
from kiviat.cli.options.arguments import parsed
from kiviat.launch.emulated import journal, removal, rights, scripts
from kiviat.launch.emulated.ceiling import highest_rate
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.spec import Spec
from kiviat.record import InputError

from .conftest import cleaned, in_child, said


def test_a_node_is_alone_with_its_link() -> None:
    with Cluster.up(Spec(3, 2, 10**8)) as cluster:
        assert [node.name for node in cluster.topology().nodes] == ["n1", "n2", "n3"]
        assert cluster.topology().slots == 6
        assert said(cluster, "n2", "hostname") == "n2\n"
        assert said(cluster, "n2", "ls", "/sys/class/net").split() == ["eth0", "lo"]
        assert "10.77.0.3 n3" in said(cluster, "n2", "cat", "/etc/hosts")
        assert said(cluster, "n2", "cat", "/proc/sys/net/ipv4/tcp_congestion_control") == "reno\n"
        names = {kind: Path(f"/proc/self/ns/{kind}").stat().st_ino for kind in ("net", "uts", "ipc")}
        for kind, ours in names.items():
            there = {said(cluster, node, "readlink", f"/proc/self/ns/{kind}") for node in ("n1", "n2", "n3")}
            assert len(there) == 3, f"each node has its {kind} namespace"
            assert f"{kind}:[{ours}]\n" not in there
        assert cluster.bytes_sent() == {"n1": 0, "n2": 0, "n3": 0}, (
            "nodes send bytes although no rank communicates"
        )
    assert not cluster.folder.exists()


@pytest.mark.parametrize(
    ("own", "head"),
    [
        ("elsewhere", "elsewhere"),
        ("n1", "n1-head"),
        ("n3", "n3"),
        ("n2.example.org", "n2-head.example.org"),
    ],
)
def test_the_head_has_no_name_of_a_node(own: str, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine called n1, launchers once started the ranks of node n1 on the head."""
    monkeypatch.setattr("socket.gethostname", lambda: own)
    before = Path("/proc/sys/kernel/hostname").read_text()
    with Cluster.up(Spec(2, 1)) as cluster:
        assert said(cluster, scripts.HEAD, "hostname") == f"{head}\n"
        assert f"10.77.0.254 {head}" in said(cluster, "n2", "cat", "/etc/hosts")
    assert Path("/proc/sys/kernel/hostname").read_text() == before


def test_ranks_get_short_slices() -> None:
    """Programs on a node get scheduler time slices of 0.1 ms.

    With the default slices an 8 B allreduce of 4 ranks on 2 cores took 3.8 ms. Kernels before 6.12 ignore the
    request, and commands run nevertheless.
    """
    release = [int(part) for part in os.uname().release.split("-")[0].split(".")[:2]]
    with Cluster.up(Spec(1, 1)) as cluster:
        slice_ns = int(said(cluster, "n1", sys.executable, "-c", SLICE))
    assert slice_ns == 100_000 or release < [6, 12]


# sched_getattr(2) of this process; sched_runtime is at offset 24 of struct sched_attr.
SLICE = """
import ctypes, platform, struct
attributes = ctypes.create_string_buffer(56)
number = {"x86_64": 315, "aarch64": 275}[platform.machine()]
assert ctypes.CDLL(None).syscall(number, 0, attributes, 56, 0) == 0
print(struct.unpack_from("Q", attributes, 24)[0])
"""


def test_two_clusters_do_not_meet() -> None:
    with Cluster.up(Spec(2, 1)) as one, Cluster.up(Spec(2, 1)) as other:
        assert one.name != other.name
        said(one, "n1", sys.executable, "-c", SEND)
        assert one.bytes_sent()["n1"] > 1000
        assert other.bytes_sent()["n1"] == 0


SEND = """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(1000), ("n2", 9))
"""


def test_a_name_that_is_taken_is_refused() -> None:
    with Cluster.up(Spec(2, 1), "lab") as cluster:
        with pytest.raises(InputError, match="there is a cluster 'lab' already"):
            Cluster.up(Spec(1, 1), "lab")
        assert said(cluster, "n1", "hostname") == "n1\n"
    Cluster.up(Spec(1, 1), "lab").down()


@pytest.mark.parametrize("name", ["Lab", "a b", "../x", "1", "", "a" * 32])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(InputError, match="is not a name for a cluster"):
        journal.claim(name, Spec(1, 1), Cluster.planned(Spec(1, 1))._journal.marker)


def test_a_state_folder_with_blanks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a b"))
    with pytest.raises(InputError, match="set XDG_STATE_HOME"):
        Cluster.up(Spec(1, 1))


def test_an_error_in_the_middle_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """If creating a cluster fails after the bridge and the first node exist, everything is removed."""
    monkeypatch.setattr(scripts, "node_address", lambda index: f"10.77.0.{300 * index + 1}")
    with pytest.raises(InputError, match=r"cannot make emulated cluster '2x1': .*10\.77\.0\.301") as error:
        Cluster.up(Spec(2, 1))
    assert "\n" not in str(error.value)


def test_without_the_rights_one_line() -> None:
    script = "from kiviat.launch.emulated.cluster import Cluster\n"
    script += "from kiviat.launch.emulated.spec import Spec\n"
    script += "try: Cluster.up(Spec(2, 1))\nexcept Exception as error: print(type(error).__name__, error)"
    for limits, lacking in (
        (["--bounding-set", "-sys_admin"], "lacks CAP_SYS_ADMIN;"),
        (["--bounding-set", "-net_admin"], "lacks CAP_NET_ADMIN;"),
    ):
        words = ["setpriv", "--inh-caps", "-all", *limits, sys.executable, "-c", script]
        answer = subprocess.run(words, capture_output=True, text=True)
        assert answer.stdout.startswith("InputError an emulated cluster needs the rights of root"), answer
        assert lacking in answer.stdout


def test_nobody_has_the_rights(capfd: pytest.CaptureFixture[str]) -> None:
    def as_nobody() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        rights.refuse_without_rights()

    _, status = os.waitpid(in_child(as_nobody), 0)
    assert os.waitstatus_to_exitcode(status) == 2
    assert "(user 65534) lacks CAP_NET_ADMIN and CAP_SYS_ADMIN" in capfd.readouterr().out


def test_missing_commands_are_named_with_their_package() -> None:
    with pytest.raises(InputError, match=r"needs ip, tc, .*apt install iproute2`"):
        rights.refuse_without_rights(lambda name: None if name in ("ip", "tc") else "/bin/" + name)


def test_a_kept_cluster_outlives_its_maker(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = in_child(lambda: Cluster.up(Spec(2, 1), "lab", kept=True))
    assert os.waitpid(child, 0)[1] == 0
    assert cleaned() == []
    cluster = Cluster.find("lab")
    assert said(cluster, "n2", "hostname") == "n2\n"
    with subprocess.Popen([*cluster.entering("n1"), "sleep", "60"]) as sleeper:
        while Path(f"/proc/{sleeper.pid}/comm").read_text() != "sleep\n":
            pass
        assert cluster.down() == [sleeper.pid], "what runs in it ends with it"
    with pytest.raises(InputError, match="there is no emulated cluster 'lab'"):
        Cluster.find("lab")


def test_a_restart_ends_kept_clusters(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cluster.up(Spec(1, 1), "lab", kept=True)
    monkeypatch.setattr(journal, "boot", lambda: "another")
    assert cleaned() == ["removed emulated cluster lab (1x1), whose kiviat process has ended"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_takes_it_down(state: Path, number: signal.Signals) -> None:
    up, is_up = os.pipe()

    def act() -> None:
        with Cluster.up(Spec(2, 1)):
            os.write(is_up, b"!")
            while True:  # a signal just before pause() would be missed
                time.sleep(0.05)

    child = in_child(act)
    os.close(is_up)
    with os.fdopen(up, "rb") as told:
        assert told.read(1), "it ended before its cluster was up"
    os.kill(child, number)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 128 + number
    assert list(state.iterdir()) == []


def asked(*words: str) -> Any:
    return parsed(["cluster", *words])


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def kiviat(*words: str) -> str:
        assert command.execute(asked(*words)) == 0
        return capsys.readouterr().out

    assert "no emulated cluster" in kiviat("status")
    shown = kiviat("up", "2x1,rate=1Gbit", "--name", "lab")
    assert "lab: 2x1,rate=1Gbit is up, nodes n1 to n2, n1 is 10.77.0.1" in shown
    assert "kept" in kiviat("status")
    assert '"state": "up"' in kiviat("status", "--format", "json")
    with Cluster.up(Spec(1, 1), "run"):
        with pytest.raises(InputError, match="belongs to a running kiviat, process"):
            kiviat("down", "run")
        assert Cluster.find("run").name == "run"
        with monkeypatch.context() as another:
            another.setattr(os, "getpid", lambda: 1)
            with pytest.raises(InputError, match="'run' belongs to a running kiviat, process"):
                Cluster.find("run")
        assert kiviat("down") == "lab is down\n"
    with pytest.raises(InputError, match="no cluster is up"):
        kiviat("down")


def test_how_fast_links_can_be(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert highest_rate([9.9e9, 2.05e10, 2.1e10]) == 10_200_000_000
    assert highest_rate([1.9e8]) == 95_000_000
    monkeypatch.setattr(command, "unshaped_rates", lambda: [9.9e9, 2.05e10, 2.1e10])
    assert command.execute(asked("ceiling")) == 0
    assert capsys.readouterr().out.splitlines() == [
        "plain TCP between two nodes without a limit: 9.90, 20.50, 21.00 Gbit/s",
        "believe links up to half of the median: rate=10.2Gbit",
    ]
    assert command.execute(asked("ceiling", "--format", "json")) == 0
    assert '"highest_rate_bit_per_s": 10200000000' in capsys.readouterr().out


def test_incomplete_clusters_are_reported_and_can_be_removed(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster.up(Spec(2, 1), "lab", kept=True)
    removal._libc.umount2(os.fsencode(cluster.folder / "n2.net"), 2)
    with pytest.raises(InputError, match="'lab' is incomplete"):
        Cluster.find("lab")
    command.execute(asked("status"))
    assert "not whole" in capsys.readouterr().out
    command.execute(asked("down", "lab"))


@pytest.mark.parametrize("error", [KeyError("p1"), InputError("cannot look at it"), FileNotFoundError()])
def test_status_beside_a_cluster_that_is_made_or_removed(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster whose links do not exist yet, or no longer, once ended `kiviat cluster status`."""

    def traffic(self: Cluster) -> None:
        raise error

    monkeypatch.setattr(Cluster, "traffic", traffic)
    with Cluster.up(Spec(1, 1), "lab"):
        assert command.execute(asked("status")) == 0
    assert "not whole" in capsys.readouterr().out


def test_a_cluster_stays_when_the_machine_gets_another_name(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It once counted as that of another host, and could not be removed."""
    monkeypatch.setattr(journal, "boot", lambda: "this one")
    Cluster.up(Spec(1, 1), "lab", kept=True)
    monkeypatch.setattr("socket.gethostname", lambda: "renamed")
    assert cleaned() == []
    assert Cluster.find("lab").name == "lab"
    assert command.execute(asked("down", "lab")) == 0
    assert capsys.readouterr().out == "lab is down\n"
    assert list(state.iterdir()) == []
