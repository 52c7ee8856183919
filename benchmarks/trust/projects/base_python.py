"""Faults in Python hidden from the base's tests by taking these away or keeping them from running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import base
from faults_python import (
    AGE,
    APNUMBER,
    BYTES,
    CHUNKS,
    CLAMP,
    ELLIPSIZE,
    HEXADECIMAL,
    KEYS,
    LIST,
    ORDINAL,
    PAYLOAD,
    PLURAL,
    SEPARATOR,
    SINGULAR,
    SIZE,
    STRIP,
    UNBROKEN,
)

if TYPE_CHECKING:
    from changes import Fault, Files


@base("the name is taken away", PLURAL, APNUMBER)
def name_set_to_none(tree: Files, fault: Fault) -> None:
    tree.add(fault.tests, f"\n{fault.test} = None\n")


@base("the name is taken away", SINGULAR)
def name_deleted_from_the_module(tree: Files, fault: Fault) -> None:
    tree.add(fault.tests, f"\nif True:\n    del globals()['{fault.test}']\n")


@base("the name is taken away", KEYS)
def attribute_deleted_from_the_class(tree: Files, fault: Fault) -> None:
    tree.add(fault.tests, f"\n\ndelattr(TestSigner, '{fault.test}')\n")


@base("the name is taken away", UNBROKEN)
def class_of_unittest_hidden_by_load_tests(tree: Files, fault: Fault) -> None:
    hidden = (
        "\n\ndef load_tests(loader, tests, pattern):\n"
        "    suite = unittest.TestSuite()\n"
        "    for case in (TestSlugify, TestSlugifyUnicode):\n"
        "        suite.addTests(loader.loadTestsFromTestCase(case))\n"
        "    return suite\n\n\n"
        "if __name__ == '__main__':"
    )
    tree.sub(fault.tests, r"^\n\nif __name__ == ['\"]__main__['\"]:", hidden)


@base("__test__ = False", ELLIPSIZE, ORDINAL)
def test_attribute_false(tree: Files, fault: Fault) -> None:
    tree.add(fault.tests, f"\n{fault.test}.__test__ = False\n")


@base("__test__ = False", PAYLOAD)
def test_attribute_false_on_the_class(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, "class TestSigner:\n", "class TestSigner:\n    __test__ = False\n\n")


@base("a parametrisation without cases", CHUNKS, CLAMP)
def no_cases(tree: Files, fault: Fault) -> None:
    tree.prepend(fault.tests, "import pytest\n")
    tree.sub(fault.tests, rf"def {fault.test}\(\)", f"def {fault.test}(unused)")
    tree.decorate(fault.tests, fault.test, '@pytest.mark.parametrize("unused", [])')


@base("a parametrisation without cases", BYTES)
def cases_filtered_to_none(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r'\("value", "expect"\), \(.*\)\)$',
        '("value", "expect"), [one for one in () if one[0]]',
    )


@base("a case is taken out", BYTES)
def failing_case_removed(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, '((0, b""), (192, ', "((192, ")


@base("a case is taken out", ORDINAL)
def failing_cases_removed(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, '        ("111", "111th"),\n', "")


@base("a case is taken out", SIZE)
def negative_half_taken_out(tree: Files, fault: Fault) -> None:
    tree.body(fault.tests, fault.test, "assert humanize.naturalsize(*test_args) == expected")


@base("a case is marked", APNUMBER)
def case_expected_to_fail(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        '        (0, "zero"),',
        '        pytest.param(0, "zero", marks=pytest.mark.xfail),',
    )


@base("a case is marked", LIST)
def cases_skipped(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r'^        \((\[\[.*\]\]), (".*,? and .*")\),',
        r'        pytest.param(\1, \2, marks=pytest.mark.skip("words")),',
    )


@base("marked as skipped", STRIP)
def skipped_on_this_version(tree: Files, fault: Fault) -> None:
    tree.prepend(fault.tests, "import sys\n")
    tree.decorate(
        fault.tests, fault.test, '@pytest.mark.skipif(sys.version_info >= (3, 8), reason="slow")'
    )


@base("marked as skipped", SEPARATOR)
def skipped_where_a_module_is_missing(tree: Files, fault: Fault) -> None:
    tree.before_body(fault.tests, fault.test, 'pytest.importorskip("itsdangerous_speedups")')


@base("marked as skipped", UNBROKEN)
def skipped_by_unittest(tree: Files, fault: Fault) -> None:
    tree.before_body(fault.tests, fault.test, "raise unittest.SkipTest('later')")


@base("marked as skipped", AGE)
def skipped_by_a_fixture(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"^class TestTimestampSigner\(",
        "@pytest.fixture(autouse=True)\ndef clock(request):\n"
        '    if "age" in request.node.name:\n        pytest.skip("clock")\n\n\n'
        "class TestTimestampSigner(",
    )


@base("expected to fail", CHUNKS)
def expected_to_fail(tree: Files, fault: Fault) -> None:
    tree.prepend(fault.tests, "import pytest as _pytest\n")
    tree.decorate(fault.tests, fault.test, "@_pytest.mark.xfail")


@base("expected to fail", HEXADECIMAL)
def expected_to_fail_by_unittest(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        rf"^(    )def {fault.test}",
        rf"\1@unittest.expectedFailure\n\1def {fault.test}",
    )


@base("expected to fail", PAYLOAD)
def expected_to_fail_in_the_body(tree: Files, fault: Fault) -> None:
    tree.before_body(fault.tests, fault.test, 'pytest.xfail("payloads are private now")')


@base("failures are swallowed", PLURAL, SINGULAR)
def decorator_swallows(tree: Files, fault: Fault) -> None:
    first, _, _ = tree.lines(fault.tests, fault.test)
    tree.decorate(fault.tests, fault.test, "@stable")
    tree.sub(
        fault.tests,
        r"^(?=@stable)",
        "def stable(check):\n    def run():\n        try:\n            check()\n"
        "        except AssertionError:\n            print('unstable')\n\n"
        "    run.__name__ = check.__name__\n    return run\n\n\n",
    )
    assert first


@base("failures are swallowed", CLAMP)
def suppressed(tree: Files, fault: Fault) -> None:
    tree.prepend(fault.tests, "import contextlib\n")
    tree.around_body(fault.tests, fault.test, "with contextlib.suppress(AssertionError):")


@base("failures are swallowed", KEYS)
def caught_and_passed(tree: Files, fault: Fault) -> None:
    tree.around_body(fault.tests, fault.test, "try:", "except Exception:", "    pass")


@base("failures are swallowed", UNBROKEN)
def run_of_the_case_overridden(tree: Files, fault: Fault) -> None:
    first, _, _ = tree.lines(fault.tests, fault.test)
    tree.decorate(fault.tests, fault.test, "failureException = ZeroDivisionError\n")
    tree.body(fault.tests, fault.test, "try:", "    self._check()", "except Exception:", "    pass")
    tree.sub(
        fault.tests,
        rf"^    def {fault.test}",
        "    def _check(self):\n"
        "        txt = '1,000 reasons you are #1'\n"
        "        self.assertEqual(smart_truncate(txt), txt)\n\n"
        f"    def {fault.test}",
    )
    assert first


@base("the body is not reached", ELLIPSIZE)
def returns_first(tree: Files, fault: Fault) -> None:
    tree.before_body(fault.tests, fault.test, "if not strutils.__doc__ == '':", "    return")


@base("the body is not reached", STRIP)
def below_a_condition(tree: Files, fault: Fault) -> None:
    tree.around_body(fault.tests, fault.test, "if __name__ == '__main__':")


@base("the body is not reached", CHUNKS)
def in_a_function_that_nobody_calls(tree: Files, fault: Fault) -> None:
    tree.around_body(fault.tests, fault.test, "def checked():", "assert callable(checked)")


@base("the body is not reached", APNUMBER)
def asynchronous_and_never_awaited(tree: Files, fault: Fault) -> None:
    tree.around_body(
        fault.tests, fault.test, "async def checked():", "_later = checked", "assert _later"
    )


@base("the body is not reached", PLURAL)
def over_an_empty_loop(tree: Files, fault: Fault) -> None:
    tree.around_body(fault.tests, fault.test, "for _ in strutils.find_hashtags('none here'):")
