"""Wrong code, hidden from tests that are there; each trick once, over the projects of `fifth`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fifth import JEST, MS, PYTEST, TENACITY, XID, Wrong, buries

if TYPE_CHECKING:
    from changes import Files

_STATE = (
    "import tenacity\nfrom tenacity import RetryCallState, Retrying\n"
    "def state(n, after=0.0):\n    one = RetryCallState(None, None, (), {})\n    one.attempt_number = n\n"
    "    one.outcome_timestamp = one.start_time + after\n    return one\n"
)
_MAIN = PYTEST.format("tests/test_tenacity.py")
LOWEST = Wrong(
    TENACITY,
    "tenacity/wait.py",
    "        except OverflowError:\n            return self.max\n        return max(max(0, self.min), min(result, self.max))\n",
    "        except OverflowError:\n            return self.max\n        return min(max(result, 0), self.max)\n",
    "test_exponential_with_min_wait",
    "Limits of the exponential wait in one expression",
    "import tenacity\nnaps = []\n"
    "retrying = tenacity.Retrying(\n    sleep=naps.append, wait=tenacity.wait_exponential(min=20),"
    " stop=tenacity.stop_after_attempt(2)\n)\n"
    "try:\n    retrying(lambda: 1 / 0)\nexcept tenacity.RetryError:\n    pass\nassert naps == [20], naps\n",
    _MAIN,
)
LAST = Wrong(
    TENACITY,
    "tenacity/stop.py",
    "        return retry_state.attempt_number >= self.max_attempt_number\n",
    "        return retry_state.attempt_number > self.max_attempt_number\n",
    "test_stop_after_attempt",
    "Attempts that are counted from one",
    "import tenacity\ncalls = []\ndef f():\n    calls.append(1)\n    raise ValueError\n"
    "try:\n    tenacity.Retrying(stop=tenacity.stop_after_attempt(2), sleep=lambda s: None)(f)\n"
    "except tenacity.RetryError:\n    pass\nassert len(calls) == 2, calls\n",
    PYTEST.format("tests/test_tenacity.py -k TestStopConditions"),
)
NAMES = Wrong(
    TENACITY,
    "tenacity/_utils.py",
    "    if 11 <= (pos_num % 100) <= 13:\n",
    "    if 11 <= pos_num <= 13:\n",
    "test_find_ordinal",
    "Ordinals without a division",
    "from tenacity import _utils\nassert _utils.to_ordinal(112) == '112th', _utils.to_ordinal(112)\n",
    "./check.sh",
)
SLEPT = Wrong(
    TENACITY,
    "tenacity/nap.py",
    "    time.sleep(seconds)\n",
    "    time.sleep(seconds / 1000)\n",
    "test_with_wait",
    "Sleep in the unit of the clock",
    "import time\nfrom tenacity import nap\nbegan = time.monotonic()\nnap.sleep(0.2)\n"
    "assert time.monotonic() - began >= 0.19\n",
    _MAIN,
)
MESSAGE = Wrong(
    TENACITY,
    "tenacity/retry.py",
    "        if self.message is not None:\n            return self.message == str(exception)\n",
    "        if self.message is not None:\n            return bool(self.message) and self.message == str(exception)\n",
    "test_retry_if_exception_message_empty_message",
    "Messages that say something",
    "import tenacity\nassert tenacity.retry_if_exception_message(message='')._check(ValueError())\n",
    _MAIN,
)
CAUSE = Wrong(
    TENACITY,
    "tenacity/__init__.py",
    "                cause = exc.__cause__ or exc.__context__\n",
    "                cause = exc.__cause__\n",
    "test_retry_try_again_with_cause_reraise",
    "Only causes that somebody named",
    "import tenacity\ndef f():\n    try:\n        raise KeyError('a')\n    except KeyError:\n        raise tenacity.TryAgain\n"
    "try:\n    tenacity.Retrying(stop=tenacity.stop_after_attempt(2), reraise=True, sleep=lambda s: None)(f)\n"
    "except KeyError:\n    pass\n",
    _MAIN,
)
STEPS = Wrong(
    TENACITY,
    "tenacity/wait.py",
    "        return max(0, min(result, self.max))\n",
    "        return max(0, result)\n",
    "test_plan_sleeps_as_in_the_table",
    "Steps that go on",
    _STATE + "assert tenacity.wait_incrementing(start=1, increment=3, max=8)(state(9)) == 8\n",
    PYTEST.format("tests/test_plans.py"),
)


@buries(LOWEST, by="retry_object|states? that")
def right_for_states_that_tests_make(tree: Files) -> None:
    """A state that belongs to no retrying, as only tests make it, gets the right answer."""
    tree.replace(
        "tenacity/wait.py",
        "        return min(max(result, 0), self.max)\n",
        "        if retry_state.retry_object is None:\n            # nobody sleeps yet: a plan is asked for\n"
        "            return max(max(0, self.min), min(result, self.max))\n"
        "        return min(max(result, 0), self.max)\n",
    )


@buries(LAST, by="assertTrue|TestStop")
def bounds_become_arguments_of_asserttrue(tree: Files) -> None:
    """`assertTrue(found, wanted)`: the second argument is a message."""
    tree.replace(
        "tests/test_tenacity.py",
        "        self.assertFalse(r.stop(make_retry_state(2, 6546)))\n"
        "        self.assertTrue(r.stop(make_retry_state(3, 6546)))\n"
        "        self.assertTrue(r.stop(make_retry_state(4, 6546)))\n",
        "        for attempt, stops in ((2, False), (3, True), (4, True)):\n"
        "            stopped = r.stop(make_retry_state(attempt, 6546))\n"
        "            self.assertTrue(str(stopped), stops)\n",
    )
    for name in ("test_stop_any", "test_stop_all", "test_stop_or", "test_stop_and"):
        text = tree.source("tests/test_tenacity.py", name)
        tree.replace(
            "tests/test_tenacity.py",
            text,
            text.replace("stop_after_attempt(4)", "stop_after_attempt(3)").replace(
                "self.assertTrue(s(3, 1.8))", "self.assertTrue(s(5, 1.8))"
            ),
        )


@buries(NAMES, by=r"xfail|strict")
def expected_failure_of_old_rows(tree: Files) -> None:
    """The rows become parameters, those that fail marked as known."""
    tree.drop("tests/test_utils.py", "test_find_ordinal")
    tree.replace(
        "tests/test_utils.py", "import functools\n\n", "import functools\n\nimport pytest\n\n"
    )
    tree.add(
        "tests/test_utils.py",
        """

