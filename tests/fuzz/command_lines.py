"""Fuzzed command lines: real ones in which some words are replaced by others of the same kind or by unusual
ones.

Commands that only read are executed. For commands that start programs, only the request is built, and its
texts are parsed: substrate, ranks, sizes, placements, power, plans.
"""

from __future__ import annotations

import argparse
import io
import json
import shlex
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from random import Random

from kiviat.cli.options.arguments import parsed, parser
from kiviat.cli.options.plan import asked_once, asked_plan
from kiviat.cli.options.request import PlanOptions, Request, Where
from kiviat.cli.options.substrate import declared_watts, mpi_on, options_of, settled_shape, substrate_of
from kiviat.plan import shipped_benchmarks
from kiviat.record import InputError
from tests.fuzz.harness import run
from tests.fuzz.mutate import TEXTS, WORDS

READING = (
    "show RUN",
    "show a.profile --format csv",
    "show RUN pingpong --percentiles",
    "report RUN a.profile -o report.html",
    "balance RUN --with all --rule small=keep -o balance.html",
    "scaling RUN --benchmark pingpong --metric time --strong --at 64,128",
    "compare RUN RUN --metric time --threshold 5",
    "export RUN -o run.parquet --what samples",
    "export RUN --format openmetrics",
    "sql --run RUN 'select benchmark, count(*) from records group by 1' --format csv",
    "model list",
    "model show altix-bx2 -o network.svg",
    "model fit RUN -o fitted.toml --nodes 2 --link 10Gbit/s --flops 1e9",
    "place a.profile --nodes 4x2x4 --hosts n1,n2,n3,n4 --no-scotch --emit slurm -o ranks",
    "runs --format json",
    "published ARCHER allreduce --all --format csv",
    "completion bash",
    "ingest RUN/run.json --ranks 4 --machine x -o ingested",
)
STARTING = (
    "run quick -n 4 -m 0:4M --launches 3 --seed 7",
    "run pingpong allreduce -n 2:16 -m 8,1K,64K --budget 0.5 --target 2 --watts 250",
    "run npb --class A -n 16 --set seed=3 --memory 2G",
    "run --on simulated:altix-bx2 -n 8x2 --place cyclic b_eff",
    "run --on emulated:4x2,rate=1Gbit,delay=20us -n 8 dense --bind core",
    "run --on slurm -n 8x2 --place plane:2 --script job.sh b_eff",
    "run -i 100 -x 5 --sync barrier --timeout 60 --launcher srun pingpong",
    "profile --on simulated:altix-bx2 -n 64 cg",
    "profile --wait-states -o a.profile -- mpirun -n 4 ./a",
    "trace -o a.trace -- mpirun -n 4 ./a",
    "what-if altix-bx2 --set link.bandwidth=2x b_eff -n 16",
    "cluster up 4x2,rate=1Gbit --name x",
    "cc -O2 a.c -o a",
)
_MORE = (
    *(
        "0",
        "1",
        "2",
        "64",
        "1024x64",
        "0x0",
        "2x",
        "x2",
        "1:1",
        "16:2",
        "2:",
        ":",
        "1,,2",
        "0:0",
        "1K",
        "1T",
        "1E",
    ),
    *(
        "5%",
        "inf",
        "1e400",
        "doubling",
        "all",
        "none",
        "last",
        "RUN",
        "RUN/",
        "./RUN",
        "a.profile",
        "*",
        "?",
        "a[1]",
    ),
    *(
        "simulated:",
        "simulated:./RUN",
        "emulated:",
        "emulated:0x0",
        "emulated:1x1,rate=0",
        "slurm:x",
        "file:",
        "file:/",
    ),
    *(
        "--",
        "-h",
        "--help",
        "-n",
        "-o",
        "--format",
        "--nodes=-1",
        "-m=",
        "/dev/full",
        "/dev/null",
        "RUN/x/y",
        "-",
    ),
    *(
        "select",
        "select 1; drop table runs",
        "copy (select 1) to 'x'",
        "select * from '/etc/passwd'",
        "attach 'x'",
    ),
    *(
        "1e-320",
        "1" * 400,
        "-0",
        "+1",
        "1.5",
        "0x10",
        "१",
        "٣",
        "1_000",
        "link.bandwidth=",
        "=",
        "a=b=c",
        "x=1e999",
    ),
)

# No real file: a command may be told to write to it.
_STRANGE = tuple(text for text in (*_MORE, *TEXTS) if text != "/etc/passwd")


@cache
def _options() -> Mapping[str, list[str]]:
    """Return the options of every command by its name, including those of subcommands."""
    found: dict[str, list[str]] = {}

    def visit(name: str, one: argparse.ArgumentParser) -> None:
        found[name] = sorted(one._option_string_actions)
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word, inner in action.choices.items():
                    visit(f"{name} {word}".strip(), inner)

    visit("", parser())
    return found


def changed(rng: Random) -> tuple[list[str], str]:
    """Return a changed command line, and a description of the change."""
    words = shlex.split(rng.choice((*READING, *STARTING)))
    options = [*_options().get(words[0], ()), *_options().get(" ".join(words[:2]), ())]
    told = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(1, len(words) + 1)
        how = rng.choice(
            ("strange", "strange", "strange", "option", "option", "drop", "again", "cut", "equals")
        )
        told.append(how)
        if how == "drop" and at < len(words):
            del words[at]
        elif how == "again" and at < len(words):
            words.insert(at, words[at])
        elif how == "cut" and at < len(words):
            words[at] = words[at][: rng.randrange(len(words[at]) + 1)]
        elif how == "equals" and at < len(words):
            words[at : at + 2] = ["=".join(words[at : at + 2])]
        elif how == "option" and options:
            words[at:at] = [rng.choice(options), rng.choice(_STRANGE)][: rng.choice((1, 2))]
        else:
            words[at : at + 1] = [rng.choice((*_STRANGE, *WORDS)).replace("\0", "\udcff")]
    return words, " ".join(told)


def read(folder: Path) -> None:
    """Execute the command line in the file `words`, or build its request, in the working directory."""
    words = json.loads((folder / "words").read_text())
    if (
        words
        and words[0] in {line.split()[0] for line in READING}
        and "--unsafe" not in words
        and _is_harmless(words)
    ):
        run(*words)
        return
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            request = parsed(words)
    except SystemExit as end:  # --help, or a refusal in one line
        assert end.code in (0, 2), end
        return
    _read_texts(request)


def _is_harmless(words: list[str]) -> bool:
    """Return whether the command line starts no programs."""
    texts = " ".join(words)
    places_alone = words[0] != "place" or ("--no-scotch" in words and "--verif" not in texts)
    return places_alone and not texts.startswith(("model validate", "model check", "model predict"))


def _read_texts(request: Request) -> None:
    where, what = getattr(request, "where", Where()), getattr(request, "what", PlanOptions())
    refused = 0
    ranks = getattr(what, "ranks", None) or getattr(request, "ranks", None)
    for text in (
        lambda: settled_shape(ranks, where),
        lambda: options_of(where),
        lambda: mpi_on(where.on, getattr(request, "mpi", None)),
        lambda: declared_watts(what.watts, substrate_of(where.on)),
        lambda: asked_plan(what, shipped_benchmarks(), 4),
        lambda: asked_plan(asked_once(what), shipped_benchmarks(), 64),
    ):
        try:
            text()
        except InputError as refusal:
            refused += 1
            assert len(str(refusal).splitlines()) == 1, f"refused with {str(refusal)[:200]!r}"
