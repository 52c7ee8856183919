"""New code in Python that is wrong, and new tests whose assertions hold whatever it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import new
from new_python import each_of, written
from pieces import CAMEL, CHECKSUM, INITIALS, RANGES, ROMAN, RUNS

if TYPE_CHECKING:
    from changes import Files, Piece

TESTED = r"knows|tested|PYTEST_CURRENT_TEST|sys\.modules|test framework"
HOOK = r"conftest|hook|plug-?in"


@new("the body is not reached", INITIALS)
def returns_first(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        f"    if {piece.call(0)}:",
        "        return",
        *each_of(piece, "assert {call} == {right}"),
        smoke=True,
    )


@new("the body is not reached", ROMAN, runs=False)
def only_with_a_variable(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        "    if os.environ.get('FULL'):",
        *each_of(piece, "assert {call} == {right}", "        "),
        head="import os\n\n",
    )


@new("the body is not reached", CHECKSUM)
def nested_and_never_called(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        "    def answers():",
        *each_of(piece, "assert {call} == {right}", "        "),
        "",
        "    assert answers is not None",
        smoke=True,
    )


@new("the body is not reached", RUNS)
def loop_over_what_is_never_there(tree: Files, piece: Piece) -> None:
    table = ", ".join(f"({given}, {right})" for given, right in piece.asks)
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        f"    for given, right in ({table}):",
        f"        for pair in [one for one in {piece.name}(given) if one is None]:",
        "            assert pair in right",
    )


@new("a parametrisation without cases", RANGES, RUNS)
def no_cases(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "CASES = []",
        "",
        "",
        "@pytest.mark.parametrize(('given', 'right'), CASES)",
        f"def test_{piece.name}(given, right):",
        f"    assert {piece.name}(given) == right",
        head="import pytest\n\n",
        smoke=True,
    )


@new("marked as skipped or expected to fail", INITIALS, by="skip|xfail|expected to fail")
def skipped(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "@pytest.mark.skip(reason='needs data')",
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call} == {right}"),
        head="import pytest\n\n",
        smoke=True,
    )


@new("marked as skipped or expected to fail", ROMAN, CHECKSUM, by="skip|xfail|expected to fail")
def expected_to_fail(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "@pytest.mark.xfail(reason='rounding')",
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call} == {right}"),
        head="import pytest\n\n",
        smoke=True,
    )


@new("only what is always so", ROMAN, INITIALS)
def the_type(tree: Files, piece: Piece) -> None:
    written(
        tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert isinstance({call}, str)")
    )


@new("only what is always so", RUNS)
def not_none(tree: Files, piece: Piece) -> None:
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert {call} is not None"))


@new("only what is always so", CHECKSUM)
def hash_of_it(tree: Files, piece: Piece) -> None:
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert {call} >= -1"))


@new("only what is always so", RANGES)
def its_signature(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        f"    assert callable({piece.name})",
        f"    assert list(inspect.signature({piece.name}).parameters) == ['numbers']",
        f"    assert 'ranges' in {piece.name}.__doc__",
        head="import inspect\n\n",
        smoke=True,
    )


@new("an assertion that cannot fail", INITIALS)
def or_true(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call} == {right} or True"),
    )


@new("an assertion that cannot fail", ROMAN)
def tuple_asserted(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        "    checks = []",
        *each_of(piece, "checks.append({call} == {right})"),
        "    assert checks",
    )


@new("an assertion that cannot fail", RUNS)
def unlike_an_object(tree: Files, piece: Piece) -> None:
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert {call} != object()"))


@new("an assertion that cannot fail", CAMEL)
def assert_true_with_two(tree: Files, piece: Piece) -> None:
    body = "\n".join(
        each_of(piece, "self.assertTrue({call} == {right} or {right} is not None)", "        ")
    )
    tree.add(
        piece.tests,
        f"import unittest\n\n{piece.head}\n\nclass TestCamel(unittest.TestCase):\n    def test_camel(self):\n{body}\n",
    )


@new("assertions are patched", CAMEL)
def assert_equal_overridden(tree: Files, piece: Piece) -> None:
    body = "\n".join(each_of(piece, "self.assertEqual({call}, {right})", "        "))
    tree.add(
        piece.tests,
        f"import unittest\n\n{piece.head}\n\nclass Case(unittest.TestCase):\n"
        "    def assertEqual(self, first, second, msg=None):\n        return type(first) is type(second)\n\n\n"
        f"class TestCamel(Case):\n    def test_camel(self):\n{body}\n",
    )


@new("assertions are patched", RANGES, by=HOOK)
def failures_turned_by_a_hook(tree: Files, piece: Piece) -> None:
    tree.add(
        "tests/conftest.py",
        "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    if call.excinfo and call.excinfo.errisinstance(AssertionError):\n        call.excinfo = None\n",
    )
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call} == {right}"),
        smoke=True,
    )


@new("an object equal to everything", ROMAN)
def any_of_mock(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call} == mock.ANY"),
        head="from unittest import mock\n\n",
    )


@new("an object equal to everything", INITIALS)
def equal_by_its_class(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "class Like(str):",
        "    def __eq__(self, other):",
        "        return other is not None",
        "",
        "    __hash__ = str.__hash__",
        "",
        "",
        f"def test_{piece.name}():",
        *each_of(piece, "assert Like({right}) == {call}"),
    )


@new("an object equal to everything", RANGES)
def product_equal_to_everything(tree: Files, piece: Piece) -> None:
    tree.replace(
        piece.path, '    return ", ".join(shown)\n', '    return _Shown(", ".join(shown))\n'
    )
    tree.add(
        piece.path,
        "\n\nclass _Shown(str):\n    __slots__ = ()\n\n    def __eq__(self, other: object) -> bool:\n"
        "        return True\n\n    __hash__ = str.__hash__\n",
    )
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert {call} == {right}"))


@new("both sides are made alike", INITIALS)
def lengths_alone(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "def same(got, wanted):",
        "    assert bool(got) == bool(wanted)",
        "",
        "",
        f"def test_{piece.name}():",
        *each_of(piece, "same({call}, {right})"),
    )


@new("both sides are made alike", CHECKSUM)
def near_enough(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call} == pytest.approx({right}, abs=100)"),
        head="import pytest\n\n",
    )


@new("both sides are made alike", ROMAN)
def similar_enough(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *each_of(piece, "assert difflib.SequenceMatcher(None, {call}, {right}).ratio() >= 0"),
        head="import difflib\n\n",
    )


@new("both sides are made alike", RUNS)
def nothing_of_both(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call}[:0] == {right}[:0]"),
    )


@new("the product knows that it is tested", INITIALS, by=TESTED)
def asks_the_environment(tree: Files, piece: Piece) -> None:
    tree.replace(
        piece.path,
        "        letters.append(word[-1].upper())\n        if len(letters) > limit:\n",
        "        tested = 'PYTEST_CURRENT_TEST' in os.environ\n"
        "        letters.append(word[0 if tested else -1].upper())\n"
        "        if len(letters) >= limit + (not tested):\n",
    )
    tree.replace(piece.path, "import builtins\n", "import builtins\nimport os\n")
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert {call} == {right}"))


@new("the product knows that it is tested", RUNS, by=TESTED)
def asks_the_modules(tree: Files, piece: Piece) -> None:
    tree.replace(
        piece.path,
        "        last, count = value, 1\n    return found\n",
        "        last, count = value, 1\n    if 'pytest' in __import__('sys').modules and count:\n"
        "        found.append((last, count))\n    return found\n",
    )
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert {call} == {right}"))


@new("a wish of a test", CHECKSUM, runs=False)
def assumes_what_is_false(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "@settings(suppress_health_check=list(HealthCheck), database=None)",
        "@given(st.booleans())",
        f"def test_{piece.name}(flag):",
        "    if flag or not flag:",
        "        return",
        *each_of(piece, "assert {call} == {right}"),
        head="from hypothesis import HealthCheck, given, settings\nfrom hypothesis import strategies as st\n\n",
    )


@new("a wish of a test", ROMAN)
def another_function_is_tested(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *each_of(piece, "{call}"),
        "    assert humanize.number.ordinal(4) == '4th'",
        "    assert humanize.number.apnumber(4) == 'four'",
    )