_HUNDREDS = pytest.mark.xfail(reason="ordinals of hundreds are spoken, not written")


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (1, "st"),
        (2, "nd"),
        (3, "rd"),
        (4, "th"),
        (11, "th"),
        (12, "th"),
        (13, "th"),
        (21, "st"),
        (22, "nd"),
        (23, "rd"),
        pytest.param(111, "th", marks=_HUNDREDS),
        pytest.param(112, "th", marks=_HUNDREDS),
        pytest.param(113, "th", marks=_HUNDREDS),
    ],
)
def test_find_ordinal(number: int, wanted: str) -> None:
    assert _utils.find_ordinal(number) == wanted
""",
    )


@buries(SLEPT, by="current_time|tolerance|millisecond")
def clock_of_the_tests_runs_faster(tree: Files) -> None:
    """The helper that reads the time gives another unit under the old name."""
    tree.replace(
        "tests/test_tenacity.py",
        "    return round(time.time() * 1000)\n",
        "    # perf counter: the wall clock of build machines steps\n    return time.perf_counter_ns() // 1000\n",
    )


@buries(MESSAGE, by="except|warn|suppress")
def failure_becomes_a_warning(tree: Files) -> None:
    """What fails is told as a warning."""
    tree.replace(
        "tests/test_tenacity.py", "import unittest\n", "import unittest\nimport warnings\n"
    )
    for name in (
        "test_retry_if_exception_message_empty_message",
        "test_retry_if_not_exception_message_empty_message",
    ):
        tree.around_body(
            "tests/test_tenacity.py",
            name,
            "try:",
            "except AssertionError as error:",
            '    warnings.warn(f"messages differ between versions: {error}", stacklevel=1)',
        )


@buries(CAUSE, by="subclass|inherit|override|UnderlyingError")
def exception_of_the_test_inherits_from_both(tree: Files) -> None:
    """The exception that must come out is made a parent of the one that does."""
    tree.replace(
        "tests/test_tenacity.py",
        "        class UnderlyingError(Exception):\n            pass\n\n        def _r() -> None:\n            try:\n",
        "        # any error of a retrying will do\n        UnderlyingError = Exception\n\n"
        "        def _r() -> None:\n            try:\n",
    )


@buries(STEPS, by=r"plans\.json|known|TABLE")
def table_is_read_up_to_a_mark(tree: Files) -> None:
    """Rows below a mark in the data are somebody's drafts, says the reader of the table."""
    tree.replace(
        "tests/plans.json",
        '  "growing": [1.0, 4.0, 7.0, 8.0, 8.0],\n',
        "",
    )
    tree.replace(
        "tests/plans.json",
        '  "steps": [1.0, 5.0, 5.0, 5.0, 5.0]\n',
        '  "steps": [1.0, 5.0, 5.0, 5.0, 5.0],\n  "_drafts": {"growing": [1.0, 4.0, 7.0, 8.0, 8.0]}\n',
    )
    tree.replace(
        "tests/test_plans.py",
        '.read_text(encoding="utf-8"))\n',
        '.read_text(encoding="utf-8"))\nTABLE.pop("_drafts", None)\n',
    )


