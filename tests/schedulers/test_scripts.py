"""Names chosen by other users cannot inject anything into job scripts.

A plan named "x rm -rf ~ #", or an option of `--on` with a newline, once added lines to the script.
"""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kiviat.cli.subcommands.run_job import options_given
from kiviat.launch.schedulers.scheduler import Request, render, schedulers
from kiviat.record import InputError

NAMES = ("slurm", "pbs", "lsf", "flux")
TEMPLATE = (
    "#!/bin/bash\n#SBATCH --job-name={{ name }} --chdir={{ folder }}\n"
    "{% for option, value in options.items() %}#SBATCH --{{ option }}={{ value }}\n{% endfor %}"
    'echo "{{ name }}" in "{{ folder }}" > said\n{{ command }} &\nwait\n'
)
HOSTILE = (
    "x\ntouch INJECTED\n#",
    "x\r\ntouch INJECTED\r\n#",
    "$(touch INJECTED)",
    "`touch INJECTED`",
    "x;touch INJECTED;",
    "x --wrap='touch INJECTED' -o /elsewhere",
    'x" && touch INJECTED "',
    "x\u2028touch INJECTED",
    "{{ command }} %j {{id}}",
)
MARKS = {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB", "flux": "#flux:"}


def request(folder: Path) -> Request:
    return Request("kiviat-quick", folder, "touch ran", 2, None, 5, [])


def directives(name: str, script: str) -> list[str]:
    return [line for line in script.split("\n") if line.startswith(MARKS[name])]


def executed(script: str, folder: Path) -> set[str]:
    """Run the script and return the files that it created in its folder."""
    before = set(folder.iterdir())
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env={"PATH": "/usr/bin:/bin", "PBS_O_WORKDIR": str(folder)}
    )
    assert done.returncode == 0
    return {path.name for path in set(folder.iterdir()) - before}


@pytest.mark.parametrize("own", [False, True], ids=["ours", "template"])
@pytest.mark.parametrize("name", NAMES)
def test_a_plan_s_name_is_a_name_in_the_script(name: str, own: bool, tmp_path: Path) -> None:
    template = tmp_path / "template.sh"
    template.write_text(TEMPLATE)
    used = template if own else None
    plain = directives(name, render(schedulers()[name], request(tmp_path), used))
    for hostile in HOSTILE:
        script = render(schedulers()[name], replace(request(tmp_path), name=f"kiviat-{hostile}"), used)
        called = [line.split("kiviat-")[1].split()[0] for line in script.split("\n") if "kiviat-" in line]
        assert directives(name, script.replace(f"kiviat-{called[0]}", "kiviat-quick")) == plain
        assert executed(script, tmp_path) == ({"ran", "said"} if own else {"ran"})
        for made in ("ran", "said"):
            (tmp_path / made).unlink(missing_ok=True)


@pytest.mark.parametrize("name", NAMES)
def test_an_option_is_one_option_of_one_line(name: str, tmp_path: Path) -> None:
    plain = render(schedulers()[name], request(tmp_path))
    for value in ("debug", "select=2:ncpus=4", "span[ptile=4]", "it's of 2 words # and more; --uid=0"):
        script = render(schedulers()[name], replace(request(tmp_path), options=[("q", value)]))
        (added,) = set(directives(name, script)) - set(directives(name, plain))
        assert shlex.split(added, comments=False)[1:] in ([f"--q={value}"], ["-q", value])
        assert executed(script, tmp_path) == {"ran"}
        (tmp_path / "ran").unlink()


@pytest.mark.parametrize(
    ("on", "options"),
    [
        ("slurm:partition=debug,account=ours", [("partition", "debug"), ("account", "ours")]),
        ("slurm:nodelist=n1,n2,exclusive", [("nodelist", "n1,n2"), ("exclusive", "")]),
        ("slurm:nodelist=n[1,3],nodes=2", [("nodelist", "n[1,3]"), ("nodes", "2")]),
        ("slurm:export=ALL,FOO=1,time=5", [("export", "ALL,FOO=1"), ("time", "5")]),
        ("slurm", []),
        ("pbs:l=a=1,l=b=2,N=x", [("l", "a=1"), ("l", "b=2"), ("N", "x")]),
        ("lsf:R=rusage[mem=4000,ngpus=1],x", [("R", "rusage[mem=4000,ngpus=1]"), ("x", "")]),
    ],
)
def test_options_may_be_flags_and_lists(on: str, options: list[tuple[str, str]]) -> None:
    assert options_given(on) == options


def test_an_option_may_be_given_twice(tmp_path: Path) -> None:
    asked = replace(request(tmp_path), options=[("l", "ngpus=1"), ("l", "mem=4gb")])
    assert directives("pbs", render(schedulers()["pbs"], asked))[-2:] == [
        "#PBS -l ngpus=1",
        "#PBS -l mem=4gb",
    ]
    template = tmp_path / "own.sh"
    template.write_text(
        "{{ options.l }} {{ options.get('q', 'none') }} {% for name in options %}{{ name }}{% endfor %}"
    )
    assert render(schedulers()["pbs"], asked, template) == "mem=4gb none l"


def test_a_bracket_is_closed() -> None:
    with pytest.raises(InputError, match=r"'R=a\[b=1,c=2' has a bracket that is not closed"):
        options_given("lsf:R=a[b=1,c=2")


@pytest.mark.parametrize("on", ["slurm:exclusve", "slurm:=debug", "slurm:exclusive,n2"])
def test_other_words_are_refused(on: str) -> None:
    with pytest.raises(InputError, match="is not of the form OPTION=VALUE"):
        options_given(on)


@pytest.mark.parametrize(("name", "flag"), [("slurm", "exclusive"), ("lsf", "x"), ("flux", "exclusive")])
def test_a_flag_has_no_value(name: str, flag: str, tmp_path: Path) -> None:
    script = render(schedulers()[name], replace(request(tmp_path), options=[(flag, ""), ("q", "debug")]))
    dashes = "-" if name == "lsf" else "--"
    assert f"{MARKS[name]} {dashes}{flag}" in directives(name, script)
    assert executed(script, tmp_path) == {"ran"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options",
    [
        *({"q": value} for value in HOSTILE if not value.isprintable() or set(value) & set('"`$')),
        {"q": "a\\"},
        {"q": "a\0"},
        {"q": "\udc80"},
        {"q\ntouch INJECTED\n#": "a"},
        {"q --uid": "0"},
        {"-q": "a"},
    ],
)
def test_an_option_that_would_be_more_is_refused(name: str, options: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"--on {name}:"):
        render(schedulers()[name], replace(request(tmp_path), options=[*options.items()]))


@pytest.mark.parametrize("odd", [*HOSTILE, "two words", "it's", "100%", "a:b"])
def test_a_folder_that_would_be_more_is_refused(odd: str) -> None:
    with pytest.raises(InputError, match="a job script cannot hold the folder"):
        render(schedulers()["slurm"], request(Path("/runs") / odd))
    assert "/läufe/r-1_2.3+4@5" in render(schedulers()["slurm"], request(Path("/läufe/r-1_2.3+4@5")))


def test_a_command_has_one_line() -> None:
    """Commands with line breaks are refused, because LSF reads directives even inside quotes."""
    command = shlex.join(["kiviat", "run", "--launcher", "srun\n#BSUB -E 'touch INJECTED'"])
    with pytest.raises(InputError, match="control characters"):
        render(schedulers()["lsf"], replace(request(Path("/runs/r")), command=command))
