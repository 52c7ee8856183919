"""Options by which a program ends with 0 though tests that it started failed, or runs none.

What only goes on behind a failure and tells it at the end is none: `make -k`, `npm-run-all -c`,
`lerna --no-bail`, `turbo --continue`, `xargs -P`, `parallel --halt never`, `yarn workspaces
foreach`, `pnpm -r --no-bail`.
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.programs import SHELLS, is_test_program, program_of, programs_of
from runner.plan.shell.shell_nodes import simples
from runner.plan.shell.syntax import ShellSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.plan.shell.shell_nodes import Simple

_YES = r"(?:=(?:true|1|yes))?\Z"
_ANYWHERE = regex(
    rf"--(?:no-verify|exit-zero){_YES}|--suppress-tests-failed(?:-exit-code)?{_YES}"
    rf"|--(?:passWithNoTests|pass-with-no-tests){_YES}"
)
"""Words that leave out what would fail: in no proof, whichever program they are given."""
_BY_PROGRAM = {
    "make": regex(r"-[bBdekLmnpqrRsStvw]*i|--ignore-errors\Z"),
    # Maven, Introduction to the Reactor, and the plug-in's parameter testFailureIgnore.
    "mvn": regex(rf"-fn\Z|--fail-never\Z|-Dmaven\.test\.failure\.ignore{_YES}"),
    "mocha": regex(rf"--pass-on-failing-test-suite{_YES}"),
    "jest": regex(r"--testFailureExitCode=0+\Z"),
    "rspec": regex(r"--failure-exit-code=0+\Z"),
    "robot": regex(r"--nostatusrc\Z"),
    "pabot": regex(r"--nostatusrc\Z"),
    "karma": regex(r"--(?:no-fail-on-failing-test-suite|fail-on-failing-test-suite=false)\Z"),
    # All others are ended as soon as one ends well, and what they said is passed over.
    "run-p": regex(r"--race\Z|-[clnr]*r[clnr]*\Z"),
    "npm-run-all": regex(r"--race\Z|-[clnpr]*r[clnpr]*\Z"),
    "tox": regex(r"(?:-x|--override)?=?\S*\.ignore_outcome=(?:true|1|yes)\Z", re.IGNORECASE),
}
_SAME_AS = {"gmake": "make", "mvnw": "mvn", "npm-run-all2": "npm-run-all", "conc": "concurrently"}
_WITH_VALUE = {"jest": "--testFailureExitCode", "rspec": "--failure-exit-code"}
"""Options whose value may be the next word."""
_RUNS_NOTHING = {
    "pytest": regex(r"--co\Z|--collect-only\Z|--setup-(?:plan|only)\Z|--fixtures\Z|--markers\Z"),
    "make": regex(r"-[bBdekLmpqrRsSvw]*[nt]|--(?:just-print|dry-run|recon|touch|question)\Z|-q\Z"),
    "mvn": regex(rf"-DskipTests{_YES}|-Dmaven\.test\.skip{_YES}"),
    "gradle": regex(r"-m\Z|--dry-run\Z"),
    "tox": regex(r"-n\Z|--notest\Z|-l\Z|--listenvs\Z|-a\Z|--listenvs-all\Z"),
    "nox": regex(r"-l\Z|--list(?:-sessions)?\Z|--install-only\Z"),
    "just": regex(r"-n\Z|--dry-run\Z|-l\Z|--list\Z|--summary\Z|--show\Z|--evaluate\Z"),
    "task": regex(r"-n\Z|--dry\Z|-l\Z|--list(?:-all)?\Z|--summary\Z|--status\Z"),
    "turbo": regex(r"--dry(?:-run)?(?:=\w+)?\Z"),
    "jest": regex(r"--listTests\Z|--showConfig\Z"),
    "mocha": regex(rf"--dry-run{_YES}"),
    "rspec": regex(r"--dry-run\Z"),
    "behave": regex(r"-d\Z|--dry-run\Z"),
    "robot": regex(r"--dryrun\Z"),
    "ctest": regex(r"-N\Z|--show-only(?:=\S*)?\Z"),
    "cargo": regex(r"--no-run\Z|--list\Z"),
    "go": regex(r"-n\Z|-c\Z|-list(?:=|\Z)"),
    "playwright": regex(r"--list\Z"),
    "phpunit": regex(r"--list-(?:tests|suites|groups)\Z"),
    "dotnet": regex(r"-t\Z|--list-tests\Z"),
    "deno": regex(r"--no-run\Z"),
    "parallel": regex(r"--dry-?run\Z"),
}
_SAME_AS_TESTS = {"py.test": "pytest", "pytest-3": "pytest", "gradlew": "gradle"}
_FINDS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_RETURNS = regex(r"-\w*e|--return\Z")
_SCRIPT = regex(r"-\w*c")
_NUMBER = regex(r"(!?)command-(?P<which>.+)\Z")
_NOTHING = frozenset({"true", ":", "echo"})


def lenient_option(command: Simple) -> str:
    """The word by which a command says 0 though tests that it runs failed; else empty."""
    return next((word for one in programs_of(command) if (word := _lenient_word(*one))), "")


def _lenient_word(called: str, words: tuple[str, ...]) -> str:
    name = _SAME_AS.get(called, called)
    known = _BY_PROGRAM.get(name)
    for at, word in enumerate(words):
        if known and known.match(word):
            return word
        if _WITH_VALUE.get(name) == word and words[at + 1 : at + 2] == ("0",):
            return f"{word} 0"
    return next(_LOOKS[name](words), "") if name in _LOOKS else ""


def without_bypass(word: str, whole: str = "the command") -> str:
    """What to do about a word of the `whole` that leaves checks out, for whoever wrote it."""
    if word.endswith(" … ;"):
        return "end it with `{} +` in place of `;`: find then fails where a test does"
    return f"take `{word}` out of {whole}"


def is_bypass(word: str) -> bool:
    """Whether a word leaves out what would fail, whichever program it is given."""
    return _ANYWHERE.match(word) is not None


_MAY_BE_IDLE = regex(
    r"--(?:co|dry|just|recon|touch|list|show|setup|fixtures|markers|no-run|notest|install-only)"
    r"|--(?:summary|status|evaluate)|-DskipTests|-Dmaven|\s-list\b"
)
_IDLE_BY_LETTER = regex(r"\b(?:make|tox|nox|just|task|ctest|go|gradlew?|behave|dotnet)\b")
_LETTER = regex(r"\s-\w*[acdlmnNt]\b")


def may_be_idle(line: str) -> bool:
    """Whether a line may have an option by which a test program runs nothing; quickly."""
    if _MAY_BE_IDLE.search(line):
        return True
    return bool(_IDLE_BY_LETTER.search(line) and _LETTER.search(line))


def idle_option(command: Simple) -> str:
    """The word by which a test program shows what it would run, and runs none of it."""
    name, words = program_of(command)
    if re.match(r"python[\d.]*\Z", name) and words[:1] == ("-m",):
        name, words = words[1] if len(words) > 1 else "", words[2:]
    name = _SAME_AS_TESTS.get(name, _SAME_AS.get(name, name))
    known = _RUNS_NOTHING.get(name)
    # What stands behind `--` is another's.
    own = words[: words.index("--")] if "--" in words else words
    return next((word for word in own if known.match(word)), "") if known else ""


# --- programs that are told in more than a word which of theirs may fail ----------------------


def _of_concurrently(words: tuple[str, ...]) -> Iterator[str]:
    """`--success`: all must pass, unless it says otherwise."""
    lines = list(_past_options(words, _TAKES))
    wanted = _value_of(words, ("-s", "--success"))
    tests = [one for one in lines if starts_tests(one)]
    kills = bool({"-k", "--kill-others"} & set(words))
    named = _NUMBER.match(wanted)
    if wanted in ("", "all") or not tests:
        return
    if wanted == "first" and kills and len(tests) == 1:
        return  # the test ends, and what it needed is ended with it
    if named:
        chosen = _chosen(named["which"], lines, _value_of(words, ("-n", "--names")))
        if bool(named[1]) != bool(set(chosen) & set(tests)) and (named[1] or len(tests) == 1):
            return
    yield f"--success {wanted}"


_TAKES = frozenset(
    {"-s", "--success", "-n", "--names", "-m", "--max-processes", "-c", "--prefix-colors", "-p"}
    | {"--prefix", "-l", "--prefix-length", "-t", "--timestamp-format", "--name-separator"}
    | {"--restart-tries", "--restart-after", "--kill-signal", "--hide", "--default-input-target"}
)


def _chosen(which: str, lines: Sequence[str], names: str) -> list[str]:
    called = names.split(",") if names else []
    return [
        line
        for at, line in enumerate(lines)
        if which == str(at) or (at < len(called) and called[at] == which)
    ]


def _of_pnpm(words: tuple[str, ...]) -> Iterator[str]:
    """Of one package `--no-bail` ended with 0 until 2026; of many it tells the failure."""
    many = {"-r", "--recursive", "--filter", "-F", "recursive", "multi", "m"} & set(words)
    chosen = any(one.startswith(("--filter=", "-F=")) for one in words)
    if "--no-bail" in words and not (many or chosen):
        yield "--no-bail"


def _of_find(words: tuple[str, ...]) -> Iterator[str]:
    """What `-exec … ;` ended with is only asked by find itself (POSIX.1-2017, find)."""
    begun = -1
    for at, word in enumerate(words):
        if word in _FINDS:
            begun = at
        elif begun >= 0 and (word == ";" or words[at - 1 : at + 1] == ("{}", "+")):
            if word == ";" and _ends_as_tests(words[begun + 1 : at]):
                yield f"{words[begun]} … ;"
            begun = -1


def _ends_as_tests(words: tuple[str, ...]) -> bool:
    """Whether words start tests, or a shell with a line that ends as its tests do."""
    if is_test_program(words):
        return True
    name, rest = program_of(words)
    line = next((line for word, line in pairwise(rest) if _SCRIPT.fullmatch(word)), "")
    # What does something about a failure (`|| touch failed`) may well tell it by another road.
    if name not in SHELLS or not line or "||" in line:
        return False
    try:
        every = list(simples(parse(line)))
    except ShellSyntaxError:
        return False
    return bool(every) and is_test_program(every[-1])


def _of_script(words: tuple[str, ...]) -> Iterator[str]:
    """`script -c` says what became of its command with `-e` alone (script(1))."""
    if any(map(_RETURNS.match, words)):
        return
    for at, word in enumerate(words):
        given = "".join(words[at + 1 : at + 2])
        if re.match(r"-\w*c\Z|--command\Z", word) and starts_tests(given):
            yield word


def _of_parallel(words: tuple[str, ...]) -> Iterator[str]:
    """`--halt now,success=1` ends with the first that ends well."""
    said = _value_of(words, ("--halt", "--halt-on-error"))
    if "success" in said:
        yield f"--halt {said}"


def _of_go(words: tuple[str, ...]) -> Iterator[str]:
    """`-exec true` has another program run in the place of the tests."""
    program = _value_of(words, ("-exec", "--exec"))
    if "test" in words and program.partition(" ")[0].rpartition("/")[2] in _NOTHING:
        yield f"-exec {program}"


_LOOKS: dict[str, Callable[[tuple[str, ...]], Iterator[str]]] = {
    "concurrently": _of_concurrently,
    "pnpm": _of_pnpm,
    "find": _of_find,
    "script": _of_script,
    "parallel": _of_parallel,
    "go": _of_go,
}


def starts_tests(line: str) -> bool:
    """Whether a command line that is one word of another starts a test program."""
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    short = re.match(r"(?:npm|pnpm|yarn|bun|node):(?P<script>\S+)", line)
    return is_test_program(["npm", "run", short["script"]] if short else words)


def _value_of(words: Sequence[str], options: tuple[str, ...]) -> str:
    """What an option is given: the next word, or behind `=`."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in options:
            return value if equals else "".join(words[at + 1 : at + 2])
    return ""


def _past_options(words: Sequence[str], taking: frozenset[str]) -> Iterator[str]:
    """The words that are no options nor the values of some."""
    value = False
    for word in words:
        if value:
            value = False
        elif word.startswith("-"):
            value = word in taking
        else:
            yield word