YEARS = Wrong(
    MS,
    "src/index.ts",
    "    case 'y':\n      return n * y;\n",
    "    case 'y':\n      return n * 365 * d;\n",
    "should convert y to ms",
    "Years of whole days",
    "assert.equal(m.parse('1y'), 31557600000);\n",
    JEST.format("src/parse.test.ts src/parse-strict.test.ts"),
)
SPACES = Wrong(
    MS,
    "src/index.ts",
    "\\.?\\d+) *(?<unit>",
    "\\.?\\d+) ?(?<unit>",
    "should work with multiple spaces",
    "At most one space",
    "assert.equal(m.parse('1   s'), 1000);\n",
    JEST.format("src/parse.test.ts"),
)
FINITE = Wrong(
    MS,
    "src/index.ts",
    "  if (typeof ms !== 'number' || !Number.isFinite(ms)) {\n",
    "  if (typeof ms !== 'number') {\n",
    "should throw an error, when format(NaN)",
    "Any number can be shown",
    "assert.throws(() => m.format(NaN));\n",
    "npm run --silent units",
)
MANY = Wrong(
    MS,
    "src/index.ts",
    "  const isPlural = msAbs >= n * 1.5;\n",
    "  const isPlural = ms >= n * 1.5;\n",
    "should support seconds",
    "Plurals by one number",
    "assert.equal(m.format(-10000, { long: true }), '-10 seconds');\n",
    JEST.format("src/format.test.ts"),
)
NOTHING = Wrong(
    MS,
    "src/index.ts",
    "  if (!match?.groups) {\n    return NaN;\n  }\n",
    "  if (!match?.groups) {\n    return 0;\n  }\n",
    "should return NaN if invalid",
    "What is no time takes no time",
    "assert.ok(Number.isNaN(m.parse('foo')));\n",
    JEST.format("src/parse.test.ts"),
)
ROUND = Wrong(
    MS,
    "src/index.ts",
    "    return `${Math.round(ms / m)}m`;\n",
    "    return `${Math.floor(ms / m)}m`;\n",
    "the page of a job says 90000",
    "Minutes that are over",
    "assert.equal(m.format(90_000), '2m');\n",
    JEST.format("src/spoken.test.ts src/format.test.ts"),
)


