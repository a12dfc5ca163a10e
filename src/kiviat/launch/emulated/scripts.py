"""Shell scripts that create a cluster, and scripts in its folder that enter its nodes, as text.

A cluster's folder contains its namespaces as the files `NODE.net`, `NODE.uts` and `NODE.ipc`, so none has a
name that another cluster or program could use, too. The head, where mpiexec runs, has a network namespace
only, which contains the bridge. No interface, address or route of the machine is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kiviat.launch.emulated.shaping import Shaping, shaping_of, tcp_settings
from kiviat.launch.emulated.spec import Spec
from kiviat.launch.process.processes import VARIABLE

HEAD = "head"
BRIDGE = "br0"
INTERFACE = "eth0"
SUBNET = "10.77.0.0/24"
HEAD_ADDRESS = "10.77.0.254"
TEMPORARY = "tmp"
NAMESPACES = ("net", "uts", "ipc")
# Long enough that no packet is dropped: TCP windows limit the number of packets that wait.
_QUEUE_PACKETS = 100_000
_WIRE_PACKETS = 10_000


def node_name(index: int) -> str:
    """Return the name of a node: "n1" for index 0."""
    return f"n{index + 1}"


def node_address(index: int) -> str:
    """Return the IP address of a node: "10.77.0.1" for index 0."""
    return f"10.77.0.{index + 1}"


def port(index: int) -> str:
    """Return the name of the bridge's end of a node's link: "p1" for index 0."""
    return f"p{index + 1}"


def hosts(spec: Spec, head_name: str) -> str:
    """Return the content of /etc/hosts on nodes and head; the machine's own file is not changed."""
    nodes = (f"{node_address(index)} {node_name(index)}\n" for index in range(spec.nodes))
    return f"127.0.0.1 localhost\n{HEAD_ADDRESS} {head_name}\n{''.join(nodes)}"


def make(spec: Spec, wire: Path | None = None) -> str:
    """Return a shell script that creates the cluster; it must be run in the cluster's folder.

    `wire`: the program that creates and delays the links if the kernel cannot. It does not carry the marker
    of the kiviat that starts it: it belongs to the cluster, and is found by its namespace.
    """
    nodes = range(spec.nodes)
    limits = [line for index in nodes for line in _port_limits(spec, index, wire)]
    names = " ".join(node_name(index) for index in nodes)
    wiring = [f"nsenter --net={HEAD}.net env -u {VARIABLE} {wire} 0 {names}"] if wire else []
    return "\n".join(
        [
            "set -e",
            f"unshare --net={HEAD}.net true",
            *(_namespaces(node_name(index)) for index in nodes),
            *wiring,
            *_inside(HEAD, {}, _bridge(spec, wire), limits),
            *(line for index in nodes for line in _node(spec, index)),
            "",
        ]
    )


def _namespaces(name: str) -> str:
    files = " ".join(f"--{kind}={name}.{kind}" for kind in NAMESPACES)
    return f"unshare {files} sh -c 'echo {name} >/proc/sys/kernel/hostname'"


def _bridge(spec: Spec, wire: Path | None) -> list[str]:
    lines = [
        "link set lo up",
        f"link add {BRIDGE} type bridge mcast_snooping 0",
        f"addr add {HEAD_ADDRESS}/24 dev {BRIDGE}",
        f"link set {BRIDGE} up",
    ]
    for index in range(spec.nodes):
        if wire is None:
            far = f"peer name {INTERFACE} netns ./{node_name(index)}.net"
            lines.append(f"link add {port(index)} type veth {far}")
        lines.append(f"link set {port(index)} {_lengths(spec)}master {BRIDGE} up")
    return lines


def _port_limits(spec: Spec, index: int, wire: Path | None) -> list[str]:
    shaping = shaping_of(spec)
    delay_s = None if wire else spec.delay_s
    return _limits(port(index), shaping, shaping.bridge_bucket_bytes if shaping else 0, delay_s)


def _node(spec: Spec, index: int) -> list[str]:
    shaping = shaping_of(spec)
    interfaces = [
        "link set lo up",
        f"addr add {node_address(index)}/24 dev {INTERFACE}",
        f"link set {INTERFACE} {_lengths(spec)}up",
    ]
    limits = _limits(INTERFACE, shaping, shaping.bucket_bytes if shaping else 0, None)
    return _inside(node_name(index), tcp_settings(spec), interfaces, limits)


