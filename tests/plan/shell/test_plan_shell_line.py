"""Whether a test program's failure reaches the exit of its line, in the forms people write."""

import shutil
import time

import pytest

from runner.plan.shell import shell_commands
from runner.plan.shell.exit_status import (
    Called,
    bypass_of,
    expects_failures,
    loses_exit,
    swallow_of,
)
from runner.plan.shell.selection import runs_whole_suite, selection_of
from runner.process import own_command


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


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pytest -k 'fast and not slow' tests", ["-k fast and not slow"]),
        ("python -m pytest -m unit -p no:cacheprovider", ["-m unit"]),
        ("pytest --deselect=a.py::x --ignore tests/b", ["--deselect a.py::x", "--ignore tests/b"]),
        ("pytest tests/a.py::T::x", ["tests/a.py::T::x"]),
        ("sh -c 'pytest -kfoo'", ["-k foo"]),
        ("PYTEST_ADDOPTS='-k x' make test", ["-k x"]),
        ("make test ARGS='-k fast'", ["-k fast"]),
        ("python3 -m unittest -k foo", ["-k foo"]),
        ("go test -run TestA ./...", ["-run TestA"]),
        ("cargo test -- --skip slow", ["--skip slow"]),
        ("npx jest -t foo", ["-t foo"]),
        ("npm test -- -t foo", ["-t foo"]),
        ("node --test --test-name-pattern=x", ["--test-name-pattern x"]),
        ("docker compose run app pytest -k x", ["-k x"]),
        ("pytest -q tests", []),
        ("npm test", []),
        ("echo -k x", []),
    ],
)
def test_what_a_line_selects(line, said):
    assert list(selection_of(line)) == said


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("python -m django test --settings=tests.settings", True),
        ("python -m django migrate", False),
        ("cd web && npm test", True),
        ("pytest -k a", False),
    ],
)
def test_which_lines_run_a_whole_suite(line, whole):
    assert runs_whole_suite(line) is whole


needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


@needs_bubblewrap
@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("python3 check.py", False),
        ("true", True),
        ("exit 0", True),
        ("python3 check.py; exit 0", True),
        (":;" * 12_000 + "python3 check.py || true", True),
        ('test -z "$(gofmt -l .)"', False),
        ('for f in $(ls tests/*.sh); do sh -c "$f" || exit 1; done', False),
        ("git ls-files | while read -r f; do node $f || exit 1; done", False),
        ("cargo test || [ $? -eq 101 ]", True),
        ("while ! curl -s localhost; do sleep 1; done", None),
    ],
)
def test_a_line_that_ends_well_with_failing_programs_loses_its_exit(line, lost):
    assert loses_exit(line) is lost


@needs_bubblewrap
@pytest.mark.parametrize(
    ("script", "lost"),
    [("node bad.js; exit 0", True), ("node bad.js || true", True), ("node bad.js", False)],
)
def test_the_script_behind_a_command_runs_in_its_place(script, lost):
    assert loses_exit("npm run t", Called((("npm run t", script),))) is lost
    assert loses_exit("timeout 9 npm run t && echo ok", Called((("npm run t", script),))) is lost
    assert loses_exit("sh ci/check.sh", Called(files=(("ci/check.sh", script),))) is lost
    by_path = Called(files=(("check.sh", f"#!/usr/bin/env bash\n{script}\n"),))
    assert loses_exit("./check.sh", by_path) is lost


ESCAPES = """
/usr/bin/touch {path} | /bin/touch {path} | echo x > {path} | . {path} | exec 3<>{path}
command -p touch {path} | builtin echo x >> {path} | printf x | tee {path} | enable -f {path} x
cp /bin/bash {path} | bash -c 'echo > {path}' | cat < /etc/hostname > {path} | history -a {path}
"""


@needs_bubblewrap
@pytest.mark.parametrize("line", ESCAPES.replace("\n", "|").strip("|").split(" | "))
def test_a_line_writes_nothing_outside(line, tmp_path):
    path = tmp_path / "made"
    loses_exit(line.format(path=path))
    assert not path.exists()


@needs_bubblewrap
@pytest.mark.parametrize(
    "line", [":(){ :|:& };:", "while :; do :; done", "while :; do echo x >> f; done", "kill -9 -1"]
)
def test_a_line_that_does_not_end_is_stopped(line):
    begin = time.monotonic()
    loses_exit(line)
    assert time.monotonic() - begin < 15


