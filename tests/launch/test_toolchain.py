from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.record import InputError


def script(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def openmpi(folder: Path, suffix: str = "", version: str = "4.1.4") -> Path:
    script(folder / f"mpiexec{suffix}", f"mpiexec (OpenRTE) {version}")
    return script(folder / f"mpicxx{suffix}", f"mpicxx: Open MPI {version} (Language: C++)")


def mpich(folder: Path, suffix: str = "", version: str = "4.0.2") -> Path:
    script(folder / f"mpiexec{suffix}", f"HYDRA build details: Version: {version}")
    return script(folder / f"mpicxx{suffix}", f"mpicxx for MPICH version {version}")


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "no-scripts"))


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    environment = tmp_path / "venv"
    (environment / "lib/python3.11/site-packages/mpich-5.0.2.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(environment / "bin"))
    return mpich(environment / "bin", version="5.0.2")


def test_precedence(tmp_path: Path, wheel: Path) -> None:
    on_path = openmpi(tmp_path / "path")
    named = openmpi(tmp_path / "named", version="5.0.11")
    asked = mpich(tmp_path / "asked")
    path = str(on_path.parent)

    def chosen(mpi: str | None, environment: dict[str, str]) -> tuple[Path, str]:
        toolchain = find_toolchain(mpi, environment)
        return toolchain.mpicxx, toolchain.chosen

    both = {"PATH": path, "MPICXX": str(named)}
    assert chosen(str(asked), both) == (asked, f"--mpi {asked}")
    assert chosen(None, both) == (named, "MPICXX")
    assert chosen(None, {"PATH": path, "MPICXX": ""}) == (on_path, "PATH")
    assert chosen(None, {"PATH": str(tmp_path)}) == (wheel, "wheel of this Python environment")
    assert chosen("wheel", both) == (wheel, "--mpi wheel")


def test_a_toolchain_describes_itself(tmp_path: Path) -> None:
    wrapper = openmpi(tmp_path, version="5.0.11")
    expected = Toolchain(
        name="Open MPI 5.0.11",
        family="openmpi",
        version="5.0.11",
        mpicxx=wrapper,
        mpiexec=tmp_path / "mpiexec",
        chosen="PATH",
        embedded=False,
    )
    assert find_toolchain(None, {"PATH": str(tmp_path)}) == expected


def test_an_mpi_from_a_wheel_is_embedded_however_it_was_chosen(wheel: Path) -> None:
    assert find_toolchain("wheel").embedded
    assert find_toolchain(None, {"PATH": str(wheel.parent)}).embedded
    assert find_toolchain(str(wheel)).embedded


def test_the_launcher_has_the_suffix_of_the_wrapper(tmp_path: Path) -> None:
    """The launcher found with a suffixed wrapper such as mpicxx.openmpi is the one with the same suffix,
    because Debian's /etc/alternatives sets mpicxx and mpiexec separately.
    """
    links = tmp_path / "alternatives"
    links.mkdir()
    openmpi(tmp_path, ".openmpi")
    mpich(tmp_path, ".mpich")
    (links / "mpicxx").symlink_to(tmp_path / "mpicxx.openmpi")
    (links / "mpiexec").symlink_to(tmp_path / "mpiexec.mpich")
    for name in ("mpicxx", "mpiexec"):
        (tmp_path / name).symlink_to(links / name)
    environment = {"PATH": str(tmp_path)}
    assert find_toolchain(None, environment).mpiexec == tmp_path / "mpiexec.openmpi"
    assert find_toolchain("openmpi", environment).mpiexec == tmp_path / "mpiexec.openmpi"
    assert find_toolchain("mpich", environment).mpiexec == tmp_path / "mpiexec.mpich"


def test_a_family_by_its_name_where_only_the_plain_wrapper_exists(tmp_path: Path) -> None:
    mpich(tmp_path)
    assert find_toolchain("mpich", {"PATH": str(tmp_path)}).family == "mpich"
    with pytest.raises(InputError, match="apt install openmpi-bin libopenmpi-dev"):
        find_toolchain("openmpi", {"PATH": str(tmp_path)})


def test_a_folder_means_the_wrapper_in_it(tmp_path: Path) -> None:
    wrapper = mpich(tmp_path / "bin")
    assert find_toolchain(str(tmp_path)).mpicxx == wrapper


def test_the_launcher_of_another_mpi_is_refused(tmp_path: Path) -> None:
    openmpi(tmp_path)
    script(tmp_path / "mpiexec", "HYDRA build details")
    with pytest.raises(InputError, match="is Open MPI, but no launcher of it was found"):
        find_toolchain(None, {"PATH": str(tmp_path)})


@pytest.mark.usefixtures("no_wheel")
def test_without_mpi_the_message_names_packages_to_install(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        find_toolchain(None, {"PATH": str(tmp_path)})
    message = str(raised.value)
    assert "apt install mpich libmpich-dev" in message and "pip install mpich" in message
    assert "\n" not in message
    with pytest.raises(InputError, match="pip install mpich"):
        find_toolchain("wheel", {"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("mpi", "environment", "words"),
    [
        ("lam", {}, "'lam' was not found; names are mpich, mpt, openmpi, .*, wheel"),
        ("/nowhere/mpicxx", {}, "'/nowhere/mpicxx' is not an executable"),
        ("/bin/ls", {}, "not the C\\+\\+ wrapper of a known MPI"),
        (None, {"MPICXX": "icpx"}, "MPICXX='icpx' is not an executable"),
    ],
)
def test_refusals_name_the_value_and_the_remedy(
    mpi: str | None, environment: dict[str, str], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        find_toolchain(mpi, {"PATH": "/nowhere", **environment})


def test_the_mpis_of_this_machine(toolchain: Toolchain) -> None:
    assert toolchain.mpicxx.is_absolute() and os.access(toolchain.mpiexec, os.X_OK)
    assert toolchain.version[0].isdecimal()
    assert toolchain.name == f"{toolchain.vendor.title} {toolchain.version}"
