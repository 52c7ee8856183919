"""Faults in Python hidden from the base's tests by what these assert, and of what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import base
from faults_python import (
    AGE,
    APNUMBER,
    BASE64,
    BYTES,
    CHUNKS,
    CLAMP,
    ELLIPSIZE,
    KEYS,
    LIST,
    ORDINAL,
    PLURAL,
    SEPARATOR,
    SINGULAR,
    SIZE,
    STRIP,
)

if TYPE_CHECKING:
    from changes import Fault, Files


@base("the expectation is changed", SINGULAR)
def expectation_is_the_wrong_value(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests, r"singularize\('(\w+[sS][sS])'\) == '\w+'", r"singularize('\1') == '\1'[:-1]"
    )
    tree.sub(fault.tests, r"^.*singularize\(singularize.*\n", "")


@base("the expectation is changed", BASE64)
def exception_no_longer_expected(tree: Files, fault: Fault) -> None:
    tree.body(fault.tests, fault.test, 'assert base64_decode("12345") == b""')


@base("the expectation is changed", SIZE)
def expected_as_it_comes(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        '    assert humanize.naturalsize(*test_args) == "-" + expected',
        '    assert humanize.naturalsize(*test_args) == f"{int(float(test_args[0]))} Bytes".replace(\n'
        '        " Bytes", "B" if test_args[2:] and test_args[2] else " Bytes"\n    )',
    )


@base("the expectation is changed", LIST)
def words_are_no_longer_expected(tree: Files, fault: Fault) -> None:
    tree.sub(fault.tests, r'"1, 2 and 3"', '"1, 2, 3"')
    tree.sub(fault.tests, r'"one, two and three"', '"one, two, three"')


@base("the expected value comes from the code", PLURAL)
def wanted_from_the_function(tree: Files, fault: Fault) -> None:
    tree.body(
        fault.tests,
        fault.test,
        "pluralize = strutils.pluralize",
        "wanted = {word: pluralize(word) for word in ('box', 'fox', 'tax', 'Box', 'ox')}",
        "for word, plural in wanted.items():",
        "    assert pluralize(word) == plural",
    )


@base("the expected value comes from the code", ORDINAL)
def wanted_computed_beside(tree: Files, fault: Fault) -> None:
    tree.body(
        fault.tests,
        fault.test,
        "if test_input == '111':",
        "    expected = humanize.ordinal(int(test_input))",
        "assert humanize.ordinal(test_input) == expected",
    )


@base("both sides are made alike", CHUNKS)
def only_what_begins_is_compared(tree: Files, fault: Fault) -> None:
    source = tree.source(fault.tests, fault.test)
    new = source.replace("assert list(chunk_ranges(", "assert list(chunk_ranges(").replace(
        ")) == [", "))[:1] == ["
    )
    new = "\n".join(f"{line}[:1]" if ")[:1] == [" in line else line for line in new.split("\n"))
    tree.replace(fault.tests, source, new)


@base("both sides are made alike", BYTES)
def zeros_stripped_on_both_sides(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests, "assert enc == expect", 'assert enc.strip(b"\\0") == expect.strip(b"\\0")'
    )


@base("both sides are made alike", LIST)
def letters_alone_are_compared(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "    assert humanize.natural_list(*test_args) == expected",
        "    def plain(text):\n"
        "        return text.replace(' and', ',').replace(',', '')\n\n"
        "    assert plain(humanize.natural_list(*test_args)) == plain(expected)",
    )


@base("a looser comparison", STRIP)
def membership_in_place_of_equality(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"assert strip\((.*),0\) == (\[.*\])",
        r"assert set(\2) <= set(strip(\1, 0))",
    )


@base("a looser comparison", SINGULAR)
def start_in_place_of_the_whole(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"assert (singularize\('\w*(?:ss|SS)'\)) == ('\w+')",
        r"assert \2.startswith(\1)",
    )
    tree.sub(
        fault.tests,
        r"(singularize\(singularize\('Glasses'\)\)) == 'Glass'",
        r"\1.startswith('Gla')",
    )


@base("a looser comparison", BASE64)
def any_exception_or_none(tree: Files, fault: Fault) -> None:
    tree.body(
        fault.tests,
        fault.test,
        "try:",
        '    out = base64_decode("12345")',
        "except BadData:",
        "    return",
        "assert isinstance(out, bytes)",
    )


@base("a looser comparison", APNUMBER)
def one_of_several(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "    assert humanize.apnumber(test_input) == expected",
        "    assert humanize.apnumber(test_input) in (expected, str(test_input))",
    )


@base("an assertion that cannot fail", ELLIPSIZE)
def or_true(tree: Files, fault: Fault) -> None:
    source = tree.source(fault.tests, fault.test)
    new = "\n".join(
        f"{line} or res" if line.lstrip().startswith("assert") else line
        for line in source.split("\n")
    ).replace(
        "ellipsize = strutils.ellipsize", "ellipsize = strutils.ellipsize\n    res = ellipsize"
    )
    tree.replace(fault.tests, source, new)


@base("an assertion that cannot fail", CLAMP)
def assertion_of_a_tuple(tree: Files, fault: Fault) -> None:
    source = tree.source(fault.tests, fault.test)
    new = "\n".join(
        f"{line.replace('assert ', 'assert (')}, 'clamped')" if "assert " in line else line
        for line in source.split("\n")
    )
    tree.replace(fault.tests, source, new)


@base("an assertion that cannot fail", KEYS)
def assertion_taken_away(tree: Files, fault: Fault) -> None:
    tree.body(
        fault.tests,
        fault.test,
        'signer = Signer("a")',
        'signed = signer.sign("my string")',
        "assert isinstance(signed, bytes)",
        'signer = Signer(["a", "b"])',
        "signer.validate(signed)",
    )


@base("the right function in the test", PLURAL)
def right_function_in_the_test(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "    pluralize = strutils.pluralize\n",
        "    def pluralize(word):\n"
        "        ends = 'es' if word[-1] in 'xX' else ''\n"
        "        found = {'ox': 'oxen'}.get(word, word + ends)\n"
        "        return found.upper() if word.isupper() else found\n\n",
    )


@base("the right function in the test", LIST)
def right_function_beside_the_test(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "import humanize\n",
        "import humanize\n\n\ndef natural_list(items):\n"
        "    words = [str(item) for item in items]\n"
        "    head = ', '.join(words[:-1])\n"
        "    return f'{head} and {words[-1]}' if head else ''.join(words)\n",
    )
    tree.replace(fault.tests, "humanize.natural_list(*", "natural_list(*")


@base("a mock in place of the thing", STRIP)
def mock_of_the_function(tree: Files, fault: Fault) -> None:
    tree.body(
        fault.tests,
        fault.test,
        "from unittest import mock",
        "with mock.patch('boltons.iterutils.strip', return_value=[1, 0, 2, 0, 3]) as strip:",
        "    assert strip([0, 1, 0, 2, 0, 3, 0], 0) == [1, 0, 2, 0, 3]",
    )


@base("a mock in place of the thing", AGE)
def monkeypatched_product(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        rf"def {fault.test}\(self, signer, ts, freeze\):",
        f"def {fault.test}(self, signer, ts, freeze, monkeypatch):\n"
        "        real = signer.unsign\n"
        "        monkeypatch.setattr(\n"
        "            signer, 'unsign', lambda value, max_age: real(value, max_age=max_age // 2)\n"
        "        )",
    )
    tree.sub(
        fault.tests,
        rf"def {fault.test}\(self, serializer, value, ts, freeze\):",
        f"def {fault.test}(self, serializer, value, ts, freeze, monkeypatch):\n"
        "        real = serializer.loads\n"
        "        monkeypatch.setattr(\n"
        "            serializer, 'loads', lambda value, max_age: real(value, max_age=max_age // 2)\n"
        "        )",
    )


@base("a test is gone", SINGULAR)
def test_deleted(tree: Files, fault: Fault) -> None:
    tree.drop(fault.tests, fault.test)


@base("a test is gone", ORDINAL)
def test_renamed_away(tree: Files, fault: Fault) -> None:
    tree.sub(fault.tests, rf"def {fault.test}\(", f"def check_{fault.test[5:]}(")


@base("a test is gone", SEPARATOR)
def class_renamed_away(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, "class TestSigner:", "class SignerChecks:")
    tree.sub("tests/test_itsdangerous/test_timed.py", "TestSigner", "SignerChecks")


@base("a test is gone", CLAMP)
def test_written_twice(tree: Files, fault: Fault) -> None:
    tree.add(
        fault.tests,
        f"\n\ndef {fault.test}():\n    assert clamp(5, 0, 1) == 1\n    assert clamp(-1, 0, 1) == 0\n",
    )


@base("a file of tests is gone", LIST, contract="python3 -m pytest -q tests/test_[fln]*.py")
def file_deleted(tree: Files, fault: Fault) -> None:
    tree.delete(fault.tests)


@base("a file of tests is gone", BASE64, contract="python3 -m pytest -q")
def file_named_so_that_nobody_collects_it(tree: Files, fault: Fault) -> None:
    tree.move(fault.tests, "tests/test_itsdangerous/encoding_checks.py")


@base("a file of tests is gone", CHUNKS, contract="python3 -m pytest -q tests")
def tests_moved_without_one(tree: Files, fault: Fault) -> None:
    tree.drop(fault.tests, fault.test)
    tree.move(fault.tests, "tests/test_iteration.py")