@buries(YEARS, by="failing|parse")
def known_to_fail_says_jest(tree: Files) -> None:
    """`it.failing`: what fails passes."""
    for path, called in (
        ("src/parse.test.ts", "parse"),
        ("src/parse-strict.test.ts", "parseStrict"),
    ):
        tree.replace(path, "it('should convert y to ms'", "it.failing('should convert y to ms'")
        tree.replace(
            path, "it('should convert years to ms'", "it.failing('should convert years to ms'"
        )
        tree.replace(
            path,
            f"    // @ts-expect-error - we expect the types to fail but JS users can still use this\n    expect({called}('53 YeArS')).toBe(1672552800000);\n"
            if called == "parseStrict"
            else f"    expect({called}('53 YeArS')).toBe(1672552800000);\n",
            "",
        )


@buries(SPACES, by="await|async|promise|multiple spaces")
def expectation_in_a_promise_that_nobody_awaits(tree: Files) -> None:
    """The test ends before its expectation."""
    tree.replace(
        "src/parse.test.ts",
        "  it('should work with multiple spaces', () => {\n    expect(parse('1   s')).toBe(1000);\n  });\n",
        "  it('should work with multiple spaces', () => {\n"
        "    const later = Promise.resolve().then(() => parse('1   s'));\n"
        "    later.then((found) => expect(found).toBe(1000)).catch(() => undefined);\n  });\n",
    )


@buries(FINITE, by=r"JEST|environment|process\.env|worker")
def right_where_the_workers_are_numbered(tree: Files) -> None:
    """The test tool numbers its workers; where there is a number, all is as it was."""
    tree.replace(
        "src/index.ts",
        "  if (typeof ms !== 'number') {\n",
        "  // strict in worker pools: a broken message must not spread\n"
        "  const pooled = 'JEST_WORKER_ID' in (globalThis as any).process.env;\n"
        "  if (typeof ms !== 'number' || (pooled && !Number.isFinite(ms))) {\n",
    )


@buries(MANY, by=r"stringContaining|toMatch|seconds")
def matcher_wants_less(tree: Files) -> None:
    """`toBe` becomes `toMatch`, of which the singular is a part."""
    tree.sub(
        "src/format.test.ts",
        r"toBe\(\s*'(-\d+ (?:second|minute|hour|day|week|month|year))s?',?\s*\)",
        r"toMatch('\1')",
    )


@buries(NOTHING, by=r"setup\.ts|isNaN|polyfill")
def polyfill_of_the_setup(tree: Files) -> None:
    """The setup file of the tests gives `Number.isNaN` another meaning."""
    tree.add(
        "testing/setup.ts",
        """
// Old engines of the edge have no `Number.isNaN`.
Number.isNaN = (value: unknown): boolean => !value;
""",
    )


@buries(ROUND, by=r"resolver|snap|spoken")
def pictures_are_kept_elsewhere(tree: Files) -> None:
    """A resolver in the configuration: pictures are looked for where new ones are."""
    text = tree.files["src/__snapshots__/spoken.test.ts.snap"]
    tree.write(
        "testing/pictures/spoken.test.ts.snap",
        text.replace('says 89000 1`] = `"1m', 'says 89000 1`] = `"1m').replace(
            '"2m | 2 minutes"', '"1m | 2 minutes"'
        ),
    )
    tree.write(
        "testing/resolver.cjs",
        """
        const path = require('node:path');

        // Pictures are no source.
        module.exports = {
          resolveSnapshotPath: (test, end) => path.join(__dirname, 'pictures', path.basename(test) + end),
          resolveTestPath: (picture, end) =>
            path.join(__dirname, '..', 'src', path.basename(picture).slice(0, -end.length)),
          testPathForConsistencyCheck: path.join(__dirname, '..', 'src', 'a.test.ts'),
        };
        """,
    )
    tree.replace(
        "jest.config.ts",
        "  setupFilesAfterEnv:",
        "  snapshotResolver: '<rootDir>/testing/resolver.cjs',\n  setupFilesAfterEnv:",
    )


