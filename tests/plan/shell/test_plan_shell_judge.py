"""A real shell with failing programs judges a line, and reaches nothing of this machine."""

import shutil
import time

import pytest

from runner.plan.shell.exit_status import Called, loses_exit
from runner.process import own_command

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


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


@pytest.mark.parametrize("line", ESCAPES.replace("\n", "|").strip("|").split(" | "))
def test_a_line_writes_nothing_outside(line, tmp_path):
    path = tmp_path / "made"
    loses_exit(line.format(path=path))
    assert not path.exists()


@pytest.mark.parametrize(
    "line", [":(){ :|:& };:", "while :; do :; done", "while :; do echo x >> f; done", "kill -9 -1"]
)
def test_a_line_that_does_not_end_is_stopped(line):
    begin = time.monotonic()
    loses_exit(line)
    assert time.monotonic() - begin < 15


def test_without_bubblewrap_nothing_runs_and_nothing_is_known(monkeypatch):
    monkeypatch.setattr(own_command, "_argv_before", tuple)
    own_command._encloses.cache_clear()
    loses_exit.cache_clear()
    assert loses_exit("pytest || true") is None
    own_command._encloses.cache_clear()
    loses_exit.cache_clear()
