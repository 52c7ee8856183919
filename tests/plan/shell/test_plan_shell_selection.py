"""What a command selects among its tests, and what a change of it leaves out."""

import pytest

from runner.plan.shell.selection import selection_of


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