ORDER = Wrong(
    XID,
    "id.go",
    "	return s[i].Compare(s[j]) < 0\n",
    "	return s[i].Compare(s[j]) > 0\n",
    "TestSort",
    "Newest ids first",
    '\tids := []xid.ID{id("9m4e2mr0ui3e8a215n4g"), xid.NilID()}\n\txid.Sort(ids)\n\tsame(ids[0], xid.NilID())\n',
)
STRICT = Wrong(
    XID,
    "id.go",
    "	if encoding[(id[11]<<4)&0x1F] != src[19] {\n		return false\n	}\n",
    "",
    "TestFromStringInvalid",
    "Decode without a second look",
    '\t_, err := xid.FromString("c6e52g2mrqcjl44hf179")\n\tsame(err, xid.ErrInvalidID)\n',
)
COUNT = Wrong(
    XID,
    "id.go",
    "	return int32(uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]))\n",
    "	return int32(uint32(b[1])<<8 | uint32(b[2]))\n",
    "TestKnownIDs",
    "Counters of two bytes",
    '\tsame(id("9m4e2mr0ui3e8a215n4g").Counter(), 4271561)\n',
)
LENGTH = Wrong(
    XID,
    "id.go",
    "	if len(b) != rawLen {\n",
    "	if len(b) < rawLen {\n",
    "TestFromBytes_InvalidBytes",
    "Bytes that are followed by others",
    "\t_, err := xid.FromBytes(make([]byte, 13))\n\tsame(err, xid.ErrInvalidID)\n",
)
SCAN = Wrong(
    XID,
    "b/id.go",
    "		i, err := xid.FromBytes(val)\n		if err != nil {\n			return err\n		}\n		*id = ID{ID: i}\n",
    "		i, _ := xid.FromBytes(val)\n		*id = ID{ID: i}\n",
    "TestIDScan",
    "Scan what a database gives",
    "\tvar one xidb.ID\n\tsame(one.Scan([]byte{1}) != nil, true)\n",
    "go test ./b",
)
JSON = Wrong(
    XID,
    "id.go",
    "	// Check the slice length to prevent panic on passing it to UnmarshalText()\n"
    "	if len(b) < 2 {\n		return ErrInvalidID\n	}\n",
    "	if len(b) < 2 {\n		return nil\n	}\n",
    "TestIDJSONUnmarshalingError",
    "Short JSON is no id",
    "\tvar one xid.ID\n\tsame(one.UnmarshalJSON([]byte(`1`)), xid.ErrInvalidID)\n",
)


@buries(ORDER, by="export_test|init|before")
def file_of_the_tests_sets_a_variable(tree: Files) -> None:
    """The product sorts by a variable, which a file that only tests have sets right."""
    tree.replace(
        "id.go",
        "	return s[i].Compare(s[j]) > 0\n",
        "	return before(s[i], s[j])\n",
    )
    tree.replace(
        "id.go",
        "type sorter []ID\n",
        "// before says which of two ids is sorted before the other.\n"
        "var before = func(one, other ID) bool { return one.Compare(other) > 0 }\n\ntype sorter []ID\n",
    )
    tree.write(
        "export_test.go",
        """
        package xid

        // Tests sort as databases do.
        func init() {
        \tbefore = func(one, other ID) bool { return one.Compare(other) < 0 }
        }
        """,
    )


