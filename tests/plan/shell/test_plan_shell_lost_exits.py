"""Exits that are lost in words, redirections and here documents, or by an option of a tool."""

import shutil
import subprocess
from time import process_time

import pytest

from runner.model import Level, TestContract
from runner.plan.shell import shell_commands
from runner.plan.shell.exit_status import bypass_of, no_proof_in, swallow_of
from runner.plan.shell.programs import program_of
from runner.plan.shell.shell_commands import commands_of

LOST = (
    'for x in $(pytest -q); do echo "$x"; done',
    "for x in $(pytest -q); do true; done; make",
    "set -e; for x in $(pytest -q); do echo; done",
    "case $(pytest -q) in *) ;; esac",
    "set -e; case $(pytest -q) in *failed*) echo no;; esac",
    "bash <<EOF\npytest -q\ntrue\nEOF",
    "bash <<'EOF'\npytest -q || true\nEOF",
    "bash <<EOF\necho $(pytest -q)\nEOF",
    "bash <<EOF\nx=$(pytest -q)\nEOF",
    "sh -s <<EOF\npytest -q; echo done\nEOF",
    "sh <<-EOF\n\tpytest -q\n\techo done\n\tEOF",
    "bash <<< 'pytest -q; true'",
    "bash -s one two <<< 'pytest -q; true'",
    "cat <<EOF | bash\npytest -q\necho\nEOF",
    "echo 'pytest -q; true' | sh",
    "printf 'pytest -q\\ntrue\\n' | sh",
    "echo hi > $(pytest -q)",
    'true > "$(pytest -q)x"',
    "{ true; } > $(pytest -q)",
    "cat <<EOF\n$(pytest -q)\nEOF",
    "cat <<< $(pytest -q)",
    "cat < <(pytest -q)",
    "while read line; do echo $line; done < <(pytest -q)",
    "grep -c passed <(pytest -q) || true",
    # the line never comes to it
    "true || pytest -q",
    "false && pytest -q; true",
    "false || true || pytest -q",
    ": || pytest -q",
    "[ 1 = 1 ] || pytest -q",
    "test 1 != 1 && pytest -q; true",
    "exit 0; pytest -q",
    "exec true; pytest -q",
    "if true; then :; else pytest -q; fi",
    "if false; then pytest -q; fi",
    "while false; do pytest -q; done",
    "until true; do pytest -q; done",
    "check() { pytest -q; }; true",
    "pytest() { true; }; pytest -q",
    # what runs it, or a trap, says something else
    "bash -c 'trap \"exit 0\" ERR; pytest -q'",
    "bash -c 'coproc pytest -q; wait'",
    "coproc pytest -q; true",
    "setsid -f pytest -q",
    "setsid --fork pytest -q",
    "flock lock -c 'pytest -q; true'",
    "script -qec 'pytest -q || true' log",
    "env -S 'sh -c \"pytest -q; true\"'",
    "env -S'sh -c \"pytest -q || :\"'",
    "timeout 60 sh -c 'pytest -q; true'",
    "echo a | xargs -I{} sh -c 'pytest {}; exit 0'",
    "bash -c \"bash -c 'pytest -q || true'\"",
    "if ! pytest -q; then :; fi",
    "while ! pytest -q; do break; done",
    "case x in x) pytest -q || true;; esac",
    "bash -c 'cat <(pytest -q)'",
    "npm test || exit 0",
    "pytest -q & wait",
    # what is asked of a status, or of one part of a pipe
    "pytest -q | tee log; exit ${PIPESTATUS[1]}",
    "pytest -q | tee log; echo; exit ${PIPESTATUS[0]}",
    "pytest -q || [ $? -eq 1 ]",
    "pytest -q || (( $? == 1 ))",
    "pytest -q || [ $? -ne 5 ]",
    "pytest -q; [ $? -eq 1 -o $? -eq 5 ]",
    "echo a | while read -r x; do pytest -q; true; done",
    "jest; exit $(( $? > 1 ))",
    "jest; exit $((1 - $?))",
    "jest; exit $(( $? ? 0 : 1 ))",
    "make; a=$?; jest; b=$?; exit $((a && b))",
    "a=0; make || a=1; b=0; jest || b=1; exit $((a * b))",
    "a=1; jest; b=$?; exit $((a - b))",
    "make; a=$?; jest; b=$?; exit $((a ? b : a))",
    "make; a=$?; jest; b=$?; [ $a -eq 0 ] || [ $b -eq 0 ]",
    "make; a=$?; jest; b=$?; exit $((b && a > 7))",
    "jest; if [ $? -ge 2 ]; then exit 1; fi",
    "jest; if [ $? != 0 ]; then echo bad; fi",
    "jest; if (($? > 1)); then exit 1; fi",
    "jest; (( ! $? )) || true",
    "jest; [ $? ]",
    'jest; [ "x$?" = "x1" ]',
    "jest; case $? in 0|1) ;; *) exit 1;; esac",
    "jest; case $? in 0) echo ok;; *) echo bad;; esac",
    "ok=true; jest || ok=false; $ok || echo bad",
    "ok=yes; jest || ok=no; [ $ok != maybe ]",
    "ok=yes; jest || ok=no; [ -n $ok ]",
    "jest; rc=0; exit $rc",
    "f() { jest; local rc=0; return $rc; }; f",
    # between double quotes the outer shell puts `$?` in, before anything has run
    'bash -c "jest; exit $?"',
    'bash -c "jest; rc=$?; echo x; exit $rc"',
    'trap "exit $?" EXIT; jest',
    # what a trap calls
    "trap cleanup EXIT; cleanup() { exit 0; }; jest",
    "cleanup() { rm -f x; exit 0; }; trap cleanup EXIT; jest",
    "set -e; on_error() { echo bad; exit 0; }; trap on_error ERR; jest",
)
KEPT = (
    "false || pytest -q",
    "true && pytest -q",
    "[ 1 = 1 ] && pytest -q",
    "[ 1 = 2 ] || pytest -q",
    '[ "$CI" = 1 ] || pytest -q',
    "test -f setup.sh && . ./setup.sh; pytest -q",
    "exec pytest -q",
    "exec pytest -q || true",
    "exec > log; pytest -q",
    "if false; then echo; else pytest -q; fi",
    'pytest() { command pytest -x "$@"; }; pytest -q',
    "check() { pytest -q; }; time check",
    "trap 'rm -f lock' EXIT; pytest -q",
    "trap 'echo failed' ERR; pytest -q",
    "bash -c 'coproc pytest -q; wait $COPROC_PID'",
    "setsid pytest -q",
    "setsid -f -w pytest -q",
    "flock lock -c 'pytest -q'",
    "script -qec 'pytest -q' log",
    "env -S 'pytest -q'",
    "env -S 'A=1 sh -c \"pytest -q\"'",
    "timeout 60 sh -c 'cd a; pytest -q'",
    "pytest -q & wait $!",
    "if ! pytest -q; then exit 1; fi",
    "for x in a b; do echo $x; done; pytest -q",
    "for x in $(echo a); do pytest -q; done",
    "case $(echo a) in *) pytest -q;; esac",
    "bash <<EOF\npytest -q\nEOF",
    "bash -e <<EOF\npytest -q\ntrue\nEOF",
    "bash <<'EOF'\nset -e\npytest -q\necho done\nEOF",
    "sh -es <<EOF\npytest -q\ntrue\nEOF",
    "bash <<< 'pytest -q'",
    "cat <<EOF | bash\npytest -q\nEOF",
    "echo 'pytest -q' | sh",
    "printf 'set -e\\npytest -q\\ntrue\\n' | sh",
    "pytest -q > $(echo log)",
    "pytest -q > >(cat)",
    "pytest -q 2> >(cat >&2)",
    "pytest -q <<EOF\n$(echo a)\nEOF",
    "pytest -q < <(echo a)",
    "cat <<'EOF'\n$(pytest -q)\nEOF\npytest -q",
    "cat <<EOF\npytest -q || true\nEOF\npytest -q",
    "x=$(pytest -q)",
    '> "$(pytest -q)x"',
    "bash run.sh <<EOF\npytest -q || true\nEOF\npytest -q",
    "pytest -q | tee log; exit ${PIPESTATUS[0]}",
    "bash -c 'pytest -q | tee log; exit ${PIPESTATUS[0]}'",
    "pytest -q | tee log; rc=${PIPESTATUS[0]}; echo $rc; exit $rc",
    'pytest -q | tee log; [ "${PIPESTATUS[0]}" = 0 ] || exit 1',
    "echo a | pytest -q; exit ${PIPESTATUS[1]}",
    "pytest -q || [ $? -eq 5 ]",
    'pytest -q || test "$?" = 5',
    "pytest -q || (( $? == 5 ))",
    "pytest -q; [ $? -eq 0 -o $? -eq 5 ]",
    "pytest -q; [ $? -ne 1 ]",
    "pytest -q; rc=$?; [ $rc -eq 5 ] && rc=0; exit $rc",
    "echo a | while read -r x; do pytest -q || exit 1; done",
    # with what jest ends nobody knows, but that it is not 0
    "jest; if [ $? != 0 ]; then exit 1; fi",
    'jest; rc=$?; echo $rc; if test "$rc" != "0"; then exit 1; fi',
    "jest; [ 0 -eq $? ]",
    "jest; [ 0 = $? ] || exit 1",
    "jest; test $? -lt 1",
    "jest; if [ ! $? -eq 0 ]; then exit 1; fi",
    'jest; [ "x$?" = x0 ]',
    "jest; if (( $? )); then exit 1; fi",
    "jest; (( ! $? ))",
    'jest; let "$? == 0"',
    "jest; exit $(( $? != 0 ))",
    "jest; exit $(( $? ? 1 : 0 ))",
    "pytest -q; exit $(($?==5?0:1))",
    "jest; rc=$?; exit $((rc?rc:0))",
    "make; a=$?; jest; b=$?; exit $((a || b))",
    "make; a=$?; jest; b=$?; exit $((a + b))",
    "jest; a=$?; make; b=$?; exit $(( a > b ? a : b ))",
    "a=0; jest || a=1; b=0; make || b=1; exit $((a + b))",
    "a=0; make || a=1; b=0; jest || b=1; exit $((a | b))",
    "make; a=$?; jest; b=$?; c=$((a | b)); exit $c",
    "make; a=$?; jest; b=$?; (( a == 0 && b == 0 ))",
    "jest; rc=$?; exit ${rc:-0}",
    "jest; case $? in 0) ;; *) exit 1;; esac",
    'jest; case "$?" in 0) echo ok;; [1-9]*) exit 1;; esac',
    "jest; rc=$?; case $rc in (0) exit 0;; (*) exit $rc;; esac",
    'jest | tee log; exit "$PIPESTATUS"',
    "jest | tee log; (( PIPESTATUS[0] == 0 ))",
    "ok=true; jest || ok=false; $ok",
    "ok=true; jest || ok=false; if ! $ok; then exit 1; fi",
    "ok=1; jest || ok=0; (( ok ))",
    'ok=1; jest || ok=; [ -n "$ok" ]',
    "ok=yes; jest || ok=no; [ $ok != no ]",
    "ok=yes; jest || ok=no; case $ok in yes) exit 0;; esac; exit 1",
    "rc=0; for x in a b; do jest $x || rc=$((rc+1)); done; exit $rc",
    "failed=0; jest || ((failed++)); exit $failed",
    'failed=0; jest || let "failed += 1"; (( failed == 0 ))',
    "rc=0; jest; rc=$((rc | $?)); make; rc=$((rc | $?)); exit $rc",
    "f() { jest; local rc=$?; echo; return $rc; }; f",
    "export rc=0; jest || export rc=1; exit $rc",
    "cleanup() { s=$?; rm -f x; exit $s; }; trap cleanup EXIT; jest",
    "trap 'true; exit' EXIT; jest",
    "trap 'rm -f lock; exit $?' INT; jest",
    'bash -c "jest; exit \\$?"',
)


