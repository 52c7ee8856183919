"""What a shell line says about itself: whether it can fail, and whether it joins commands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.lazy_pattern import regex
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.shell import shell_commands
from runner.plan.shell.shell_commands import executables, shell_operator, swallows_failure
from runner.plan.spans import Spans


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("pytest || true", "|| true"),
        ("pytest || :", "|| :"),
        ("pytest || exit 0", "|| exit 0"),
        ("pytest || echo failed", "|| echo failed"),
        ("pytest; exit 0", "; exit 0"),
        ("pytest; true", "; true"),
        ("pytest\ntrue", "true"),
        ("sh -c 'pytest || true'", "|| true"),
        ("pytest | tee log", "| tee log"),
        ("pytest 2>&1 | tail -5", "| tail -5"),
        ("pytest &", "&"),
        ("set +e; pytest; echo done", "set +e"),
        ("ruff check --exit-zero .", "--exit-zero"),
        ("jest --passWithNoTests", "--passWithNoTests"),
        ("git commit --no-verify -m x", "--no-verify"),
        ("SKIP=mypy pre-commit run", "SKIP=mypy"),
        ("make lint SKIP=1", "SKIP=1"),
    ],
)
def test_what_swallows_a_failure_is_found(command, part):
    assert swallows_failure(command) == part


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "ruff check . && mypy .",
        "make check && true",
        "pytest || exit 1",
        "set -o pipefail; pytest | tee log",
        "git ls-files | xargs ruff check",
        "pytest > log 2>&1",
        "NOSKIP=1 make",
        "prog --no-verify-ssl",
        "",
    ],
)
def test_what_can_fail_is_let_be(command):
    assert swallows_failure(command) == ""


@pytest.mark.parametrize(
    ("command", "operator"),
    [
        ("a && b", "&&"),
        ("a || b", "||"),
        ("a; b", ";"),
        ("a | b", "|"),
        ("a &", "&"),
        ("a\nb", "\n"),
        ("a>x;b", ";"),
        ("grep 'x;y' z", ""),
        ('grep "a && b" z', ""),
        ("find . -exec x {} \\;", ""),
        ("a 2>&1", ""),
        ("a > b", ""),
        ("python -c 'a = 1 | 2'", ""),
        ("an 'open quote", ""),
    ],
)
def test_operators_that_join_commands(command, operator):
    assert shell_operator(command) == operator


def test_the_programs_of_a_shell_line():
    assert list(executables("A=1 ruff check . && mypy x | tee y")) == ["ruff", "mypy", "tee"]


def said_of(gate):
    text = f"## TASK-001: a\n\n- Gates:\n  - lint: `{gate}`\n".encode()
    found = check_plan(
        read_plan(text, "p").tasks,
        places=Spans(text, "p"),
        found=lambda _: True,
        exists=lambda _: True,
    )
    return [(problem.severity.value, problem.message) for problem in found]


def test_a_gate_says_that_it_is_a_shell_line_or_is_an_error():
    assert said_of("ruff check .") == []
    assert said_of("sh: ruff check . && mypy .") == []
    assert said_of("ruff check . && mypy .") == [
        ("error", "gate lint of TASK-001 joins commands with `&&`")
    ]


def test_a_gate_that_skips_checks_is_a_warning_whatever_it_is_called():
    assert said_of("sh: ruff check . || true") == [
        ("warning", "gate lint of TASK-001 cannot fail: `|| true` swallows its exit code")
    ]
    assert said_of("SKIP=mypy pre-commit run") == [
        ("warning", "gate lint of TASK-001 skips checks: `SKIP=mypy`")
    ]


_SIGNS = "ab. ,:/=+@%-_7\t#'\"\\;&|()<>$*~é!{}\n"


@settings(max_examples=400)
@given(st.text(_SIGNS, max_size=14))
def test_a_plain_line_is_cut_into_the_words_that_shlex_finds(line):
    fast = (executables(line), shell_operator(line))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell_commands, "_PLAIN", regex(r"(?!)"))
        executables.cache_clear()
        assert (executables(line), shell_operator(line)) == fast
    executables.cache_clear()
