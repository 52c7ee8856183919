"""Whether a test program's failure reaches the exit of its line, in the forms people write."""

import time

import pytest

from runner.plan.shell import shell_commands
from runner.plan.shell.exit_status import bypass_of, expects_failures, swallow_of


@pytest.mark.parametrize(
    ("line", "by", "right"),
    [
        ("pytest || true", "|| true", "pytest"),
        ("pytest || echo failed", "|| echo failed", "pytest"),
        ("pytest; echo done", "; echo done", "pytest && echo done"),
        ("pytest -q\necho done", "echo done", "pytest -q && echo done"),
        ("pytest -q | tee log", "| tee log", "pytest -q"),
        ("pytest 2>&1 | tail -5", "| tail -5", "pytest 2>&1"),
        ("pytest &", "&", "pytest"),
        ("pytest & wait", "& wait", "pytest"),
        ("cd a && pytest || true", "|| true", "cd a && pytest"),
        ("rm -f x || true; pytest; rm -f x", None, "rm -f x || true; pytest && rm -f x"),
        ("if pytest; then echo ok; fi", None, "pytest"),
        ("(pytest; true)", "; true", "pytest"),
        ("{ pytest; echo x; }", "; echo x", "pytest"),
        ("sh -c 'pytest || true'", "|| true", "pytest"),
        ("env A=1 sh -c 'pytest; true' && echo ok", "; true", "pytest"),
        ("eval 'pytest; true'", "; true", "pytest"),
        ("x=$(pytest); echo $x", None, "x=$(pytest) && echo $x"),
        ('echo "`pytest`"', None, "pytest"),
        ("set +e; pytest; echo done", "set +e", "set +e; pytest && echo done"),
        ("trap 'exit 0' EXIT; pytest", None, "pytest"),
        ("trap 'exit 0' EXIT INT TERM; pytest", None, "pytest"),
        ("trap -- 'rm -f x; exit 0' 0 1 2 15; pytest", None, "pytest"),
        ("pytest &> log", "&> log", "pytest > log 2>&1"),
        ("cd a && pytest &>> log", "&>> log", "cd a && pytest >> log 2>&1"),
        ("cat <<E > y\n\tE\nE\npytest || true", "|| true", "cat <<E > y\n\tE\nE\npytest"),
        ("echo $((1 + (2))); pytest || true", "|| true", "echo $((1 + (2))); pytest"),
        ("f() { pytest; true; }; f", "; true", None),
        ("pytest || exit 0", "|| exit 0", "pytest"),
        ("pytest || { echo failed; }", None, "pytest"),
        ("pytest || rc=$?; echo $rc", None, "pytest && echo $rc"),
        ("make build && ! pytest", None, "pytest"),
        ("! pytest; echo done", "; echo done", "! pytest && echo done"),
        (
            "for t in a b; do pytest $t; done",
            None,
            "for t in a b; do pytest $t || exit 1; done",
        ),
        ("timeout 60 pytest -q || true", "|| true", "timeout 60 pytest -q"),
        ("coverage run -m pytest; coverage report", None, None),
        ("docker compose run app pytest || true", "|| true", "docker compose run app pytest"),
        ("npm test | cat", "| cat", "npm test"),
        ("make test; true", "; true", "make test"),
        ("go test ./... | tee log", "| tee log", "go test ./..."),
        ("python3 -m unittest -q test_d; echo done", "; echo done", None),
        ("python run_tests.py | tee x", "| tee x", "python run_tests.py"),
        ("./check.sh; true", "; true", "./check.sh"),
        ("grep -q x y || true", "|| true", "grep -q x y"),
    ],
)
def test_a_failure_that_is_lost_is_told_with_the_line_that_is_right(line, by, right):
    found = swallow_of(line)
    assert found is not None
    assert by in (None, found.by)
    assert right in (None, found.right)
    assert swallow_of(found.right) is None