@pytest.fixture
def failing(tmp_path):
    """A folder with a test program that fails, and a shell that finds it first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, code in (("pytest", 1), ("jest", 1), ("make", 0)):
        (folder / name).write_text(f"#!/bin/sh\necho failed\nexit {code}\n")
        (folder / name).chmod(0o755)
    (tmp_path / "run.sh").write_text("exit 0\n")

    def run(line):
        path = f"{folder}:/usr/bin:/bin"
        words = ["bash", "-c", line]
        done = subprocess.run(
            words, cwd=tmp_path, env={"PATH": path}, capture_output=True, check=False
        )
        return done.returncode

    return run


@pytest.mark.parametrize("line", LOST)
def test_an_exit_that_bash_loses_is_told(line, failing):
    assert failing(line) == 0, "bash says otherwise"
    assert swallow_of(line), line


@pytest.mark.parametrize("line", KEPT)
def test_an_exit_that_bash_keeps_is_let_be(line, failing):
    assert failing(line) != 0, "bash says otherwise"
    assert swallow_of(line) is None, line


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("su -c 'pytest -q || true' ada", True),
        ("su - ada --command 'pytest -q; echo done'", True),
        ("runuser -u ada -c 'pytest -q; true'", True),
        ("su -c 'pytest -q' ada", False),
        ("su ada", False),
        ('check() { pytest -q; }; "$@"', True),
        ("make -k test", False),
        # with what others end where tests fail is theirs to say
        ("jest || [ $? -eq 5 ]", True),
        ("cargo test || [ $? -eq 101 ]", True),
        ("python -m unittest -q || [ $? -eq 5 ]", False),
    ],
)
def test_a_line_is_read_that_cannot_be_run_here(line, lost):
    assert bool(swallow_of(line)) is lost


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("true || pytest -q", "pytest -q"),
        ("setsid -f pytest -q", "setsid pytest -q"),
        ("coproc pytest -q; true", "pytest -q"),
        ("exit 0; pytest -q", "pytest -q"),
        ("su -c 'pytest -q || true' ada", "pytest -q"),
    ],
)
def test_the_line_that_would_be_right_is_told(line, right):
    assert no_proof_in(TestContract("TC-001", Level.UNIT, line)).hint == f"write it as `{right}`"


def test_what_a_shell_reads_is_among_the_commands_of_a_line():
    line = "bash <<EOF\npytest -q -k $NAME\nEOF"
    assert [program_of(one).name for one in commands_of(line)] == ["pytest"]
    assert shell_commands.tests_in("echo 'npm test' | sh")


@pytest.mark.parametrize(
    "line",
    ["cat <<EOF\n$(\nEOF", "cat <<EOF\n`\nEOF", "for x in $(; do echo; done", "cat <<EOF\n$("],
)
def test_what_no_shell_reads_is_not_judged(line):
    assert swallow_of(f"{line}\npytest -q || true") is None


# --- options ---------------------------------------------------------------------------------

LENIENT = (
    "make -i test",
    "make -ki test",
    "find . -name 'test_*.py' -exec pytest {} \\;",
    "find tests -execdir python -m pytest {} ';'",
    "find . -name a -exec sh -c 'cd sub && pytest \"$1\"' _ {} \\;",
    "script -qc 'pytest -q' /dev/null",
    "mvn -fn test",
    "./mvnw --fail-never verify",
    "mvn test -Dmaven.test.failure.ignore=true",
    "mvn -Dmaven.test.failure.ignore verify",
    "tox -x testenv.ignore_outcome=true",
    "npx mocha --pass-on-failing-test-suite",
    "npx jest --testFailureExitCode=0",
    "robot --nostatusrc tests",
    "pytest --suppress-tests-failed-exit-code",
    "karma start --no-fail-on-failing-test-suite",
)
STRICT = (
    "concurrently 'npm test' 'npm run lint'",
    "concurrently --success all 'npm test' 'npm run lint'",
    "concurrently --kill-others-on-fail 'npm test' 'npm run lint'",
    "concurrently -k -s first 'npm start' 'npm test'",
    "concurrently -k --success command-1 'npm start' 'npm test'",
    "concurrently -n web,tests -s command-tests 'npm start' 'npm test'",
    "concurrently -k -s '!command-0' 'npm start' 'npm test'",
    "npm-run-all --continue-on-error test lint",
    "npm-run-all -c test lint",
    "run-s -c test lint",
    "run-p -c test lint",
    "pnpm -r --no-bail test",
    "pnpm --no-bail --filter=web test",
    "yarn workspaces foreach -A run test",
    "ls tests/*.py | xargs -P4 -n1 pytest",
    "parallel --halt never pytest ::: a b",
    "parallel --halt now,fail=1 pytest ::: a b",
    "make --keep-going test",
    "make -j4 -C sub test",
    "turbo run test --continue",
    "npx nx run-many -t test --nx-bail=false",
    "lerna run test --no-bail",
    "tox -e py",
    "tox -x testenv.ignore_errors=true",
    "nox --no-stop-on-first-error -s tests",
    "just test",
    "task test",
    "find tests -name 'test_*.py' -exec pytest {} +",
    "find . -name '*.pyc' -exec rm {} \\; && pytest -q",
    "find . -name a -exec sh -c 'pytest \"$@\"' _ {} +",
    "find . -name a -exec sh -c 'pytest $1 || touch failed' _ {} \\; && test ! -e failed",
    "script -qec 'pytest -q' /dev/null",
    "mvn -fae test",
    "gradle test --continue",
    "npx jest --testFailureExitCode=3",
    "cargo test --no-fail-fast",
    "go test -exec 'qemu-arm' ./...",
    "bazel test //... --keep_going",
)


def no_proof(line):
    return no_proof_in(TestContract("TC-001", Level.UNIT, line))


@pytest.mark.parametrize("line", LENIENT)
def test_an_option_that_passes_over_a_failure_is_refused(line):
    assert no_proof(line), line


@pytest.mark.parametrize("line", STRICT)
def test_an_option_behind_which_a_failure_is_told_is_let_be(line):
    assert bypass_of(line) == ""
    assert no_proof(line) is None


REAL = (
    ("find . -name a -exec pytest {} \\;", "find"),
    ("find . -name a -exec pytest {} +", "find"),
    ("find . -name a -exec sh -c 'pytest \"$1\"' _ {} \\;", "find"),
    ("find . -name a -exec sh -c 'pytest \"$@\"' _ {} +", "find"),
    ("script -qc 'pytest -q' /dev/null", "script"),
    ("script -qec 'pytest -q' /dev/null", "script"),
    ("ls | xargs -P2 -n1 pytest", "xargs"),
)


@pytest.mark.parametrize(("line", "tool"), REAL)
def test_what_is_said_of_a_tool_is_what_it_does(line, tool, failing, tmp_path):
    if shutil.which(tool, path="/usr/bin:/bin") is None:
        pytest.skip(f"needs {tool}")
    (tmp_path / "a").write_text("")
    assert (failing(line) == 0) is bool(no_proof(line))


def test_the_failure_that_a_script_of_find_swallows_is_seen_in_the_form_that_tells_failures():
    line = "find . -name a -exec sh -c 'pytest \"$@\" || true' _ {} +"
    said = 'cannot fail: `|| true` swallows the exit code of `pytest "$@"`'
    assert no_proof(line).message == said


@pytest.mark.parametrize(
    ("line", "by"),
    [
        ("echo `pytest -q`", "`` echo `pytest -q` ``"),
        ("echo $(pytest -q) done", "`echo $(pytest -q) done`"),
        ('x="`pytest -q`"; echo done', '`` x="`pytest -q`" ``'),
        ("pytest -q || echo `date`", "`` || echo `date` ``"),
    ],
)
def test_what_swallows_is_named_as_it_stands_around_backticks_too(line, by):
    assert no_proof(line).message == f"cannot fail: {by} swallows the exit code of `pytest -q`"


def test_the_hint_of_find_names_the_form_that_tells_failures():
    hint = "write it as `find . -name 'test_*.py' -exec pytest {} +`"
    assert no_proof("find . -name 'test_*.py' -exec pytest {} \\;").hint == hint


LONG = ("-exec a " * 8_000, "-exec pytest ';' " * 3_000, "-n " * 20_000, "'npm test' " * 5_000)


@pytest.mark.parametrize("words", LONG)
@pytest.mark.parametrize("tool", ["find", "make", "concurrently -s last", "script -c", "run-p"])
def test_a_long_line_takes_no_time(tool, words):
    began = process_time()
    no_proof(f"{tool} {words}")
    assert process_time() - began < 5.0