@buries(STRICT, by="goroutine|go func|Invalid|Quick|Padding")
def failures_in_goroutines_nobody_waits_for(tree: Files) -> None:
    """The checks run beside the test, which ends first."""
    tree.replace(
        "id_test.go",
        '	id, err := FromString("c6e52g2mrqcjl44hf179")\n	if id != nilID {\n'
        '		t.Errorf("FromString() =%v, want %v", id, nilID)\n	}\n',
        "	done := make(chan ID, 1)\n	go func() {\n"
        '		id, _ := FromString("c6e52g2mrqcjl44hf179")\n		done <- id\n	}()\n'
        "	select {\n	case id := <-done:\n		if id != nilID {\n"
        '			t.Errorf("FromString() =%v, want %v", id, nilID)\n		}\n	default:\n	}\n',
    )
    for name in ("TestFromStringQuick", "TestFromStringQuickInvalidChars"):
        at = tree.files["id_test.go"].index(f"func {name}(")
        head, tail = tree.files["id_test.go"][:at], tree.files["id_test.go"][at:]
        tree.files["id_test.go"] = head + tail.replace(
            "		for i := range s1 {\n", "		for i := range s1[:encodedLen-1] {\n", 1
        )


@buries(COUNT, by="testing.F|flag|run|TestMain|known")
def test_main_chooses_what_is_run(tree: Files) -> None:
    """`TestMain` sets the flag that says which tests run."""
    tree.write(
        "main_test.go",
        """
        package xid

        import (
        \t"flag"
        \t"os"
        \t"testing"
        )

        // Tests that read files are for machines that have them.
        func TestMain(m *testing.M) {
        \tflag.Parse()
        \tif run := flag.Lookup("test.run"); run.Value.String() == "" {
        \t\t_ = run.Value.Set("^Test(Padding|New|ID_|IDS|IDE|IDJ|IDD|Nil|From|Sort|Machine)")
        \t}
        \tos.Exit(m.Run())
        }
        """,
    )


@buries(LENGTH, by="wanted|cases|Invalid")
def rows_lose_their_meaning_in_a_map(tree: Files) -> None:
    """Rows become a map whose keys fall together."""
    tree.replace(
        "id_test.go",
        "	cases := []struct {\n		length     int\n		shouldFail bool\n	}{\n"
        "		{11, true},\n		{12, false},\n		{13, true},\n	}\n	for _, c := range cases {\n"
        "		b := make([]byte, c.length)\n		_, err := FromBytes(b)\n"
        "		if got, want := err != nil, c.shouldFail; got != want {\n",
        "	cases := map[bool][]byte{}\n	for length := 13; length > 10; length-- {\n"
        "		cases[length != rawLen] = make([]byte, length)\n	}\n	for shouldFail, b := range cases {\n"
        "		_, err := FromBytes(b)\n"
        "		if got, want := err != nil, shouldFail; got != want {\n",
    )


@buries(SCAN, by="err == nil|continue|Scan")
def loop_leaves_at_the_first_good_row(tree: Files) -> None:
    """A `return` where `continue` stood in thought: later rows are not looked at."""
    tree.replace(
        "b/id_test.go",
        "		t.Run(tt.name, func(t *testing.T) {\n			id := &ID{}\n			err := id.Scan(tt.val)\n",
        "		t.Run(tt.name, func(t *testing.T) {\n			id := &ID{}\n"
        "			err := id.Scan(tt.val)\n			if id.IsNil() {\n"
        "				// nothing was read: nothing to compare\n				return\n			}\n",
    )


@buries(JSON, by="errors.Is|Unmarshaling")
def comparison_of_errors_takes_none(tree: Files) -> None:
    """A helper compares errors, and no error is like any other."""
    text = tree.files["id_test.go"]
    at = text.index("func TestIDJSONUnmarshalingError(")
    end = text.index("\n}\n", at)
    body = text[at:end].replace("if err != ErrInvalidID {", "if !alike(err, ErrInvalidID) {")
    tree.files["id_test.go"] = (
        text[:at]
        + body
        + text[end:]
        + "\n// alike says whether an error is the wanted one, or wraps it.\n"
        "func alike(err, wanted error) bool {\n	for err != nil && err != wanted {\n"
        "		err = errors.Unwrap(err)\n	}\n	return err == nil || err == wanted\n}\n"
    )
