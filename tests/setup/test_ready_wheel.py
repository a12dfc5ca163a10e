"""Kiviat measures and profiles where no compiler is: with ready-made programs, or PyPI's compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mkdir -p "$root$1"; mount --bind "$1" "$root$1"; else cp "$1" "$root$1"; fi
    shift
done
shift
exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i HOME=/home "$@"
"""
READY = """
set -e
cd /home
for tool in c++ g++ gcc cc cmake ninja; do ! command -v $tool; done
kiviat run -n 2 pingpong allreduce -m 8:1K --report report.html
program=$(ls .cache/kiviat/build/*/kiviat-bench)
kiviat profile -- mpiexec -n 2 "$program" pingpong -m 8:8
kiviat trace -- mpiexec -n 2 "$program" pingpong -m 8:8
ls report.html *.profile *.trace
"""
COMPILED = """
set -e
cd /home
for tool in c++ g++ gcc cc clang++; do ! command -v $tool; done
kiviat run -n 2 pingpong allreduce -m 8:1K --report report.html
program=$(ls .cache/kiviat/build/*/kiviat-bench-basic)
kiviat profile -- mpiexec -n 2 "$program" pingpong -m 8:8
grep -o '"compiler": "[^"]*"' runs/*/run.json
ls report.html *.profile
"""


@pytest.fixture(scope="module", params=["mpicxx", "mpicxx_abi"])
def ready_wheel(wheel: Toolchain, request: pytest.FixtureRequest) -> tuple[Path, str]:
    """Return a wheel, and the MPI library that its programs need."""
    words: list[str | Path] = [CHECKOUT / "tools/wheel", wheel.mpicxx.with_name(request.param)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHON": sys.executable})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    library = {"mpicxx": "libmpi.so.12", "mpicxx_abi": "libmpi_abi.so.1"}[request.param]
    return CHECKOUT / done.stdout.splitlines()[-1].split()[-1], library


@contextmanager
def environment() -> Iterator[Path]:
    """Yield a new environment of Python's, where users without rights find it, too."""
    home = Path("/tmp") / f"kiviat-ready-{os.getpid()}"
    try:
        venv.create(home, with_pip=False)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def install(home: Path, *words: str | Path) -> None:
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", home / "bin/python", "install", "-q"]
    subprocess.run([*pip, *words], check=True)


def interpreter() -> list[str]:
    """Return what Python needs in a bare root beside the C library: /usr would have the compilers, too."""
    if sys.base_prefix != "/usr":
        return [sys.base_prefix]
    return [sysconfig.get_path("stdlib"), str(Path(sys.executable).resolve())]


def in_bare_root(folders: Sequence[str | Path], root: Path, path: str, script: str) -> str:
    """Return what the script writes in a root that has these folders, and no compiler."""
    root.mkdir()
    alone: list[str | Path] = [
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
        [*alone, *dict.fromkeys(map(str, folders)), "--", f"PATH={path}:/usr/bin", "bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "COMMANDS": COMMANDS},
    )
    said = str(done.stdout + done.stderr)
    assert done.returncode == 0, said
    return said


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its root")
def test_it_runs_in_a_root_without_compiler(
    ready_wheel: tuple[Path, str], wheel: Toolchain, tmp_path: Path
) -> None:
    file, library = ready_wheel
    assert re.search(r"manylinux_2_\d+_\w+\.whl$", file.name)
    assert file.stat().st_size < MOST_BYTES
    with environment() as home:
        install(home, "--no-deps", file)
        (site,) = home.glob("lib/python*/site-packages")
        borrowed = [path for path in sys.path if path.endswith("site-packages")]
        (site / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
        mpi = wheel.mpicxx.parent
        folders: list[str | Path] = [home, *borrowed, mpi, mpi.parent / "lib", *interpreter()]
        said = in_bare_root(folders, tmp_path / "root", f"{home}/bin:{mpi}", READY)
    for product in ("kiviat-bench", "libkiviat-profile.so", "libkiviat-trace.so"):
        assert f"taking the ready-made {product} for {wheel.name} ({library})" in said
    assert "\nkiviat-bench.profile\nkiviat-bench.trace\nreport.html\n" in said


@pytest.mark.full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its root")
def test_it_compiles_where_the_only_compiler_is_of_pypi(tmp_path: Path) -> None:
    with environment() as home:
        install(home, f"{CHECKOUT}[mpi]", "cmake", "ninja", "ziglang")
        said = in_bare_root([home, *interpreter()], tmp_path / "root", f"{home}/bin", COMPILED)
    for product in ("kiviat-bench-basic", "libkiviat-profile.so"):
        assert f"building {product} with MPICH" in said
    assert "Clang" in said
    assert "\nkiviat-bench-basic.profile\nreport.html\n" in said
