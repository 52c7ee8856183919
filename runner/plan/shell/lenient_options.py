"""Options by which a program ends with 0 though tests that it started failed, or runs none.

What only goes on behind a failure and tells it at the end is none: `make -k`, `npm-run-all -c`,
`lerna --no-bail`, `turbo --continue`, `xargs -P`, `parallel --halt never`, `yarn workspaces
foreach`, `pnpm -r --no-bail`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.programs import program_of, programs_of

if TYPE_CHECKING:
    from runner.plan.shell.syntax import Simple

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
    return ""


def without_bypass(word: str, whole: str = "the command") -> str:
    """What to do about a word of the `whole` that leaves checks out, for whoever wrote it."""
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
