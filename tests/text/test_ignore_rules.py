"""Rules as in gitignore(5) from a clone: what cannot be read matches nothing and raises nothing."""

import random
import subprocess
import sys

import pytest

from runner.config.schema import find_adapter
from runner.text.ignore_rules import ignore_rules, is_rule


def test_rules_name_files_as_git_reads_them():
    named = ignore_rules(("*.log", "!keep.log", "/build/"))
    assert [named(path) for path in ("a/x.log", "keep.log", "build/x", "a/build/x")] == [
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("rule", ["a\\", "a[z-a]b", "[[:alpha:]]x", "\udcff*", "x" * 5000])
def test_a_rule_that_cannot_be_read_takes_nothing_from_the_others(rule):
    assert not is_rule(rule)
    assert ignore_rules((rule, "*.log"))("a.log")
    assert not ignore_rules((rule,))("a.log")


def test_no_rule_and_no_path_raises():
    chance = random.Random(5)
    signs = "ab/*?[]!^-\\ #[:alpha:]\udcff\x00é\n.&~|"
    for _ in range(500):
        rule = "".join(chance.choices(signs, k=chance.randint(0, 12)))
        ignore_rules((rule, "*.log"))("a/b\udcff")


def test_a_permission_whose_pattern_cannot_be_read_is_refused_with_the_settings():
    rule = {"tool": "write_file", "pattern": "src/a\\", "action": "deny"}
    with pytest.raises(ValueError, match="must be a valid glob"):
        find_adapter("Rules").validate_python([rule])


def test_a_rule_that_a_later_python_may_read_otherwise_prints_nothing():
    text = (
        "from runner.text.ignore_rules import ignore_rules\n"
        "asked = ignore_rules(['src/[[a]*.py', 'y/[a&&b]', 'y/[c||d]', 'z/[~~a]'])\n"
        "print(asked('src/[b.py'), asked('y/&'))"
    )
    call = (sys.executable, "-W", "default", "-c", text)
    told = subprocess.run(call, capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("True True\n", "")
