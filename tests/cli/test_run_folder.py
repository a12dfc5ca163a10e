"""Folders in which a simulation cannot run are refused before anything is made in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.cli.options.request import RunRequest
from kiviat.cli.options.run_directory import new_run
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.substrates.simulated import Simulated
from kiviat.record import InputError
from tests.simulated.conftest import SMALL


def test_folders_with_blanks(tmp_path: Path) -> None:
    """smpirun does not quote paths; every case of such a run once failed."""
    folder, machine = tmp_path / "a b", Simulated.parse(str(SMALL))
    with pytest.raises(InputError, match="a b contains a blank, which smpirun cannot handle; give another"):
        new_run(RunRequest(output=str(folder)), "x", machine)
    assert not folder.exists()
    try:
        toolchain = find_toolchain(SIMULATOR)
    except InputError as error:
        pytest.skip(str(error))
    with pytest.raises(InputError, match="contains a blank"):
        machine.start(toolchain, 2, folder, LauncherOptions())


def test_a_program_of_the_user_s_in_such_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program").write_bytes(b"libsimgrid")
    try:
        find_toolchain(SIMULATOR)
    except InputError as error:
        pytest.skip(str(error))
    words = ["run", "--on", f"simulated:{SMALL}", "-n", "2", "-o", "a b", "--", "./program"]
    assert main(words) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("kiviat: ") and "a b contains a blank" in said
    assert not (tmp_path / "a b").exists()
