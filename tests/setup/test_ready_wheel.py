"""A wheel with ready-made programs measures, profiles and records where no compiler and no CMake is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain

CHECKOUT = Path(__file__).resolve().parents[2]
MOST_BYTES = 20e6
COMMANDS = "bash cat cut dirname env expr grep head id ldd ls lscpu mkdir rm sed sh tail uname"
# A root with the C library, some commands and the folders named, as a user without rights.
ROOT = r"""
set -e
root=$1; user=$2; shift 2
mount -t tmpfs none "$root"
mkdir -p "$root"/{usr/bin,usr/lib,proc,dev,sys,tmp,etc,home}
chmod 755 "$root"; chmod 1777 "$root"/{tmp,home}
ln -s usr/bin "$root/bin"; ln -s usr/lib "$root/lib"; ln -s usr/lib "$root/lib64"
libraries=/usr/lib/$(uname -m)-linux-gnu
mkdir -p "$root$libraries"
for file in "$libraries"/*.so*; do
    case ${file##*/} in *mpi*|*open-*|*ucp*|*ucs*|*fabric*) ;; *) cp -a "$file" "$root$libraries" ;; esac
done
cp -L /lib64/ld-linux-*.so.2 "$root/usr/lib"
for name in $COMMANDS; do cp -L "$(command -v "$name")" "$root/usr/bin"; done
cp /etc/{passwd,group,hosts,nsswitch.conf} "$root/etc"
for name in proc dev sys; do mount --rbind "/$name" "$root/$name"; done
while [ "$1" != -- ]; do mkdir -p "$root$1"; mount --bind "$1" "$root$1"; shift; done
shift
exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i HOME=/home "$@"
"""
SCRIPT = """
set -e
cd /home
for tool in c++ g++ gcc cc cmake ninja; do ! command -v $tool; done
kiviat run -n 2 pingpong allreduce -m 8:1K --report report.html
program=$(ls .cache/kiviat/build/*/kiviat-bench)
kiviat profile -- mpiexec -n 2 "$program" pingpong -m 8:8
kiviat trace -- mpiexec -n 2 "$program" pingpong -m 8:8
ls report.html *.profile *.trace
"""


@pytest.fixture(scope="module", params=["mpicxx", "mpicxx_abi"])
def ready_wheel(wheel: Toolchain, request: pytest.FixtureRequest) -> tuple[Path, str]:
    """Return a wheel, and the MPI library that its programs need."""
    words: list[str | Path] = [CHECKOUT / "tools/wheel", wheel.mpicxx.with_name(request.param)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    library = {"mpicxx": "libmpi.so.12", "mpicxx_abi": "libmpi_abi.so.1"}[request.param]
    return CHECKOUT / done.stdout.splitlines()[-1].split()[-1], library


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its root")
def test_it_runs_in_a_root_without_compiler(
    ready_wheel: tuple[Path, str], wheel: Toolchain, tmp_path: Path
) -> None:
    file, library = ready_wheel
    assert re.search(r"manylinux_2_\d+_\w+\.whl$", file.name)
    assert file.stat().st_size < MOST_BYTES
    home, root = Path("/tmp") / f"kiviat-ready-{os.getpid()}", tmp_path / "root"
    try:
        venv.create(home, with_pip=False)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(home / "bin/python"),
            "install",
            "-q",
            "--no-deps",
        ]
        subprocess.run([*pip, str(file)], check=True)
        (site,) = home.glob("lib/python*/site-packages")
        borrowed = [path for path in sys.path if path.endswith("site-packages")]
        (site / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
        root.mkdir()
        path = f"PATH={home}/bin:{wheel.mpicxx.parent}:/usr/bin"
        folders = [home, *borrowed, wheel.mpicxx.parent, wheel.mpicxx.parents[1] / "lib", sys.base_prefix]
        inside: list[str | Path] = [
            "unshare",
            "-m",
            "--propagation",
            "private",
            "bash",
            "-c",
            ROOT,
            "root",
            root,
            "65534",
        ]
        done = subprocess.run(
            [*inside, *dict.fromkeys(map(str, folders)), "--", path, "bash", "-c", SCRIPT],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "COMMANDS": COMMANDS},
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    for product in ("kiviat-bench", "libkiviat-profile.so", "libkiviat-trace.so"):
        assert f"taking the ready-made {product} for {wheel.name} ({library})" in said
    assert done.stdout.split()[-3:] == ["kiviat-bench.profile", "kiviat-bench.trace", "report.html"]
