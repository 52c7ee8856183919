"""A check that only lints, checks types or compiles is told by what it starts, however it does."""

import pytest
from gates_trees import a_check, a_gate, a_story, put

from runner.gates.check_run import try_check
from runner.gates.script_targets import only_looks
from runner.model import ProvenBy
from runner.plan.shell.quiet_lines import starts_no_program

FILES = {
    "package.json": '{"scripts": {"check": "npm run -s a && npm run b", "a": "tsc --noEmit",'
    ' "b": "eslint . | tee out", "all": "npm run a && node e2e.js"}}',
    "Makefile": "check: types\n\t@-ruff check .\ntypes:\n\tmypy .\nall: check\n\t./e2e\n",
    "check.sh": "set -e\nfor one in a b; do ruff check $one; done\n",
    "e2e.sh": "ruff check .\nnode e2e.js\n",
}


@pytest.mark.parametrize(
    "command",
    [
        "python3 -I -W error -m py_compile m.py",
        "timeout 60 python3 -m compileall -q .",
        "uv run ruff check .",
        "npx --yes tsc --noEmit",
        "sh -c 'cd web && eslint .'",
        "bash -euo pipefail -c 'ruff check . && mypy .'",
        "env A=1 node --check a.js",
        "git ls-files '*.py' | xargs flake8",
        "find . -name '*.py' -exec python3 -m py_compile {} +",
        "if ruff check .; then echo good; else exit 1; fi",
        "(cargo check; cargo clippy)",
        "mypy . || exit 1",
        "npm run check",
        "make check",
        "sh check.sh",
        "./check.sh",
    ],
)
def test_whatever_starts_it_what_only_looks_is_told(command):
    def read(path):
        return FILES[path].encode() if path in FILES else None

    assert only_looks(a_check(command), read)
    assert only_looks(a_gate(command), read)


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "cd a && :",
        "./other.sh",
        "test -e m.py",
        "test -e m.py && ruff check m.py",
        "grep -q x m.py && mypy m.py",
        "ruff check . && python3 -c 'import m'",
        "sh -c 'ruff check . && ./try.sh'",
        "pytest -q",
        "npm run all",
        "make all",
        "sh e2e.sh",
        "npm run nothing",
        "'",
    ],
)
def test_what_runs_anything_more_does_not_only_look(command):
    def read(path):
        return FILES[path].encode() if path in FILES else None

    assert not only_looks(a_check(command), read)


def test_a_proof_says_so_when_it_ran(tmp_path):
    bench, _ = a_story(tmp_path, {}, {"m.py": "M = 1\n", **FILES})
    put(tmp_path / "tree", {"m.py": "M = 1\n", "Makefile": "all:\n\tpython3 -m py_compile m.py\n"})
    compiled = try_check(a_check("sh -c 'python3 -m py_compile m.py'"), bench).proof
    assert compiled.by is ProvenBy.STATIC
    assert try_check(a_check("test -e m.py"), bench).proof.by is None
    assert try_check(a_check("python3 -m py_compile gone.py"), bench).proof.by is None


@pytest.mark.parametrize(
    "line",
    [
        "true",
        "test -f a && echo there",
        "x=1; [ $x = 1 ]",
        "cat a | grep b",
        "if :; then ls; fi",
        "(ls) >&2",
    ],
)
def test_the_shells_own_words_start_no_program(line):
    assert starts_no_program(line)


@pytest.mark.parametrize(
    "line",
    [
        "sh check.sh",
        "./true",
        "python3 -c pass",
        "echo $(python3 a.py)",
        "cat < <(node a.js)",
        "cat <<END\n`node a.js`\nEND",
        "PATH=bin grep a b",
        "true() { python3 a.py; }; true",
        "eval $X",
        "$X",
        "xargs true",
        "(echo a) > b",
        "for a in b; do echo $a; done >b",
        "if",
        "",
    ],
)
def test_what_may_start_something_else_is_watched(line):
    assert not starts_no_program(line)
