"""A pattern that is compiled at its first use is the pattern that `re.compile` gives."""

import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import runner
from runner.lazy_pattern import LazyPattern, regex


def test_it_answers_as_the_compiled_one_does():
    late, true = (make(r"(?P<name>a+)(b)?", re.IGNORECASE) for make in (regex, re.compile))
    assert late.match("AAb").groups() == true.match("AAb").groups()
    assert late.sub("-", "xAbaay") == true.sub("-", "xAbaay")
    assert (late.pattern, late.flags, late.groups) == (true.pattern, true.flags, true.groups)
    assert dict(late.groupindex) == {"name": 1}


def test_nothing_is_compiled_before_it_is_asked(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given) or _TRUE)
    late = regex("a")
    assert not compiled
    assert late.pattern == "a"
    assert not compiled
    assert [late.search("xa").start(), late.search("a").start()] == [1, 0]
    assert compiled == [("a", 0)]


_TRUE = re.compile("a")


@pytest.mark.parametrize("again", [copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_is_the_same_pattern(again):
    other = again(regex(rb"\d+", re.ASCII))
    assert isinstance(other, LazyPattern)
    assert other.findall(b"1 22") == [b"1", b"22"]


def test_what_is_no_pattern_is_told_at_the_first_use():
    late = regex("(")
    with pytest.raises(re.error, match="missing"):
        late.search("")


_ALL = """
import gc, sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
from runner.lazy_pattern import LazyPattern
there = [one for one in gc.get_objects() if isinstance(one, LazyPattern)]
for one in there:
    one.match
print(len(there))
"""
"""In a process of its own: the patterns of this one may be those that a test made."""
_MANY = 400
_PACKAGE = Path(runner.__file__).parent


def test_every_pattern_of_the_package_is_one():
    names = [
        ".".join(file.relative_to(_PACKAGE.parent).with_suffix("").parts)
        for file in _PACKAGE.rglob("*.py")
        if "lazy_pattern import regex" in file.read_text()
    ]
    done = subprocess.run(
        [sys.executable, "-c", _ALL, *names], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) >= _MANY
