"""The sampled mutation check finds what no test looks at, and says so."""

import subprocess

import mutants
import pytest

SIZES = '''\
"""Sizes."""


def fits(size, room):
    """Whether it fits."""
    if size > room:
        return False
    return size > 0
'''
TESTS = {
    "looks": """\
from runner.toys.sizes import fits


def test_sizes():
    assert [fits(1, 1), fits(1, 2), fits(2, 1), fits(0, 1)] == [True, True, False, False]
""",
    "looks away": "from runner.toys.sizes import fits\n\n\ndef test_sizes():\n    fits(1, 1)\n",
}


@pytest.fixture
def house(tmp_path, request, monkeypatch):
    """A product of one room; its only test looks at what comes out, or does not."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a second less for each
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    root = tmp_path / "house"
    files = {
        ".gitignore": "__pycache__/\n",
        "runner/__init__.py": "",
        "runner/__main__.py": "def main():\n    pass\n",
        "runner/toys/__init__.py": "",
        "runner/toys/sizes.py": SIZES,
        "tests/toys/test_toys_sizes.py": TESTS[request.param],
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def tried(house, count, seed="1"):
    kept = house.parent / "kept.jsonl"
    return list(mutants.campaign(house, count, seed, kept, only="runner/toys"))


@pytest.mark.parametrize("house", ["looks"], indirect=True)
def test_a_fault_that_a_test_fails_by_is_noticed_and_the_product_is_left_alone(house, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-rs")
    found = tried(house, 2)
    assert [one.verdict for one in found] == ["noticed"] * 2
    assert {one.by for one in found} == {"tests/toys/test_toys_sizes.py::test_sizes"}
    assert (house / "runner/toys/sizes.py").read_text() == SIZES
    said, enough = mutants.report(found, {})
    assert ("all            2 of 2, 100%" in said, enough) == (True, True)


@pytest.mark.parametrize("house", ["looks away"], indirect=True)
def test_what_nobody_looks_at_is_listed_and_what_was_tried_is_not_tried_again(house):
    found = tried(house, 2)
    assert [one.verdict for one in found] == ["survived"] * 2
    said, enough = mutants.report(found, {})
    assert not enough
    assert f"{found[0].path}:{found[0].line}: fits: " in said
    assert f"    - {found[0].before}\n    + {found[0].after}" in said
    (house / "tests/toys/test_toys_sizes.py").write_text(TESTS["looks"])
    assert tried(house, 2) == found  # it goes on where it stopped
    equal = {one.key: "no size is below zero" for one in found}
    said, enough = mutants.report(found, equal)
    assert enough
    assert said.count("equivalent: no size is below zero") == 2


@pytest.mark.parametrize("house", ["looks"], indirect=True)
def test_a_test_that_fails_without_the_fault_says_nothing_of_it(house):
    (house / "tests/toys/test_toys_sizes.py").write_text(
        "from runner.toys.sizes import fits\n\n\ndef test_broken():\n    assert fits == 1\n"
    )
    (one,) = tried(house, 1)
    assert (one.verdict, one.by) == ("survived", "")


@pytest.mark.parametrize("house", ["looks"], indirect=True)
def test_the_sample_follows_from_its_seed_and_knows_the_tests_that_are_near(house):
    told = [[one.key for one, _ in mutants.sample(house, 2, seed)] for seed in ("1", "1", "2")]
    assert told[0] == told[1] != told[2]
    tests = mutants.Tests(house)
    assert tests.of("runner/toys/sizes.py") == ["tests/toys/test_toys_sizes.py"]
    assert tests.of("runner/other/thing.py") == []
