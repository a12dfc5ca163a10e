"""Final output of `kiviat profile`, and lines beside the output of any program."""

from __future__ import annotations

import shlex
import sys

from kiviat.cli.text.hints import typeable
from kiviat.cli.text.profile import in_one_line
from kiviat.launch.tools.profile import Profiled
from kiviat.profile import read_profile, remarks_on_left_out


def tell(ended: Profiled) -> None:
    """Print one line of results for each profile, and what is missing in it."""
    for path in ended.profiles:
        profile = read_profile(path)
        for sentence in profile.kinship:
            say(f"{path}: {sentence}")
        say(f"{path}: {in_one_line(profile)}; `kiviat show {shlex.quote(str(path))}` says more")
        if not profile.ended.all():
            missing = profile.ranks - int(profile.seen.sum())
            nothing = f", and {missing} left nothing" if missing else ""
            say(f"ranks ended without MPI_Finalize; this is what they counted until then{nothing}")
    for sentence in remarks_on_left_out(ended.left_out):
        say(sentence)


def say(line: str) -> None:
    """Print to standard error, because standard output belongs to the program."""
    sys.stdout.flush()
    print(typeable(f"kiviat: {line}"), file=sys.stderr)
