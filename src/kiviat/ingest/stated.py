"""Reads what job scripts, and schedulers within logs, state about a launch: ranks, nodes, command.

Understood are the directives of Slurm, PBS, Grid Engine, LSF and Flux, literal options of launchers
(`mpirun -np 64`), also within lines such as `cd bin && mpirun -np 64 ./a`, the job specification and events
that Flux appends to output, and the lists of devices of nccl-tests. What depends on the environment of the
job (`-n $((NODES*4))`) is not stated.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kiviat.record.plain import whole_number
from kiviat.record.valid import parse_json

_MOST_RANKS = 1_000_000


@dataclass(frozen=True, slots=True)
class Stated:
    """Facts about a launch; None and () if not stated.

    `hosts` has the host, or a number of the node, of each rank. `command` is the started command line.
    `output` are patterns of the names of files that the launch writes; it is `redirected` if its own command
    line, not the job's directives, names them.
    """

    ranks: int | None = None
    nodes: int | None = None
    hosts: tuple[str, ...] = ()
    command: str = ""
    output: tuple[str, ...] = ()
    redirected: bool = False
    source: str = ""

    def placed(self) -> Stated:
        """Return these facts with `hosts` if ranks and nodes leave one placement only."""
        if self.hosts or not self.ranks or self.ranks > _MOST_RANKS:
            return self
        if self.nodes == 1:
            return replace(self, hosts=("node 0",) * self.ranks)
        if self.nodes == self.ranks:
            return replace(self, hosts=tuple(f"node {rank}" for rank in range(self.ranks)))
        return self


def looks_like_script(text: str) -> bool:
    """True for scripts: text that begins with #! or has a scheduler's directives."""
    return text.lstrip().startswith("#!") or _DIRECTIVE.search(text[:4096]) is not None


def of_script(text: str) -> list[Stated]:
    """Return what a job script states about each launch in it, or about the job if it has none.

    A command that may be a launch, but is not understood, is one with an unknown number of ranks.
    """
    values = _Variables()
    asked = _asked(text, values)
    launches = list(_launches(text, values, asked))
    outputs = tuple(_pattern(word) for word in asked.output)
    if not launches:
        return [Stated(asked.total, asked.count, output=outputs).placed()]
    return [replace(launch, output=launch.output or outputs).placed() for launch in launches]


def of_log(text: str) -> Stated:
    """Return what a log itself states about its launch; jobs often print their script first."""
    hosts = _nccl_hosts(text)
    if hosts:
        return Stated(len(hosts), len(set(hosts)), hosts, source="its list of devices")
    found = _flux(text)
    if not found.ranks and _DIRECTIVE.search(text):
        return replace(common(of_script(text)), source="its script")
    return found


def common(launches: Sequence[Stated]) -> Stated:
    """Return the facts in which all launches agree."""
    first = launches[0]
    return Stated(
        first.ranks if len({launch.ranks for launch in launches}) == 1 else None,
        first.nodes if len({launch.nodes for launch in launches}) == 1 else None,
        first.hosts if len({launch.hosts for launch in launches}) == 1 else (),
        first.command if len({launch.command for launch in launches}) == 1 else "",
    )


# Job scripts


_DIRECTIVE = re.compile(r"^#\s?(?:SBATCH|PBS|\$|BSUB|flux:|FLUX:)\s+-", re.MULTILINE)
_DIRECTIVES = re.compile(r"^#\s?(SBATCH|PBS|\$|BSUB|flux:|FLUX:)[ \t]+(\S.*)$", re.MULTILINE)
_SAME = {"-N": "nodes", "-n": "ntasks", "-o": "output", "-e": "error", "--tasks-per-node": "ntasks-per-node"}
_CHUNKS = re.compile(r"(?:select|nodes)=([\w=.:+-]+)")
_CHUNK = re.compile(r"(\d+)((?::[\w=.-]+)*)")
_EACH = re.compile(r":(?:mpiprocs|ppn)=(\d+)")
_LAUNCHERS = (
    *("mpirun", "mpiexec", "mpiexec.hydra", "mpirun_rsh", "orterun", "prterun"),
    *("srun", "ibrun", "aprun", "jsrun", "flux"),
)


