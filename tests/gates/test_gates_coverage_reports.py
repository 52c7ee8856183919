"""Reports of other tools are read; damaged and hostile ones are no reports."""

import pytest

from runner.gates.coverage import measurements
from runner.gates.coverage.lines import Lines, Measured, find_added_lines
from runner.gates.coverage.percent import weigh
from runner.gates.coverage.v8 import lines_run
from runner.languages.go.names import module_of

LCOV = """\
TN:
SF:src/a.js
DA:1,1
DA:2,0
DA:3,7,checksum
LF:3
end_of_record
SF:/elsewhere/b.js
DA:1,1
end_of_record
SF:src/a.js
DA:2,4
DA:9,0
"""
GO = """\
mode: set
example.org/shop/price.go:3.24,4.12 1 1
example.org/shop/price.go:4.12,6.3 1 0
example.org/other/x.go:1.1,2.2 1 1
"""


def inside(path):
    if path.startswith("/project/"):
        return path.removeprefix("/project/")
    return None if path.startswith("/") else path


def test_lcov_is_read_with_files_in_several_records():
    assert measurements.from_lcov(LCOV, inside) == {
        "src/a.js": Lines(frozenset({1, 2, 3, 9}), frozenset({1, 2, 3}))
    }


def test_go_profiles_are_read_by_block():
    def of_module(path):
        start = "example.org/shop/"
        return path.removeprefix(start) if path.startswith(start) else None

    assert measurements.from_go(GO, of_module) == {
        "price.go": Lines(frozenset({3, 4, 5, 6}), frozenset({3, 4}))
    }
    assert module_of("// x\nmodule example.org/shop\n\ngo 1.22\n") == "example.org/shop"
    assert module_of("") == ""


BOMB = """<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]>
<coverage><class filename="a.py"><line number="1" hits="&c;"/></class></coverage>"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "SF:a\nDA:x,1\nDA:-1,2\nDA:1e99,1\nDA:99999999999,1\nDA:nan,1",
        "\0" * 99,
        BOMB,
        "<coverage>",
        "<coverage><class><line/></class></coverage>",
        "<a>" * 20_000,
        "mode: set\na.go:1.1,9999999999999.1 1 1\na.go:x",
        "mode: set\n" + "a.go:1.1,900000.1 1 1\n" * 90,
        "mode: set\na.go:5.1,1.1 1 1",
    ],
)
def test_what_is_no_report_gives_nothing_and_never_a_crash(text):
    for read in (
        measurements.from_lcov,
        measurements.from_go,
    ):
        for lines in read(text, inside).values():
            assert max(lines.executable) <= 1_000_000


# --- V8's ranges ------------------------------------------------------------------------

SOURCE = """\
#!/usr/bin/env node
// words
export function used(x) {
  if (x) {
    return "\U0001d4b3";
  }
  return 2;
}

/* words
 */
function unused() {
  return 3;
}
"""


def test_the_innermost_range_wins():
    units = SOURCE.encode("utf-16-le")

    def at(text):
        return len(units[: units.index(text.encode("utf-16-le"))]) // 2

    body, never = at("{\n    return"), at("function unused")
    end = at("\n  return 2")
    ranges = [(0, len(units) // 2, 1), (at("function used"), at("\n\n/*"), 5)]
    ranges += [(body, end, 0), (never, at("\n  return 3") + 15, 0)]
    found = lines_run(SOURCE, sorted(ranges, key=lambda one: (one[0], -one[1])))
    assert found.executable == {3, 4, 5, 7, 12, 13}
    assert found.ran == {3, 4, 7}


def test_a_file_without_ranges_did_not_run():
    assert lines_run("x()\n", []) == Lines(frozenset({1}), frozenset())


# --- added lines ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        (None, b"a\nb\n", {1, 2, 3}),
        (b"", b"a\n", {1}),
        (b"a\nb\nc\n", b"a\nB\nc\n", {2}),
        (b"a\nb\n", b"a\nb\n", set()),
        (b"a\na\na\n", b"a\na\na\na\n", {4}),
        (b"a\nb\nc\n", b"a\nc\n", set()),
        (b"%d\n" * 9 % tuple(range(9)), b"y\n" + b"%d\n" * 9 % tuple(range(9)) + b"z\n", {1, 11}),
    ],
)
def test_added_lines_are_those_of_a_line_diff(before, after, added):
    assert find_added_lines(before, after) == added


def test_long_files_are_compared_in_bearable_time():
    old = [b"%d" % (number % 5_000) for number in range(30_000)]
    new = [b"first", *old[:15_000], b"middle", *old[15_000:], b"last"]
    assert {1, 15_002, 30_003} <= find_added_lines(b"\n".join(old), b"\n".join(new))


def test_code_of_a_language_that_nothing_measured_is_told_and_types_alone_are_not():
    files = {
        "src/lib.rs": b"// two\npub fn two() -> i32 { 2 }\n",
        "src/kind.rs": b"pub struct Kind;\n",
        "price.go": b"package price\nfunc one() int { return 1 }\n",
    }

    def told(own, measured=Measured()):  # noqa: B008 - never changed
        return [one[:2] for one in weigh(own, measured, files.get, {}).unmeasured]

    every = frozenset({1, 2})
    assert told(dict.fromkeys(files, every)) == [("Go", "price.go"), ("Rust", "src/lib.rs")]
    assert told({"src/lib.rs": frozenset({1}), "src/kind.rs": every}) == []
    seen = Measured(lines={"src/lib.rs": Lines(frozenset({2}), frozenset({2}))})
    assert told({"src/lib.rs": every}, seen) == []