@needs_bubblewrap
def test_without_bubblewrap_nothing_runs_and_nothing_is_known(monkeypatch):
    monkeypatch.setattr(own_command, "_argv_before", tuple)
    own_command._encloses.cache_clear()
    loses_exit.cache_clear()
    assert loses_exit("pytest || true") is None
    own_command._encloses.cache_clear()
    loses_exit.cache_clear()


RUNS = "python3 -m pytest -q test_d.py"
LOST = (
    "(PYTEST); true",
    "(PYTEST) || :",
    "if PYTEST; then echo ok; fi",
    "if ! PYTEST; then echo bad; fi",
    "while PYTEST; do break; done",
    "until PYTEST; do break; done",
    "t() { PYTEST; }; t; echo x",
    "trap 'exit 0' EXIT; PYTEST",
    "time PYTEST | cat",
    "env A=1 PYTEST ; true",
    "timeout 60 PYTEST || echo t",
    "echo test_d.py | xargs python3 -m pytest -q || true",
    "PYTEST & wait",
    "PYTEST & sleep 2",
    "PYTEST & wait; echo ok",
    "bash -c 'PYTEST; true'",
    "bash -uo pipefail -c 'PYTEST; echo done'",
    "sh -c 'PYTEST || true'",
    "sh -ec 'PYTEST | tee x'",
    'bash -c "set -e; PYTEST | cat"',
    "PYTEST > log 2>&1; cat log",
    "PYTEST > log; tail -3 log",
    "x=$(PYTEST); echo $x",
    "echo $(PYTEST)",
    "echo `PYTEST`",
    "local_x=1; export X=$(PYTEST)",
    "! PYTEST; true",
    "PYTEST || exit 0",
    "PYTEST || test $? -eq 1",
    "PYTEST || [ $? -lt 2 ]",
    "PYTEST; [ $? -ne 2 ]",
    "PYTEST; rc=$?; echo $rc",
    "PYTEST; rc=$?; exit 0",
    "PYTEST && echo y || echo n",
    "npm run t || true",
    "npm run t --silent | cat",
    "make -k fail || true",
    "make fail both | tail",
    "./run.sh; true",
    "coverage run -m pytest -q test_d.py || true",
    "python3 -m coverage run -m pytest -q test_d.py; python3 -m coverage report || true",
    "python3 -m unittest test_d 2>&1 | grep -q Ran",
    "PYTEST 2>&1 | grep -c passed; true",
    "PYTEST | tee log && echo ok",
    "set +e; PYTEST; echo x",
    "set -e; PYTEST || true; echo fine",
    "set -e; PYTEST && echo ok; echo fine",
    "for t in test_d.py test_ok.py; do python3 -m pytest -q $t; done",
    "for t in test_*.py; do python3 -m pytest -q $t || true; done",
    "find . -name 'test_d.py' -exec python3 -m pytest -q {} +; echo",
    "case x in x) PYTEST;; esac; echo k",
    "{ PYTEST; echo k; }",
    "PYTEST ||\ntrue",
    "PYTEST\necho done",
    "nohup PYTEST &",
    "setsid PYTEST &",
    "nice -n 5 PYTEST ; :",
    "exec PYTEST | cat",
    "command PYTEST || true",
    "eval 'PYTEST' || true",
    'eval "PYTEST; true"',
    "script -qec 'PYTEST' /dev/null || true",
    "PYTEST --maxfail=1 -p no:cacheprovider || echo 'known'",
    "PYTHONPATH=. PYTEST; ls",
    "stdbuf -o0 PYTEST | cat",
    "flock /tmp/x PYTEST; true",
    "chronic PYTEST || true",
    "pytest test_d.py --exitfirst || exit $((0))",
    "ts=PYTEST; $ts; true",
    "PYTEST; true && true",
    "(set -e; PYTEST; echo) || true",
    "parallel PYTEST ::: 1 || true",
    "ec=0; PYTEST || ec=1; echo $ec",
    "ec=0; PYTEST || ec=0; exit $ec",
    'f=; PYTEST || f=1; [ -n "$f" ]',
    'f=; PYTEST || f=1; if [ -n "$f" ]; then echo bad; fi',
    "f=0; PYTEST || f=1; if [ $f = 2 ]; then exit 1; fi",
    "f=0; PYTEST || f=1; f=0; exit $f",
    'f=0; PYTEST || f=1; [ "$f" = 1 ]',
    "f=0; PYTEST || f=1; test $f -ne 0 && echo oh; true",
)
HEARD = (
    "PYTEST",
    "(PYTEST)",
    "{ PYTEST; }",
    "if true; then PYTEST; fi",
    "if ! PYTEST; then exit 1; fi",
    "if PYTEST; then echo ok; else exit 1; fi",
    "t() { PYTEST; }; t",
    "trap 'rm -f x' EXIT; PYTEST",
    "exec PYTEST",
    "time PYTEST",
    "env A=1 PYTEST",
    "timeout 60 PYTEST",
    "echo test_d.py | xargs python3 -m pytest -q",
    "PYTEST & wait $!",
    "bash -c 'PYTEST'",
    "sh -ec 'PYTEST; echo x'",
    "set -e; PYTEST; echo done",
    "set -o pipefail; PYTEST | cat",
    "bash -o pipefail -c 'PYTEST | tee x'",
    "bash -euo pipefail -c 'PYTEST | tee x; echo'",
    "cat <<EOF > y\nhi\nEOF\nPYTEST",
    "PYTEST > log 2>&1 || { cat log; exit 1; }",
    "PYTEST > log; rc=$?; cat log; exit $rc",
    "x=$(PYTEST)",
    "set -e; x=$(PYTEST); echo $x",
    "npm run t",
    "npm run t --silent",
    "make fail",
    "make -k fail",
    "make both",
    "make -s -j2 fail",
    "coverage run -m pytest -q test_d.py",
    "python3 -m coverage run -m pytest -q test_d.py && python3 -m coverage report",
    "python3 -c \"import sys,pytest; sys.exit(pytest.main(['-q','test_d.py']))\"",
    "python3 -c \"import pytest; raise SystemExit(pytest.main(['-q','test_d.py']))\"",
    "python3 -m unittest -q test_ok && python3 -m unittest -q test_d",
    "rm -f x || true; PYTEST",
    "mkdir -p b; cd . ; PYTEST",
    "(cd . && PYTEST)",
    "for t in test_d.py; do python3 -m pytest -q $t || exit 1; done",
    "ec=0; for t in test_d.py test_ok.py; do python3 -m pytest -q $t || ec=1; done; exit $ec",
    "find . -name 'test_d.py' -print0 | xargs -0 python3 -m pytest -q",
    "find . -name 'test_d.py' -exec python3 -m pytest -q {} +",
    "case x in x) PYTEST;; esac",
    "PYTEST\n",
    "cd . &&\nPYTEST",
    "nice -n 5 PYTEST",
    "command PYTEST",
    "eval 'PYTEST'",
    "script -qec 'PYTEST' /dev/null",
    "PYTEST -p no:cacheprovider -p no:randomly",
    "PYTHONPATH=. PYTEST",
    "stdbuf -o0 PYTEST",
    "test -d . && PYTEST",
    "PYTEST || { echo failed >&2; false; }",
    "PYTEST || exit $?",
    "PYTEST; exit $?",
    "PYTEST; test $? -eq 0",
    "while ! true; do :; done; PYTEST",
    "sleep 0.1 & PYTEST; rc=$?; wait; exit $rc",
    "python3 -m http.server 0 >/dev/null 2>&1 & pid=$!; PYTEST; rc=$?; kill $pid; exit $rc",
    "trap 'kill $pid' EXIT; sleep 9 & pid=$!; PYTEST",
    "diff <(echo a) <(echo a) ; PYTEST",
    "[ -f test_d.py ] || exit 1; PYTEST",
    "which python3 > /dev/null || true\nPYTEST",
    "export A=1; PYTEST",
    ". /dev/null; PYTEST",
    "sh run.sh && PYTEST",
    'f=; for t in test_d.py test_ok.py; do python3 -m pytest -q $t || f=1; done; [ -z "$f" ]',
    "f=0; PYTEST || f=1; if [ $f = 1 ]; then exit 1; fi",
    'f=0; PYTEST || f=1; if [ "$f" -ne 0 ]; then exit 1; fi',
    'failed=false; PYTEST || failed=true; if [ "$failed" = true ]; then exit 1; fi',
    "ec=0; for t in test_d.py test_ok.py; do python3 -m pytest -q $t || ec=1; done; exit $ec",
    "ec=0; PYTEST || ec=$?; exit $ec",
    'f=; PYTEST || f=1; [ -n "$f" ] && exit 1; echo ok',
    "f=0; PYTEST || f=1; test $f -eq 0",
    "f=0; PYTEST || f=1; exit ${f}",
    'f=; PYTEST || f=1; test "$f" != 1',
)


@pytest.mark.parametrize("line", LOST)
def test_a_failure_that_nobody_hears_is_told(line):
    assert swallow_of(line.replace("PYTEST", RUNS)) is not None


@pytest.mark.parametrize("line", HEARD)
def test_a_failure_that_ends_the_line_is_let_be(line):
    assert swallow_of(line.replace("PYTEST", RUNS)) is None
