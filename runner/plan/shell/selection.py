"""Find options that select or exclude tests: `-k`, `-m`, `-run`, `--deselect`, `--ignore`.

That is a person's choice in the plan, and shown as evidence; a change that adds or narrows it has
the same contract run fewer tests.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.programs import ALWAYS, is_test_program, may_be_test_program, program_of
from runner.plan.shell.shell_commands import commands_of
from runner.plan.shell.syntax import ShellSyntaxError, read_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_PYTEST = """
-k -m --deselect --ignore --ignore-glob --lf --last-failed --sw --stepwise --sw-skip --co
--collect-only --maxfail -x --exitfirst
"""
_JEST = """
-t --testNamePattern --testPathPattern --testPathPatterns --testPathIgnorePatterns --onlyChanged -o
--onlyFailures -f --selectProjects --ignoreProjects --filter --findRelatedTests --changedSince
--bail --shard --listTests
"""
_VITEST = "-t --testNamePattern --exclude --changed --shard --project --related --bail"
_MOCHA = "-g --grep -f --fgrep -i --invert --ignore --exclude -b --bail --dry-run"
_NODE = "--test-name-pattern --test-skip-pattern --test-only --test-shard"
_BY_TOOL: dict[str, str] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": "-k -f --failfast",
    "nose2": "-A -E -F",
    "jest": _JEST,
    "react-scripts": _JEST,
    "vitest": _VITEST,
    "mocha": _MOCHA,
    "ava": "-m --match",
    "tap": "--grep --only --invert --bail",
    "jasmine": "--filter --stop-on-failure",
    "playwright": "-g --grep --grep-invert --project --shard --last-failed --only-changed -x",
    "cypress": "--spec --tag",
    "node": _NODE,
    "tsx": _NODE,
    "go": "-run -skip -short -bench -failfast -list",
    "gotestsum": "-run -skip -short",
    "cargo": "--skip --exact --test --lib --bin --bins --doc --example --examples -p --package "
    "--exclude --ignored -E --no-run",
    "rspec": "-e --example -t --tag --fail-fast --only-failures -n --next-failure",
    "phpunit": "--filter --group --exclude-group --testsuite",
    "bats": "-f --filter --filter-tags",
    "ctest": "-R -E -L -LE -I --rerun-failed",
    "dotnet": "--filter",
    "gradle": "--tests -x --exclude-task",
    "gradlew": "--tests -x --exclude-task",
    "mvn": "-Dtest -Dgroups -DexcludedGroups -DskipTests -Dmaven.test.skip -DskipITs",
    "mvnw": "-Dtest -Dgroups -DexcludedGroups -DskipTests -Dmaven.test.skip -DskipITs",
    "mix": "--only --exclude --include --stale --failed",
    "tox": "-e -f -m --skip-env",
    "nox": "-s -k -t -e",
    "behave": "-t --tags -n --name -i --include -e --exclude",
    "bun": "-t --test-name-pattern --bail --only",
    "deno": "--filter --ignore",
}
_OPTIONS = {tool: frozenset(words.split()) for tool, words in _BY_TOOL.items()}
_EVERY = frozenset().union(*_OPTIONS.values()) - {"-x", "-f", "-i", "-o", "-p", "-e", "-s", "-b"}
"""For tools that pass arguments on (`npm test -- -t x`): options with one meaning everywhere."""
_ALONE_WORDS = """
--lf --last-failed --sw --stepwise --co --collect-only -x --exitfirst --sw-skip -o -f
--onlyChanged --onlyFailures --bail --listTests -i --invert -b --dry-run --test-only -short
-failfast --failfast --exact --lib --bins --doc --examples --ignored --no-run --only-failures
--fail-fast -n --next-failure --rerun-failed --stale --failed --only --only-changed --changed
--stop-on-failure -DskipTests -Dmaven.test.skip -DskipITs
"""
_ALONE = frozenset(_ALONE_WORDS.split())
"""Options without a separate argument, unless joined with `=`."""
# As argparse parses it (Python, argparse, "Option value syntax").
_JOINED = regex(r"(-[kmtg])(?!-)(\S.*)")
"""`-kfast`: the argument directly follows the letter."""
_LETS_JOIN = frozenset({"pytest", "py.test", "unittest"})
_OPTION_VARIABLES = {
    "PYTEST_ADDOPTS": "pytest",
    "GOFLAGS": "go",
    "TESTARGS": "",
    "TEST_ARGS": "",
    "ARGS": "",
    "PYTEST_ARGS": "pytest",
    "PYTESTARGS": "pytest",
}


def selection_of(line: str) -> tuple[str, ...]:
    """Return the options by which the test programs of a line select or leave out tests."""
    return tuple(option for words, tool in _test_commands(line) for option in _selects(words, tool))


def runs_whole_suite(line: str) -> bool:
    """Return whether a line runs tests, and leaves none of them out by its own words."""
    return any(map(is_test_program, commands_of(line))) and not selection_of(line)


_PYTEST_REPORTS = regex(
    r"-v+|-q+|--verbose|--quiet|-l|--showlocals|--(?:tb|durations|color|code-highlight)=[\w.]+"
    r"|--durations-min=[\d.]+|-r[A-Za-z]+|--no-header"
)
"""Options that only change how much pytest prints, or its colours."""
_PYTEST_TAKES = frozenset(
    ("-c", "-n", "-p", "-o", "-W", "-k", "-m", "--rootdir", "--deselect", "--ignore")
)
"""Options of pytest whose value may be a separate word."""


def find_pytest_words(line: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return options and paths of a line that is one call of pytest, without options of reporting.

    The options hold variables and the version of Python that the line names. None for other lines.
    """
    try:
        every = tuple(read_commands(line))
    except ShellSyntaxError:
        return None
    if len(every) != 1 or every[0].text != line.strip():
        return None
    name, words = program_of(every[0])
    tool, rest = _tool(name, list(words))
    if tool not in ("pytest", "py.test"):
        return None
    options = [word.value for word in every[0].assignments]
    paths: list[str] = []
    takes = False
    for word in rest:
        if takes or word.startswith("-"):
            takes = not takes and word in _PYTEST_TAKES
            options += [] if _PYTEST_REPORTS.fullmatch(word) else [word]
        else:
            paths.append(word.removeprefix("./").rstrip("/") or ".")
    version = "" if name in ("pytest", "py.test", "python", "python3") else name
    return (version, *options), tuple(sorted(paths))