def _lengths(spec: Spec) -> str:
    """Return options that limit segment lengths and the queue to the forwarding program."""
    shaping = shaping_of(spec)
    segments = f"gso_max_size {shaping.segment_bytes} " if shaping else ""
    return f"txqueuelen {_WIRE_PACKETS} {segments}"


def _limits(interface: str, shaping: Shaping | None, bucket_bytes: int, delay_s: float | None) -> list[str]:
    """Return the commands that shape frames leaving by an interface: the rate first, then the delay."""
    lines = []
    if shaping:
        rate = f"rate {shaping.rate_bit_per_s}bit burst {bucket_bytes} cburst {bucket_bytes} quantum 60000"
        lines += [
            f"qdisc add dev {interface} root handle 1: htb default 1",
            f"class add dev {interface} parent 1: classid 1:1 htb {rate}",
        ]
    leaf = f"netem delay {delay_s * 1e9:.0f}ns" if delay_s else "pfifo" if shaping else None
    if leaf:
        where = "parent 1:1 handle 10:" if shaping else "root"
        lines.append(f"qdisc add dev {interface} {where} {leaf} limit {_QUEUE_PACKETS}")
    return lines


def _inside(name: str, tcp: dict[str, str], ip: Sequence[str], tc: Sequence[str]) -> list[str]:
    """Return shell commands that set up a network namespace.

    IPv6 is switched off, so that only ranks and ARP send frames. Settings that the kernel lacks, or has for
    all namespaces together, are left unchanged.
    """
    settings = {f"ipv6/conf/{which}/disable_ipv6": "1" for which in ("all", "default")}
    settings |= {f"ipv4/{key}": value for key, value in tcp.items()}
    return [
        f"nsenter --net={name}.net sh -e <<'INSIDE'",
        'setting() { f=/proc/sys/net/$1; shift; [ ! -e "$f" ] || echo "$*" >"$f"; }',
        *(f"setting {key} {value}" for key, value in settings.items()),
        *["ip -batch - <<'END'", *ip, "END"],
        *(["tc -batch - <<'END'", *tc, "END"] if tc else []),
        "INSIDE",
    ]


def head_name(spec: Spec, own: str) -> str:
    """Return the host name of the head: the machine's own, unless a node has its first part.

    A launcher would take such a node for the machine on which it runs itself.
    """
    short, dot, domain = own.partition(".")
    return f"{short}-{HEAD}{dot}{domain}" if short in map(node_name, range(spec.nodes)) else own


def enter(folder: Path, head: str, nsenter: str, unshare: str, mount: str, slices: Path) -> str:
    """Return the script that runs a command on a node.

    It mounts /sys again, because UCX and others read /sys/class/net, which shows the network namespace of the
    process that mounted it. It enters an IPC namespace, because UCX would otherwise use shared memory between
    nodes. `head`: the host name of the head. `slices`: the program that shortens the command's time slices.
    """
    return f"""\
#!/bin/sh
# enter NODE COMMAND...: runs a command on a node of this cluster, or on its {HEAD}.
node=$1
shift
case $node in
{HEAD}) others= name={head} named=--uts ;;
*) others="--uts={folder}/$node.uts --ipc={folder}/$node.ipc" name= named= ;;
esac
exec {nsenter} --net={folder}/$node.net $others {unshare} --mount $named /bin/sh -ec '
[ -z "$0" ] || echo "$0" >/proc/sys/kernel/hostname
{mount} -t sysfs sysfs /sys
[ ! -e /etc/hosts ] || {mount} --bind {folder}/hosts /etc/hosts
exec {slices} "$@"' "$name" "$@"
"""


def agent(folder: Path) -> str:
    """Return the script that mpiexec uses as rsh; the arguments after the host are a shell command."""
    return f"""\
#!/bin/sh
# agent [-l USER] [-OPTION]... NODE COMMANDLINE...: as rsh, for mpiexec.
while :; do
    case $1 in
    -l) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
node=$1
shift
exec {folder}/enter "$node" /bin/sh -c "$*"
"""