@dataclass(slots=True)
class _Asked:
    """A job's directives."""

    ranks: int | None = None
    nodes: int | None = None
    per_node: int | None = None
    output: tuple[str, ...] = ()

    @property
    def total(self) -> int | None:
        """The number of ranks: that of the job, or its nodes times their ranks."""
        return self.ranks or (self.nodes * self.per_node if self.nodes and self.per_node else None)

    @property
    def count(self) -> int | None:
        """The number of nodes: that of the job, or its ranks over those of a node."""
        if self.nodes or not (self.ranks and self.per_node):
            return self.nodes
        return -(-self.ranks // self.per_node)

    def add_chunks(self, chunks: Sequence[str]) -> None:
        """Add the nodes of PBS's "1:mpiprocs=1+3:mpiprocs=8", and their ranks if each chunk states them."""
        found = list(filter(None, map(_CHUNK.fullmatch, chunks)))
        counts = [_whole(chunk[1]) or 0 for chunk in found]
        each = [_whole(given[1]) if (given := _EACH.search(chunk[2])) else None for chunk in found]
        if len(found) < len(chunks) or not all(counts):
            return
        self.nodes = sum(counts)
        if len(set(each)) == 1:
            self.per_node = each[0] or self.per_node
        elif all(each):
            self.ranks = sum(count * (ranks or 0) for count, ranks in zip(counts, each, strict=True))


class _Variables(dict[str, str]):
    """Shell variables with literal values; one that is set twice, or by a loop, has none.

    Values are filled in until a script has grown by `_MOST_FILLED` characters: B=$A$A, C=$B$B and so on to
    Z=$Y$Y would fill the memory.
    """

    _MOST_FILLED = 1 << 18
    _filled = 0

    _LITERAL = re.compile(r"^\s*(?:(?:then|else|do|\{)\s+)?(?:export\s+)?(\w+)=[\"']?([\w./+-]*)[\"']?\s*$")
    _SET = re.compile(r"^\s*(?:(?:then|else|do|\{)\s+)?(?:export\s+|for\s+)?(\w+)(?:=|\s+in\s)")
    _USE = re.compile(r"\$\{?(\w+)\}?")
    _PRODUCT = re.compile(r"\$\(\(\s*(\d{1,7})\s*\*\s*(\d{1,7})\s*\)\)")

    def note(self, command: str) -> None:
        """Keep the variable that a command sets, if it sets one."""
        if found := self._LITERAL.match(self.filled(command)):
            self[found[1]] = found[2] if self.get(found[1], found[2]) == found[2] else f"${found[1]}"
        elif other := self._SET.match(command):
            self[other[1]] = f"${other[1]}"

    def filled(self, line: str) -> str:
        """Return text with the values of the variables that are known, and products computed."""
        plain = re.sub(r"\$\(\(([^()]*)\)\)", lambda term: "$((" + self._names(term[1]) + "))", line)
        plain = self._USE.sub(lambda use: self._value(use[1], use[0]), plain)
        return self._PRODUCT.sub(lambda factors: str(int(factors[1]) * int(factors[2])), plain)

    def _names(self, words: str) -> str:
        return re.sub(r"\b[A-Za-z_]\w*", lambda name: self._value(name[0], name[0]), words)

    def _value(self, name: str, unknown: str) -> str:
        """Return a variable's value; `unknown` if it has none, or too much has been filled in."""
        value = self.get(name, unknown)
        self._filled += max(0, len(value) - len(unknown))
        return value if self._filled <= self._MOST_FILLED else unknown


def _asked(text: str, values: _Variables) -> _Asked:
    asked = _Asked()
    for kind, words in _DIRECTIVES.findall(text):
        options = _options(words.split(" #")[0])
        if kind == "SBATCH" or kind.lower() == "flux:":
            asked.nodes = _count(options, "nodes") or asked.nodes
            asked.ranks = _count(options, "ntasks") or asked.ranks
            asked.per_node = _count(options, "ntasks-per-node") or asked.per_node
        elif kind == "PBS" and (chunks := _CHUNKS.search(options.get("-l", ""))):
            asked.add_chunks(chunks[1].split("+"))
        elif kind == "$" and (parts := options.get("-pe", "").split()):
            asked.ranks = _whole(parts[-1])
        elif kind == "BSUB":
            asked.ranks = _count(options, "ntasks") or asked.ranks
            asked.nodes = _count(options, "-nnodes") or asked.nodes
            if tiled := re.search(r"ptile=(\d{1,6})", options.get("-R", "")):
                asked.per_node = _whole(tiled[1])
        asked.output += tuple(filter(None, (options.get("output"), options.get("error"))))
    known = {"SLURM_NTASKS": asked.total, "SLURM_NPROCS": asked.total, "SLURM_NNODES": asked.nodes}
    known |= {"SLURM_JOB_NUM_NODES": asked.nodes, "NSLOTS": asked.ranks}
    values.update({name: str(value) for name, value in known.items() if value})
    return asked


def _options(words: str) -> dict[str, str]:
    """Return options and their values; short ones of Slurm under their long names."""
    try:
        parts = shlex.split(words, comments=True)
    except ValueError:  # a quotation mark without its fellow
        parts = words.split()
    options: dict[str, str] = {}
    name = ""
    for part in parts:
        if match := re.fullmatch(r"(--[\w-]+)=(.*)|(-[Nn])=?(\d+)", part):
            options[_long(match[1] or match[3])], name = match[2] or match[4] or "", ""
        elif part.startswith("-") and len(part) > 1:
            name = _long(part)
            options[name] = ""
        elif name:
            options[name] = f"{options[name]} {part}".strip()
    return options


def _long(name: str) -> str:
    return _SAME.get(name, name.removeprefix("--"))


def _count(options: Mapping[str, str], name: str) -> int | None:
    return _whole(options.get(name, ""))


def _whole(word: str) -> int | None:
    """Return a number of ranks or nodes; None for other words and impossible numbers."""
    number = whole_number(word)
    return number if number and number <= _MOST_RANKS else None


# Marks that end a command, and quoted text, $(…) and `…`, which may hide such marks. A comment begins with #.
_MARK = re.compile(
    r"""'[^']*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\\.|\$?\(|\)|(?<!\S)\#|&&|\|\||\|&?|;|(?<!>)&(?!>)"""
)
# The place of a program: its name says as much.
_WHICH = re.compile(r"(?:\$\(|`)[ \t]*(?:which|command -v|type -p)[ \t]+([\w./-]+)[ \t]*(?:\)|`)")


def _pipelines(line: str) -> Iterator[list[str]]:
    """Yield the commands in a line of a script, those that are joined by pipes together."""
    joined: list[str] = []
    start, depth = 0, 0
    for mark in _MARK.finditer(line):
        kind = mark[0]
        if kind == "$(" or (kind == "(" and depth):
            depth += 1
        elif kind == ")" and depth:
            depth -= 1
        elif not depth and kind[0] not in "'\"`\\":
            joined.append(line[start : mark.start()])
            start = mark.end()
            if kind not in ("|", "|&"):
                yield joined
                joined = []
            if kind == "#":
                return
    yield [*joined, line[start:]]


# Redirection of errors, which says nothing of the output; the file that the output goes to; any redirection.
_OF_ERRORS = re.compile(r"(?<!\S)2>{1,2}(?:&\d|\s*[^\s|;]+)")
_REDIRECTED = re.compile(r">{1,2}&?\s*(\S+)")
_REDIRECTION = re.compile(r"(?:&|(?<!\S)1)?>{1,2}&?\s*\S*")
# Words of the shell before a command, and programs that start the one named after their options.
_BEFORE = (
    *("if", "then", "elif", "else", "while", "until", "do", "{", "!"),
    *("exec", "nohup", "+", "++"),  # + is that of `set -x`
)
_WRAPPERS = ("env", "time", "timeout", "numactl", "taskset", "stdbuf", "nice", "ionice")
_OF_WRAPPER = re.compile(r"-.*|[\d.,:x+!-]+[smhd]?|[A-Z\d]+|all")
_ASSIGNMENT = re.compile(r"\w+=")
_ENDS_GROUP = ("done", "fi", "esac", "}")
_SETTING = ("export", "local", "declare", "readonly", "typeset")
# Commands that launch nothing, whatever their words are, and are no benchmark if they are launched.
_NO_BENCHMARKS = frozenset(
    (
        *("hostname", "date", "echo", "printf", "true", "false", "uname", "pwd", "whoami", "id"),
        *("sleep", "sync", "nproc", "lscpu", "free", "uptime", "ulimit", "printenv", "nvidia-smi"),
        *("rocm-smi", "lstopo", "ldd", "ibstat", "ibv_devinfo", "ucx_info", "which", "type", "hash"),
        *("command", "module", "ml", "source", ".", "alias", "unset", "set", "read", "test", "[", "[["),
        *("for", "case", "function", "return", "exit", "trap", "wait", "kill", "cd", "mkdir", "rmdir"),
        *("cp", "mv", "rm", "ln", "ls", "touch", "chmod", "tar", "cat", "head", "tail", "sed", "awk"),
        *("grep", "sort", "uniq", "cut", "tr", "wc", "tee", "find", "seq"),
    )
)
# A launcher, or an option for the number of ranks, in a command that is not understood.
_MAY_LAUNCH = re.compile(
    r"(?<![a-z])(?:mpirun|mpiexec|orterun|prterun|prun|srun|aprun|jsrun|ibrun)[\w.]{0,20}[}\"']{0,2}(?:\s|$)"
    r"|\bflux\s+(?:mini\s+)?(?:run|submit)\b|(?<![\w-])-np?[ =]*\d|(?<![\w-])-np[ =]+\$",
    re.IGNORECASE,
)
_VARIABLE_LAUNCHER = re.compile(r"\$\{?\w{0,40}(?:launch|run|mpi_?exec)\w{0,40}\}?", re.IGNORECASE)


def _launches(text: str, values: _Variables, asked: _Asked) -> Iterator[Stated]:
    """Yield the launches in a script, without those of programs that are plainly no benchmark."""
    for line in re.sub(r"\\\n[ \t]*", " ", text).splitlines():
        of_line: list[Stated] = []
        for commands in _pipelines(_WHICH.sub(r"\1", line)):
            for command in commands:
                values.note(command)
            filled = [_OF_ERRORS.sub("", values.filled(command)) for command in commands]
            outputs = [found[1] for command in filled if (found := _REDIRECTED.search(command))][:1]
            files = [] if outputs and outputs[0].isdecimal() else outputs
            for command in filled:
                plain = _REDIRECTION.sub(" ", command)
                words = _words(plain)
                if not words or words[0] in _ENDS_GROUP:  # what follows it is of the whole group
                    of_line = [one if one.output else _into(one, files) for one in of_line]
                elif launch := _of_command(words, plain, asked):
                    of_line.append(_into(launch, files))
        yield from of_line


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark without its fellow
        return command.split()


def _of_command(words: Sequence[str], text: str, asked: _Asked) -> Stated | None:
    """Return the launch of a command, with unknown facts if it is not understood; None for other commands."""
    bare = _bare(words)
    name = _name(bare[0]) if bare else ""
    if name in _LAUNCHERS and (name != "flux" or bare[1:2] in (["run"], ["submit"])):
        _, program = _of_launcher(bare[1:])
        return None if program and _is_no_benchmark(program) else _launch(bare, asked)
    if not bare or name in _SETTING:  # a value may be a launcher with its options
        may = any(" " in word and _MAY_LAUNCH.search(word) for word in words)
    elif name in _NO_BENCHMARKS:
        return None
    else:
        may = bool(_MAY_LAUNCH.search(text) or _VARIABLE_LAUNCHER.fullmatch(bare[0]))
    _, program = _of_launcher(bare[1:])
    idle = program and _is_no_benchmark(program)
    return Stated(command=" ".join(words)) if may and not idle else None


def _is_no_benchmark(program: Sequence[str]) -> bool:
    """True if the command line of a launched program is plainly that of no benchmark."""
    bare = _bare(program)
    if len(bare) > 2 and _name(bare[0]) in ("sh", "bash") and bare[1] in ("-c", "-lc"):
        commands = [_bare(_words(command)) for some in _pipelines(bare[2]) for command in some]
        return all(not words or _name(words[0]) in _NO_BENCHMARKS for words in commands)
    return not bare or _name(bare[0]) in _NO_BENCHMARKS


def _bare(words: Sequence[str]) -> Sequence[str]:
    """Return a command without the words before its program: of the shell, VAR=, `timeout 60` and such."""
    wrapped = False
    for at, word in enumerate(words):
        if _name(word) in _WRAPPERS:
            wrapped = True
        elif not (word in _BEFORE or _ASSIGNMENT.match(word) or (wrapped and _OF_WRAPPER.fullmatch(word))):
            return words[at:]
    return ()


def _name(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _into(launch: Stated, files: Sequence[str]) -> Stated:
    """Return a launch whose output goes to files, if there are any."""
    output = tuple(map(_pattern, files))
    return replace(launch, output=output, redirected=any(map(_says_much, output))) if output else launch


_RANKS = ("-n", "-np", "--np", "--ntasks", "--n")
_PER_NODE = (
    "-ppn",
    "--ppn",
    "-npernode",
    "--npernode",
    "-N",
    "--ntasks-per-node",
    "--tasks-per-node",
    "-perhost",
)
_NODES = ("-N", "--nodes")
_SETS = ("-n", "--nrs")  # sets of resources of jsrun, each with one or several ranks
_COUNT_BY_C = ("mpirun", "mpiexec", "orterun", "prterun")  # Open MPI's -c is -n
# Options of launchers without a value, and with two.
_FLAGS = re.compile(
    r"-[lvqVubhk]+|--?(?:label|verbose|quiet|exclusive|exact|overlap|overcommit|oversubscribe|tag-output|timestamp"
    r"|allow-run-as-root|report-bindings|display-map|bind-to-none|nooversubscribe|unbuffered|spread|prepend-rank|pty"
    r"|no-kill|wait|use-hwthread-cpus)"
)
_TWO = ("--mca", "-mca", "--prtemca", "--gmca", "-gmca", "-genv", "-env", "--genv", "--env")


def _launch(words: Sequence[str], asked: _Asked) -> Stated:
    """Return the facts of one launch, from its options and then from the job's."""
    launcher = _name(words[0])
    by_nodes = launcher in ("srun", "flux")
    found: dict[str, int] = {}
    several = ":" in words  # separates programs of one launch
    unknown = several
    options, _ = _of_launcher(words[1:])
    for option, value in options:
        if option.endswith("-map-by") and (mapped := re.match(r"ppr:(\d{1,6}):node\b", value)):
            found["each"] = int(mapped[1])
            continue
        of_nodes = option in _NODES and by_nodes
        of_each = option in _PER_NODE and not of_nodes
        if launcher == "jsrun" and option in _SETS:
            unknown = True
            continue
        by_c = option == "-c" and launcher in _COUNT_BY_C
        of_ranks = option in _RANKS or by_c or (launcher == "jsrun" and option == "-p")
        if not (of_nodes or of_each or (of_ranks and not several)):
            continue
        key = "nodes" if of_nodes else "each" if of_each else "by_c" if by_c else "ranks"
        if count := _whole(value):
            found.setdefault(key, count)
        elif key == "ranks":
            unknown = True
    ranks = found.get("ranks") or (None if unknown else found.get("by_c"))
    nodes, each = found.get("nodes"), found.get("each") or asked.per_node
    if ranks is None and not unknown:
        ranks = nodes * each if nodes and each else nodes if nodes and not asked.total else asked.total
    if nodes is None:
        nodes = -(-ranks // each) if ranks and each else asked.count
    if ranks and nodes:
        nodes = min(nodes, ranks)
    return Stated(ranks, nodes, command=" ".join(words))


def _of_launcher(words: Sequence[str]) -> tuple[list[tuple[str, str]], Sequence[str]]:
    """Return a launcher's options with their values, and the program with its own, which may look alike."""
    options: list[tuple[str, str]] = []
    at = 1 if words[:1] in (["run"], ["submit"]) else 0  # of Flux
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        at += 1
        if "=" in word:
            option, _, value = word.partition("=")
            options.append((option, value))
        elif joined := re.fullmatch(r"(-[A-Za-z])(\d{1,8})", word):
            options.append((joined[1], joined[2]))
        elif not _FLAGS.fullmatch(word):
            options.append((word, words[at] if at < len(words) else ""))
            at += 2 if word in _TWO else 1
    return options, words[at:]


def _pattern(word: str) -> str:
    """Return a pattern of the name of an output file; what the job fills in is "*"."""
    name = word.strip("\"'").rstrip("/").rsplit("/", 1)[-1]
    return re.sub(r"\*+", "*", re.sub(r"%\d*\w|\$\{?\w+\}?|\$\(.*?\)|\{\{.*?\}\}", "*", name))


def matches(pattern: str, name: str) -> bool:
    """True if a file's name is of an output pattern that says more than that there is a file."""
    return _says_much(pattern) and fnmatch.fnmatchcase(name, pattern)


def _says_much(pattern: str) -> bool:
    return len(pattern.replace("*", "")) >= 3


# Logs


_DEVICE = re.compile(
    r"^#[ \t]+Rank[ \t]+(\d{1,7})[ \t]+(?:Group[ \t]+\d+[ \t]+)?"
    r"Pid[ \t]+\d+[ \t]+on[ \t]+(\S+)[ \t]+device\b",
    re.MULTILINE,
)
_SHELL_START = re.compile(r'^\{"timestamp":[\d.]+,"name":"shell\.start",.*"taskmap".*\}$', re.MULTILINE)
_JOBSPEC = re.compile(r"^START OF JOBSPEC\n(\{.*\})$", re.MULTILINE)


def _nccl_hosts(text: str) -> tuple[str, ...]:
    by_rank = {int(rank): host for rank, host in _DEVICE.findall(text)}
    if sorted(by_rank) != list(range(len(by_rank))):
        return ()
    return tuple(by_rank[rank] for rank in range(len(by_rank)))


def _flux(text: str) -> Stated:
    """Return what `flux run` appended to output: the map of tasks (RFC 34), the job's command (RFC 14)."""
    stated = Stated()
    if start := _SHELL_START.search(text):
        hosts = _mapped(start[0])
        if hosts:
            stated = Stated(len(hosts), len(set(hosts)), hosts, source="the task map of Flux")
    if spec := _JOBSPEC.search(text):
        try:
            command = parse_json(spec[1])["tasks"][0]["command"]
            words = [str(word) for word in command] if isinstance(command, list) else [str(command)]
        except (ValueError, KeyError, IndexError, TypeError):
            return stated
        # JSON may escape halves of characters, which are no text.
        stated = replace(stated, command=" ".join(words).encode("utf-8", "replace").decode())
    return stated


def _mapped(event: str) -> tuple[str, ...]:
    """Return the node of each rank: blocks of [first node, nodes, ranks of each, repetitions]."""
    try:
        blocks: Any = parse_json(event)["context"]["taskmap"]["map"]
        hosts: list[str] = []
        for first, nodes, each, repeated in blocks:
            if not all(type(count) is int for count in (first, nodes, each, repeated)):
                return ()
            if min(nodes, each, repeated) < 1:
                return ()
            if len(hosts) + nodes * each * repeated > _MOST_RANKS:
                return ()
            once = [f"node {node}" for node in range(first, first + nodes) for _ in range(each)]
            hosts += once * repeated
    except (ValueError, KeyError, TypeError):
        return ()
    return tuple(hosts)