def _test_commands(line: str) -> Iterator[tuple[list[str], str]]:
    """Yield words and tool of each test command, and of its variables."""
    every = commands_of(line)
    sure = [one for one in every if is_test_program(one)]
    for one in sure or [one for one in every if may_be_test_program(one)]:
        name, words = program_of(one)
        tool, rest = _tool(name, list(words))
        yield rest, tool
        given = (*one.assignments, *(word for word in one.words if "=" in word.value))
        for word in given:
            variable, _, value = word.value.partition("=")
            if variable in _OPTION_VARIABLES:
                yield _split(value), _OPTION_VARIABLES[variable]


def _tool(name: str, words: list[str]) -> tuple[str, list[str]]:
    """Return the tool that parses these options, and its arguments."""
    if re.match(r"python|pypy", name) and "-m" in words:
        at = words.index("-m")
        return (words[at + 1] if at + 1 < len(words) else ""), words[at + 2 :]
    if name in _OPTIONS:
        return name, words
    within = next((n for n, word in enumerate(words) if word in ALWAYS), None)
    if within is None:
        return "", words
    return words[within], words[within + 1 :]  # docker run app pytest


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _selects(words: Sequence[str], tool: str) -> Iterator[str]:
    options = _OPTIONS.get(tool, _EVERY)
    at = 0
    while at < len(words):
        word = words[at]
        name, joined, value = word.partition("=")
        at += 1
        # Go accepts options with one or two dashes (Go, package flag, "Command line flag syntax").
        if name in options or (tool in ("go", "gotestsum") and name[1:] in options):
            alone = name in _ALONE or joined or at >= len(words)
            given = value if joined else "" if alone else words[at]
            at += 0 if alone else 1
            yield f"{name} {given}".strip()
        elif tool in _LETS_JOIN and (found := _JOINED.fullmatch(word)) and found[1] in options:
            yield f"{found[1]} {found[2]}"
        elif "::" in word and tool in ("pytest", "py.test") and not word.startswith("-"):
            yield word
