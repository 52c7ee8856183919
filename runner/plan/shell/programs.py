"""Find the test program that a shell command starts through any wrapper.

Words by which a command passes over what fails, or skips it, whichever program they are given.

What only goes on behind a failure and tells it at the end is none: `make -k`, `npm-run-all -c`,
`lerna --no-bail`, `turbo --continue`, `xargs -P`, `pnpm -r --no-bail`.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from runner.lazy_pattern import regex
from runner.plan.shell.syntax import Simple

_WHATEVER = """
pytest py.test pytest-3 nosetests nose2 trial stestr ward behave tox nox jest vitest mocha ava tap
tape jasmine karma qunit uvu gotestsum ginkgo rspec phpunit pest bats ctest busted shellspec
web-test-runner wtr testem cucumber cucumber-js behat
"""
ALWAYS = frozenset(_WHATEVER.split())
"""Programs that only test."""
_BY_WORD = {
    "go": {"test"},
    "cargo": {"test", "t", "nextest", "llvm-cov", "tarpaulin"},
    "bun": {"test"},
    "deno": {"test"},
    "dotnet": {"test"},
    "mvn": {"test", "verify", "install"},
    "mvnw": {"test", "verify", "install"},
    "gradle": {"test", "check", "build"},
    "gradlew": {"test", "check", "build"},
    "mix": {"test"},
    "swift": {"test"},
    "flutter": {"test"},
    "dart": {"test"},
    "zig": {"test"},
    "stack": {"test"},
    "cabal": {"test"},
    "lein": {"test"},
    "sbt": {"test"},
    "rails": {"test"},
    "playwright": {"test"},
    "cypress": {"run"},
    "wdio": {"run"},
    "bazel": {"test"},
    "meson": {"test"},
    "ng": {"test"},
    "react-scripts": {"test"},
    "nx": {"test"},
    "hatch": {"test"},
}
"""Programs that test if their arguments include one of these."""
_TARGETS = frozenset({"make", "gmake", "just", "task", "rake", "ninja", "invoke", "inv", "mage"})
_SCRIPTS = frozenset(
    {"npm", "pnpm", "yarn", "bun", "turbo", "lerna", "hatch", "pdm", "rye", "poe"}
    | {"npm-run-all", "npm-run-all2", "run-s", "run-p"}
)
_TESTS = regex(
    r"(?:\A|[-_:./])(?:tests?|specs?|check|checks|verify|unit|integration|e2e|acceptance|ci)(?:[-_:.\d]|\Z)"
    r"|\Atest|tests?\Z",
    re.IGNORECASE,
)
"""Names of targets or scripts that test."""
_TEST_FILE = regex(
    r"(?:run|all|do)?[-_]?(?:unit|all|integration|e2e)?[-_]?(?:tests?|specs?)(?:[-_].*)?"
    r"|.*[-_.](?:tests?|specs?)",
    re.IGNORECASE,
)
"""Names of test files without their suffix."""
_FAR = frozenset(
    {"docker", "podman", "docker-compose", "nerdctl", "ssh", "vagrant", "nix-shell", "nix"}
)
"""Programs that run another program elsewhere and return its exit code."""
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_PYTHON = regex(r"python[\d.]*\Z|pypy[\d.]*\Z")
_MODULES = "pytest unittest nose nose2 doctest trial testtools.run stestr xmlrunner behave"
_TEST_MODULES = frozenset(_MODULES.split())
_GIVES_LINE = frozenset({"su", "runuser", "flock", "script"})
_GIVEN_BY = regex(r"-[a-z]*c|--command|--session-command")
_SPLITS = regex(r"(?:-[iv0]*S|--split-string=?)(.*)", re.DOTALL)
_ASSIGNS = regex(r"[A-Za-z_]\w*=")
_RUN_BY = frozenset(
    {"poetry", "uv", "pipenv", "hatch", "pdm", "rye", "conda", "micromamba", "mise"}
)
_EXEC_BY = frozenset({"npm", "pnpm", "yarn", "bun", "bundle", "mise", "direnv"})
_STANDS_BEFORE: dict[str, frozenset[str]] = {
    "env": frozenset({"-u", "-C", "-S"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n"}),
    "taskset": frozenset(),
    "nohup": frozenset(),
    "setsid": frozenset(),
    "time": frozenset({"-f", "-o"}),
    "stdbuf": frozenset({"-o", "-e", "-i"}),
    "unbuffer": frozenset(),
    "xvfb-run": frozenset({"-s", "-n"}),
    "sudo": frozenset({"-u", "-g"}),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset({"-a"}),
    "npx": frozenset({"-p", "--package"}),
    "pnpx": frozenset(),
    "bunx": frozenset(),
    "cross-env": frozenset(),
    "dotenv": frozenset({"-f", "-e"}),
    "c8": frozenset({"-r", "--reporter", "-o", "-x", "-n"}),
    "nyc": frozenset({"-r", "--reporter", "-x", "-n"}),
    "xargs": frozenset({"-n", "-P", "-I", "-L", "-d", "-s", "-a"}),
    "strace": frozenset({"-o", "-e"}),
    "catchsegv": frozenset(),
    "chronic": frozenset(),
    "doas": frozenset({"-u", "-C"}),
    "flock": frozenset({"-w", "-E", "--timeout", "--conflict-exit-code"}),
    "parallel": frozenset({"-j", "-P", "--jobs", "--halt", "-a", "--arg-file", "--timeout"}),
    "tsx": frozenset(),
}
"""Programs that run another program, with their options that take an argument."""
_MOST_BEFORE = 20
"""Maximum chain of programs that run each other."""

# A duration (timeout(1)), a CPU mask (taskset(1)) or a file (flock(1)) precedes the program.
_TAKES_ONE_MORE = frozenset({"timeout", "taskset", "flock"})
_ALONE_WORDS = """
: [ basename break cat cd cksum cmp comm continue cut date diff dirname echo egrep exit expr
false fgrep fold grep head id join ls md5sum mkdir nl nproc od paste printf pwd readlink
realpath rev rm rmdir seq set sha1sum sha256sum sha512sum shift sleep stat tac tail test touch
tr true umask uname uniq wait wc whoami
"""
_ALONE = frozenset(_ALONE_WORDS.split())
"""Shell words and programs that start no other program, whatever their options."""

# LD_PRELOAD loads code into every program (ld.so(8)), bash runs the file named in BASH_ENV before a
# script (bash(1)), and an interactive sh that in ENV (POSIX.1-2017, sh).
_LOADS = regex(r"(?:PATH|ENV|BASH_\w*|LD_\w*|IFS)\+?=")
"""Assignments that could redirect a word to another program or load code into one."""
_BYPASS = regex(
    r"(?:--(?:no-verify|exit-zero|suppress-tests-failed(?:-exit-code)?|passWithNoTests"
    r"|pass-with-no-tests|pass-on-failing-test-suite|fail-never|nostatusrc"
    r"|no-fail-on-failing-test-suite)|-fn|-Dmaven\.test\.failure\.ignore"
    r"|\S*\.ignore_outcome)(?:=(?:true|1|yes))?"
    r"|--(?:testFailureExitCode|failure-exit-code)=0+|--fail-on-failing-test-suite=false"
)
_MAKE_IGNORES = regex(r"-[bBdekLmnpqrRsStvw]*i|--ignore-errors")


class StartedProgram(NamedTuple):
    """The program that a command starts in the end, with its words."""

    name: str
    words: tuple[str, ...]
    """Words after the name."""


def program_of(command: Simple | list[str] | tuple[str, ...]) -> StartedProgram:
    """Return the program of a command, after wrappers such as `env`, `timeout` and `npx`."""
    return programs_of(command)[-1]


def programs_of(command: Simple | list[str] | tuple[str, ...]) -> tuple[StartedProgram, ...]:
    """Return the programs of a command, each of which runs the next one."""
    words = _words(command)
    found = [StartedProgram(_name(words[0]), tuple(words[1:])) if words else StartedProgram("", ())]
    for _ in range(_MOST_BEFORE):
        rest = _past(words) if words else None
        if not rest:
            break
        words = rest
        found.append(StartedProgram(_name(words[0]), tuple(words[1:])))
    return tuple(found)


def starts_nothing(command: Simple) -> bool:
    """Return whether a command is a shell builtin or known to start no program."""
    if any(_LOADS.match(word.text) for word in command.assignments):
        return False
    return not command.words or is_word_alone(command.words[0].text)


def is_word_alone(word: str) -> bool:
    """Return whether a first word is a shell builtin or known to start no program."""
    return word in _ALONE


def is_test_program(command: Simple | list[str] | tuple[str, ...]) -> bool:
    """Return whether a command starts tests, by its program or target."""
    name, words = program_of(command)
    if name in ALWAYS:
        return True
    if _PYTHON.match(name):
        return _python_tests(words)
    plain = [word for word in words if not word.startswith("-")]
    if name in _BY_WORD and _BY_WORD[name] & set(plain):
        return True
    if name in ("node", "tsx", "ts-node"):
        return "--test" in words
    if name in _TARGETS:
        return any(_TESTS.search(word) for word in plain if "=" not in word)
    if name in _SCRIPTS:
        return any(_TESTS.search(word) for word in plain[:3]) or "t" in plain[:1]
    return name in _FAR and any(_name(word) in ALWAYS for word in plain)


def names_test_tool(command: Simple | list[str] | tuple[str, ...]) -> bool:
    """Return whether a command is a test tool itself, not a target or script that starts one."""
    name, _ = program_of(command)
    return is_test_program(command) and name not in _TARGETS | _SCRIPTS | _FAR


def is_script_word(at: int, words: tuple[str, ...]) -> bool:
    """Return whether a shell's argument is its script, by path or as `-c`.

    With `-s` all of them are what the script is given, which it reads (POSIX.1-2017, sh).
    """
    word = words[at]
    if any(re.fullmatch(r"-\w*s", one) for one in words[: at + 1]):
        return False
    if word.startswith(("-", "+")):
        return bool(re.fullmatch(r"-\w*c", word))
    return not (at and re.fullmatch(r"[-+]\w*o", words[at - 1]))


def exit_of_failed_tests(command: Simple) -> str:
    """Return the exit code by which a test program reports failed tests only; else empty."""
    name, words = program_of(command)
    by_module = _PYTHON.match(name) and "-m" in words[:-1]
    name = words[words.index("-m") + 1] if by_module else name
    return "1" if name in ("pytest", "py.test", "pytest-3", "unittest") else ""


def may_be_test_program(command: Simple | list[str] | tuple[str, ...]) -> bool:
    """Return whether a command starts a file with a test-like name (`python run_tests.py`)."""
    name, words = program_of(command)
    plain = [word for word in words if not word.startswith("-")]
    runs = _PYTHON.match(name) or name in ("node", "tsx", "ts-node", "deno", "ruby", "perl", "php")
    if runs or name in SHELLS:
        return not {"-c", "-e", "-m"} & set(words) and any(map(_is_test_file, plain[:1]))
    return _is_test_file(command_path(command))


def command_path(command: Simple | list[str] | tuple[str, ...]) -> str:
    """Return the relative path by which a command starts a file (`./check.sh`); else empty."""
    words = _words(command)
    for _ in range(_MOST_BEFORE):
        words = (_past(words) if words else None) or words
    first = words[0] if words else ""
    return first if "/" in first and not first.startswith("/") else ""


def _python_tests(words: tuple[str, ...]) -> bool:
    """Check for a Python test run: `python -m pytest`, `python -m django test`."""
    for at, word in enumerate(words):
        if word == "-m":
            module = words[at + 1] if at + 1 < len(words) else ""
            is_django = module == "django" and "test" in words[at + 2 :]
            named = _TEST_FILE.fullmatch(module.rpartition(".")[2])
            return module in _TEST_MODULES or is_django or bool(named)
        if word == "-c":
            return False
        if not word.startswith("-"):
            return _name(word) in ("manage.py", "setup.py") and "test" in words
    return False


def _is_test_file(path: str) -> bool:
    stem = re.sub(r"\.\w+\Z", "", _name(path))
    return bool(stem) and bool(_TEST_FILE.fullmatch(stem))


def _words(command: Simple | list[str] | tuple[str, ...]) -> list[str]:
    return list(command.values if isinstance(command, Simple) else command)


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _past(words: list[str]) -> list[str] | None:
    """Return the words after a wrapper program; None if the first word is not a wrapper."""
    name, rest = _name(words[0]), words[1:]
    if name == "env" and (split := _split_string(rest)):
        return split
    if name == "find":
        return _passed_on_by_find(rest)
    if name in _STANDS_BEFORE:
        rest = _without_options(rest, _STANDS_BEFORE[name])
        if name in _TAKES_ONE_MORE:
            rest = rest[1:]
        # `env NAME=value program` (POSIX, env), and cross-env in the same form.
        while rest and _ASSIGNS.match(rest[0]):
            rest = rest[1:]
        return rest
    if name in _RUN_BY and rest[:1] == ["run"]:
        return _without_options(rest[1:], frozenset({"--with", "-p", "-n", "--python", "--extra"}))
    if name in _EXEC_BY and rest[:1] in (["exec"], ["dlx"], ["x"]):
        return _without_options(rest[1:], frozenset())
    if name in ("coverage", "kernprof") and rest[:1] == ["run"]:
        return _words_under_coverage(rest[1:])
    if _PYTHON.match(name) and rest[:3] == ["-m", "coverage", "run"]:
        return _words_under_coverage(rest[3:])
    return None


def _passed_on_by_find(words: list[str]) -> list[str] | None:
    """Return the command of `find -exec … {} +`, whose failure find reports; None for `-exec … ;`.

    Both are so by POSIX.1-2017, find, and tried with GNU find.
    """
    begun = -1
    for at, word in enumerate(words):
        if begun < 0 and word in ("-exec", "-execdir"):
            begun = at + 1
        elif begun >= 0 and word == ";":
            begun = -1
        elif begun >= 0 and word == "+" and words[at - 1] == "{}":
            return words[begun:at]
    return None


def _split_string(words: list[str]) -> list[str]:
    """Return the command of `env -S 'words'` (GNU coreutils, FreeBSD env(1)); else empty."""
    for at, word in enumerate(words):
        match = _SPLITS.match(word)
        if not match:
            if not word.startswith("-") and not _ASSIGNS.match(word):
                break
            continue
        text = match[1] or (words[at + 1] if at + 1 < len(words) else "")
        try:
            return ["env", *shlex.split(text), *words[at + (1 if match[1] else 2) :]]
        except ValueError:
            break
    return []


def _words_under_coverage(words: list[str]) -> list[str]:
    """Return the command that coverage.py runs, as a Python command."""
    taking = frozenset({"--source", "--rcfile", "--data-file", "--omit", "--include", "--context"})
    kept = [word for word in words if word not in ("-a", "-p", "--branch", "--append")]
    rest = _without_options(kept, taking, but="-m")
    return ["python", *rest] if rest else []


def _without_options(words: list[str], taking: frozenset[str], but: str = "") -> list[str]:
    """Return the words after leading options; options in `taking` have a value."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != but:
        # The words after it are no options (POSIX 2018, XBD 12.2, Guideline 10).
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in taking else 1
    return words[at:]


def find_bypass(command: Simple) -> str:
    """Return the word by which a command passes over what fails, else an empty string."""
    for name, words in programs_of(command):
        for word in words:
            ignores = name in ("make", "gmake") and _MAKE_IGNORES.fullmatch(word)
            if ignores or _BYPASS.fullmatch(word):
                return word
    return ""


def without_bypass(word: str, whole: str = "the command") -> str:
    """Return what to do about a word of the `whole` that leaves checks out."""
    return f"remove `{word}` from {whole}"
