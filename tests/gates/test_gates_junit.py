"""Results per test from JUnit files as the tools write them, and as somebody might forge them."""

import os

import pytest

from runner.gates import junit
from runner.gates.junit import parse_results, read_results

PYTEST = b"""<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="6">
<testcase classname="tests.test_a" name="test_p" file="tests/test_a.py" line="1" time="0.5"/>
<testcase classname="tests.test_a.TestC" name="test_in[1-a]" file="tests/test_a.py"/>
<testcase classname="tests.test_a" name="test_f" file="tests/test_a.py">
  <failure message="AssertionError: nope&#10;1 == 2">E  AssertionError: nope</failure></testcase>
<testcase classname="tests.test_a" name="test_s" file="tests/test_a.py">
  <skipped type="pytest.skip" message="later"/></testcase>
<testcase classname="tests.test_a" name="test_x" file="tests/test_a.py">
  <skipped type="pytest.xfail" message=""/></testcase>
<testcase classname="" name="tests.test_b"><error message="collection failure">ImportError</error>
</testcase></testsuite></testsuites>"""

NODE = b"""<testsuites><testcase name="one" time="0.001" classname="test"/>
<testsuite name="outer"><testsuite name="inner"><testcase name="two" classname="test">
<failure type="testCodeFailure" message="1 == 2">[Error: 1 == 2]</failure></testcase></testsuite>
</testsuite></testsuites>"""

VITEST = b"""<testsuites name="vitest tests"><testsuite name="src/a.test.ts" tests="1">
<testcase classname="src/a.test.ts" name="sums &gt; adds" time="0.01"/></testsuite></testsuites>"""

BOMB = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">
<!ENTITY lol2 "&lol;&lol;&lol;&lol;">]><testsuites><testsuite name="&lol2;"/></testsuites>"""

ABROAD = b"""<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>
<testsuites><testsuite name="&x;"><testcase name="a"/></testsuite></testsuites>"""


def rows(content):
    return [(test.id, str(test.outcome)) for test in parse_results(content).tests]


def test_pytest_names_its_tests_by_file_class_and_case():
    assert rows(PYTEST) == [
        ("tests/test_a.py::test_p", "passed"),
        ("tests/test_a.py::TestC::test_in[1-a]", "passed"),
        ("tests/test_a.py::test_f", "failed"),
        ("tests/test_a.py::test_s", "skipped"),
        ("tests/test_a.py::test_x", "xfailed"),
        ("tests.test_b", "error"),
    ]


def test_a_test_may_be_named_as_its_file_is():
    same = PYTEST.replace(b'name="test_p"', b'name="test_a"')
    assert rows(same)[0] == ("tests/test_a.py::test_a", "passed")


def test_a_failure_keeps_what_it_said_and_how_long_it_took():
    results = parse_results(PYTEST)
    assert [test.message for test in results.failing] == [
        "E  AssertionError: nope",
        "collection failure\nImportError",
    ]
    assert results.tests[0].seconds == 0.5


def test_what_is_counted():
    assert parse_results(PYTEST).counts() == {
        "passed": 2,
        "failed": 1,
        "errors": 1,
        "skipped": 1,
        "xfailed": 1,
    }


def test_node_names_its_tests_by_their_groups():
    assert rows(NODE) == [("one", "passed"), ("outer > inner > two", "failed")]


def test_vitest_names_its_tests_by_file_and_groups():
    assert rows(VITEST) == [("src/a.test.ts > sums > adds", "passed")]


def test_a_test_that_passes_and_fails_in_its_teardown_has_failed():
    twice = PYTEST.replace(
        b"</testsuite>",
        b'<testcase classname="tests.test_a" name="test_p" file="tests/test_a.py">'
        b'<error message="teardown">x</error></testcase></testsuite>',
    )
    assert rows(twice)[0] == ("tests/test_a.py::test_p", "error")


@pytest.mark.parametrize(
    "content",
    [
        BOMB,
        ABROAD,
        PYTEST[:-40],
        b"<testsuites>" * 5000,
        b"<html></html>",
        b"\xff\xfe\x00garbage",
        b"not xml at all",
        b"",
    ],
    ids=["bomb", "abroad", "torn", "deep", "other", "bytes", "text", "empty"],
)
def test_what_no_tool_wrote_whole_is_not_believed(content):
    assert parse_results(content) is None


def test_a_text_of_any_length_is_kept_short():
    long = PYTEST.replace(b"E  AssertionError: nope", b"x" * 5_000_000)
    assert len(parse_results(long).failing[0].message) < 10_000


def test_only_a_regular_file_of_bearable_size_is_read(tmp_path, monkeypatch):
    file = tmp_path / "good.xml"
    file.write_bytes(NODE)
    assert read_results(file)
    (tmp_path / "link.xml").symlink_to(file)
    os.mkfifo(tmp_path / "pipe.xml")
    (tmp_path / "folder.xml").mkdir()
    for name in ("link", "pipe", "folder", "absent"):
        assert read_results(tmp_path / f"{name}.xml") is None
    monkeypatch.setattr(junit, "LARGEST", 10)
    assert read_results(file) is None


def test_a_file_that_node_calls_a_test_is_none_unless_it_failed():
    case = '<testcase name="{}" classname="test"{}>{}</testcase>'
    cases = (
        case.format("/tree/e.test.mjs", "", ""),
        case.format("a/b.test.ts", ' file="/tree/a/b.test.ts"', ""),
        case.format("/tree/f.test.mjs", "", '<failure message="no"/>'),
        case.format("parser.js", "", ""),
    )
    found = parse_results(f"<testsuites>{''.join(cases)}</testsuites>".encode())
    assert [one.id for one in found.tests] == ["/tree/f.test.mjs", "parser.js"]