@pytest.mark.parametrize(
    "line",
    [
        "pytest -q",
        "rm -f x || true; pytest",
        "mkdir -p x; cd x; pytest",
        "npm ci --silent; npm test",
        "ruff check . && pytest",
        "pytest && echo ok",
        "pytest || exit 1",
        "pytest || { echo failed; exit 1; }",
        "set -e; pytest; echo done",
        "set -o pipefail; pytest | tee x",
        "bash -euo pipefail -c 'pytest | tee x; echo done'",
        "pytest; rc=$?; rm -rf x; exit $rc",
        'pytest -q; status=$?; rm -rf x; exit "$status"',
        "pytest; test $? -eq 0",
        "pytest; [ $? -ne 0 ] && exit 1",
        "if ! pytest; then echo x; exit 1; fi",
        "pytest > log 2>&1",
        "yes | pytest",
        "(cd a && pytest)",
        "pytest & wait $!",
        "x=$(pytest) && echo $x",
        "for t in a b; do pytest $t || exit 1; done",
        "for i in 1 2 3; do pytest && break; done",
        "while ! pytest; do sleep 1; done",
        "pytest || pytest --lf",
        "pytest a; pytest b",
        "f() { pytest; }; f",
        "trap 'rm -rf x' EXIT; pytest",
        "trap 'exit 0' INT TERM; pytest",
        "trap 'exit 0' EXIT; trap - EXIT; pytest",
        "bash -c 'pytest &> log'",
        "#!/usr/bin/env bash\npytest &> log\n",
        "cat <<E\n\tE\npytest || true\nE\npytest",
        "server & pytest; rc=$?; kill $!; exit $rc",
        "docker compose up -d; docker compose run app ut; rc=$?; docker compose down; exit $rc",
        "python check.py | grep -q ok",
        "python tools/load_test_data.py | sqlite3 db; pytest",
        "pytest -k 'a || true'",
        "pytest # || true",
        "echo 'a; pytest | tee x' && pytest",
        "! pytest bad",
        "! grep -rn TODO src",
        "test -f x",
        "pytest 2>&1 > >(tee x)",
        "PYTHONPATH=src python3 -m pytest -q",
        "an 'open quote || true",
    ],
)
def test_a_line_that_can_fail_is_let_be(line):
    assert swallow_of(line) is None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("pytest --no-verify", "--no-verify"),
        ("make -i test", "-i"),
        ("make -C ci -ki test", "-ki"),
        ("gmake --ignore-errors", "--ignore-errors"),
        ("make -Cdist -j4 test", ""),
        ("pytest -i", ""),
        ("SKIP=mypy make test", "SKIP=mypy"),
        ("make test SKIP=1", "SKIP=1"),
        ("npx jest --passWithNoTests", "--passWithNoTests"),
        ("sh -c 'vitest run --passWithNoTests=true'", "--passWithNoTests=true"),
        ("ruff check --exit-zero", "--exit-zero"),
        ("echo --no-verify", ""),
        ("pytest -k 'SKIP=1'", ""),
        ("NOSKIP=1 prog --no-verify-ssl", ""),
        ("", ""),
    ],
)
def test_words_that_have_checks_left_out(line, word):
    assert bypass_of(line) == word


def test_a_line_that_begins_with_a_bang_expects_failures():
    assert expects_failures("! pytest tests/bad.py")
    assert not expects_failures("pytest -k '! x'")
    assert not expects_failures("make && ! pytest")


@pytest.mark.parametrize(
    "line",
    [
        "(" * 5000,
        "$(" * 5000,
        "`" * 5001,
        "if " * 5000,
        "pytest" + " || true" * 5000,
        "pytest" + "; a && b || c" * 2000,
        "a=$?; " * 2000 + "pytest | tee x",
        "for i in 1; do " * 30 + "pytest" + "; done" * 30,
        "x() { " * 3000,
        "x()" * 20_000,
        "x()\n" * 15_000,
        "env " * 16_000,
        "pytest | a; " * 5000,
        "sh -c 'pytest | cat'; " * 2500,
        "set -e -o pipefail; "
        + "for a in x; do " * 7
        + "if foo; then a; elif b; then c; fi; "
        + "done; " * 7
        + "pytest | cat; " * 200,
        "'" + "x" * 60_000,
        'a "' + "$(b " * 2000,
    ],
)
def test_whatever_a_line_holds_it_is_read_in_no_time(line):
    begin = time.process_time()
    swallow_of(line)
    shell_commands.tests_in(line)
    assert time.process_time() - begin < 30
