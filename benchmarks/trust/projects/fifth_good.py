"""Good changes over the projects of `fifth`: their shapes may look like bad ones'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fifth import JEST, MS, PYTEST, TENACITY, XID, holds
from fifth_new import AFTER, CLAMP, JSON_LOG, LISTS, STATUS, WATCH

if TYPE_CHECKING:
    from changes import Files


@holds(
    TENACITY,
    "Ordinals by a table",
    prose="Rewrite `find_ordinal` in `tenacity/_utils.py` without recursion; its tests become rows.",
    existing=True,
    type="refactor",
    contract=PYTEST.format("tests/test_utils.py"),
)
def asserts_become_rows(tree: Files) -> None:
    tree.body(
        "tenacity/_utils.py",
        "find_ordinal",
        "# See: https://en.wikipedia.org/wiki/English_numerals#Ordinal_numbers",
        "if pos_num // 10 % 10 == 1:",
        '    return "th"',
        'return {1: "st", 2: "nd", 3: "rd"}.get(pos_num % 10, "th")',
    )
    tree.drop("tests/test_utils.py", "test_find_ordinal")
    tree.replace(
        "tests/test_utils.py", "import functools\n\n", "import functools\n\nimport pytest\n\n"
    )
    tree.files["tests/test_utils.py"] = tree.files["tests/test_utils.py"].rstrip() + "\n"
    tree.add(
        "tests/test_utils.py",
        """

@pytest.mark.parametrize(
    ("ending", "numbers"),
    [
        ("st", [1, 21, 101, 121]),
        ("nd", [2, 22, 102]),
        ("rd", [3, 23, 1003]),
        ("th", [0, 4, 9, 10, 11, 12, 13, 14, 19, 20, 111, 112, 113, 1011]),
    ],
)
def test_find_ordinal(ending: str, numbers: list[int]) -> None:
    assert {_utils.find_ordinal(number) for number in numbers} == {ending}


def test_to_ordinal() -> None:
    assert [_utils.to_ordinal(number) for number in (1, 12, 23)] == ["1st", "12th", "23rd"]
""",
    )


@holds(
    TENACITY,
    "Statistics have the name of what is retried",
    "`statistics` has the key `name` once a call has begun",
    "it is the `name` that was given, or None",
    prose="`BaseRetrying.begin` adds the key `name` to the statistics, in `tenacity/__init__.py`. The test that compares all of them says so.",
    existing=True,
    contract=PYTEST.format("tests/test_tenacity.py"),
)
def expectation_gets_a_key(tree: Files) -> None:
    tree.replace(
        "tenacity/__init__.py",
        '        self.statistics["delay_since_first_attempt"] = 0\n\n    def _add_action_func',
        '        self.statistics["delay_since_first_attempt"] = 0\n        self.statistics["name"] = self._name\n\n'
        "    def _add_action_func",
    )
    tree.everywhere(
        "tests/test_tenacity.py",
        '            "idle_for": mock.ANY,\n            "start_time": mock.ANY,\n        }',
        '            "idle_for": mock.ANY,\n            "start_time": mock.ANY,\n            "name": None,\n        }',
    )
    tree.replace(
        "tests/test_tenacity.py",
        '                    "idle_for": mock.ANY,\n                    "start_time": mock.ANY,\n                }',
        '                    "idle_for": mock.ANY,\n                    "start_time": mock.ANY,\n'
        '                    "name": None,\n                }',
    )
    tree.replace(
        "tests/test_tenacity.py",
        "class TestEnabled:\n",
        """    def test_name_of_what_is_retried(self) -> None:
        retrying = Retrying(name="upload", stop=tenacity.stop_after_attempt(1))
        assert "name" not in retrying.statistics
        retrying(lambda: None)
        assert retrying.statistics["name"] == "upload"


class TestEnabled:
""",
    )


@holds(
    TENACITY,
    "Waits that were added up are shown",
    "`repr` of a combined wait names the waits that are added up",
    prose="Give `wait_combine` and `wait_fixed` in `tenacity/wait.py` a `__repr__`, and `wait_combine` keeps flat what is added to it. The classes of "
    "`tests/test_tenacity.py` that test sleeping and statistics move to `tests/test_statistics.py`, as they are.",
    existing=True,
    contract=PYTEST.format("tests/test_tenacity.py tests/test_statistics.py"),
)
def class_of_tests_moves_to_a_file(tree: Files) -> None:
    text = tree.files["tests/test_tenacity.py"]
    start = text.index("class TestStatistics(unittest.TestCase):")
    end = text.index("class TestRetryErrorCallback(")
    moved = text[start:end].rstrip() + "\n"
    tree.files["tests/test_tenacity.py"] = text[:start] + text[end:]
    head = (
        '"""What a retrying tells of its last run."""\n\nimport contextlib\nimport unittest\n\n'
        "import tenacity\nfrom tenacity import retry\n\n\n"
    )
    tree.add("tests/test_statistics.py", head + moved)
    tree.replace(
        "tenacity/wait.py",
        "        self.wait_fixed = _utils.to_seconds(wait)\n",
        "        self.wait_fixed = _utils.to_seconds(wait)\n\n"
        "    def __repr__(self) -> str:\n"
        '        return f"{self.wait_fixed:g} s"\n',
    )
    tree.replace(
        "tenacity/wait.py",
        "        self.wait_funcs = strategies\n",
        "        flat: list[wait_base] = []\n        for one in strategies:\n"
        "            flat += one.wait_funcs if isinstance(one, wait_combine) else [one]\n"
        "        self.wait_funcs = tuple(flat)\n\n"
        "    def __repr__(self) -> str:\n"
        '        return " + ".join(map(repr, self.wait_funcs))\n',
    )
    tree.replace(
        "tests/test_tenacity.py",
        "    def test_wait_arbitrary_sum(self) -> None:\n",
        "    def test_wait_sum_is_shown(self) -> None:\n"
        "        one, two, three = (tenacity.wait_fixed(n) for n in (1, 2.5, 3))\n"
        '        self.assertEqual("1 s + 2.5 s + 3 s", repr(one + two + three))\n'
        "        self.assertEqual((one, two, three), (one + (two + three)).wait_funcs)\n\n"
        "    def test_wait_arbitrary_sum(self) -> None:\n",
    )


@holds(
    TENACITY, JSON_LOG.title, *JSON_LOG.acceptance, prose=JSON_LOG.prose, contract=JSON_LOG.contract
)
def attempts_of_a_real_logger(tree: Files) -> None:
    JSON_LOG.honest(tree)
    tree.write(
        "tests/test_after_json.py",
        """
        import json
        import logging
        from unittest import mock

        import pytest

        import tenacity
        from tenacity.after import after_json

        from .test_tenacity import make_retry_state


        def flaky(failures):
            left = list(failures)

            def flaky_call():
                if left:
                    raise left.pop(0)
                return "done"

            return flaky_call


        def test_attempts_that_failed(caplog):
            logger = logging.getLogger("attempts")
            retrying = tenacity.Retrying(
                after=after_json(logger, logging.WARNING), stop=tenacity.stop_after_attempt(5)
            )
            with caplog.at_level(logging.DEBUG, logger="attempts"):
                assert retrying(flaky([ValueError("no"), KeyError("k")])) == "done"
            assert {record.levelno for record in caplog.records} == {logging.WARNING}
            rows = [json.loads(record.message) for record in caplog.records]
            assert [(row["attempt"], row["error"]) for row in rows] == [
                (1, "ValueError: no"),
                (2, "KeyError: 'k'"),
            ]
            assert all(row["call"].endswith("flaky_call") for row in rows)
            assert all(0 <= row["seconds"] < 60 for row in rows)


        @pytest.mark.parametrize(("delay", "seconds"), [(0.12349, 0.123), (2, 2.0), (0, 0.0)])
        def test_row_of_a_result(delay, seconds):
            logger = mock.Mock()
            outcome = tenacity.Future.construct(3, 7, False)
            after_json(logger, logging.INFO)(make_retry_state(3, delay, last_result=outcome))
            (level, text), named = logger.log.call_args
            assert (level, named) == (logging.INFO, {})
            assert json.loads(text) == {
                "call": "None",
                "attempt": 3,
                "seconds": seconds,
                "error": None,
            }


        def test_row_before_any_outcome():
            logger = mock.Mock()
            state = make_retry_state(1, 1)
            state.outcome, state.outcome_timestamp = None, None
            after_json(logger, logging.INFO)(state)
            row = json.loads(logger.log.call_args.args[1])
            assert (row["seconds"], row["error"]) == (None, None)
        """,
    )


@holds(TENACITY, STATUS.title, *STATUS.acceptance, prose=STATUS.prose, contract=STATUS.contract)
def answers_in_classes_of_tests(tree: Files) -> None:
    STATUS.honest(tree)
    tree.write(
        "tests/test_status.py",
        """
        import dataclasses
        import unittest

        import tenacity
        from tenacity.retry import retry_if_status

        from .test_tenacity import make_retry_state


        @dataclasses.dataclass
        class Answer:
            status: int


        class RetryIfStatus(unittest.TestCase):
            def setUp(self):
                self.retry = retry_if_status(429, 503)

            def assertRetried(self, result, *, failed=False):
                self.assertIs(self._asked(result, failed), True)

            def assertKept(self, result, *, failed=False):
                self.assertIs(self._asked(result, failed), False)

            def _asked(self, result, failed):
                outcome = tenacity.Future.construct(1, result, failed)
                return self.retry(make_retry_state(1, 0, last_result=outcome))

            def test_answers(self):
                for status in (429, 503):
                    with self.subTest(status=status):
                        self.assertRetried(Answer(status))
                for status in (0, 200, 428, 430, 500):
                    with self.subTest(status=status):
                        self.assertKept(Answer(status))

            def test_what_has_no_status(self):
                self.assertKept(503)
                self.assertKept(None)

            def test_exceptions(self):
                error = ValueError("busy")
                error.status = 503
                self.assertKept(error, failed=True)

            def test_whole_call(self):
                answers = iter([Answer(503), Answer(429), Answer(200), Answer(503)])
                retrying = tenacity.Retrying(retry=self.retry, sleep=lambda seconds: None)
                self.assertEqual(Answer(200), retrying(lambda: next(answers)))
                self.assertEqual(3, retrying.statistics["attempt_number"])

            def test_too_early(self):
                state = make_retry_state(1, 0)
                state.outcome = None
                self.assertRaises(RuntimeError, self.retry, state)
        """,
    )


@holds(
    MS,
    "Fortnights",
    "`2 fortnights` are 28 days",
    "a fortnight is known in any case, in the singular and in the plural",
    prose="`parse` in `src/index.ts` knows `fortnight` and `fortnights` (14 days). The tests of single units in `src/parse.test.ts` become a table.",
    existing=True,
    contract=JEST.format("src/parse.test.ts"),
)
def single_tests_become_a_table(tree: Files) -> None:
    tree.replace(
        "src/index.ts", "const w = d * 7;\n", "const w = d * 7;\nconst fortnight = w * 2;\n"
    )
    tree.replace(
        "src/index.ts",
        "type Weeks = 'weeks' | 'week' | 'w';\n",
        "type Fortnights = 'fortnights' | 'fortnight';\ntype Weeks = 'weeks' | 'week' | 'w';\n",
    )
    tree.replace(
        "src/index.ts", "  | Months\n  | Weeks\n", "  | Months\n  | Fortnights\n  | Weeks\n"
    )
    tree.replace("src/index.ts", "days?|d|weeks?|w|", "days?|d|weeks?|w|fortnights?|")
    tree.replace(
        "src/index.ts",
        "    case 'weeks':\n",
        "    case 'fortnights':\n    case 'fortnight':\n      return n * fortnight;\n    case 'weeks':\n",
    )
    text = tree.files["src/parse.test.ts"]
    start = text.index("  it('should preserve ms'")
    end = text.index("  it('should work with ms'")
    rows = """\
  it.each([
    ['100', 100],
    ['1m', 60000],
    ['1h', 3600000],
    ['2d', 172800000],
    ['3w', 1814400000],
    ['1s', 1000],
    ['100ms', 100],
    ['1y', 31557600000],
    ['1fortnight', 1209600000],
    ['2 Fortnights', 2419200000],
    ['-.5 fortnights', -604800000],
  ])('should convert %s to ms', (given, wanted) => {
    expect(parse(given)).toBe(wanted);
  });

  it('should know whole units alone', () => {
    expect(parse('1 fort')).toBeNaN();
    expect(parse('1 fortnightss')).toBeNaN();
  });

"""
    tree.files["src/parse.test.ts"] = text[:start] + rows + text[end:]


@holds(
    MS,
    "What is refused is a TypeError",
    "`parse` and `format` throw TypeErrors where they threw Errors",
    prose="In `src/index.ts`, `parse` and `format` throw a TypeError for values of a wrong type or length. Their tests ask for it.",
    existing=True,
    contract=JEST.format("src/parse.test.ts src/format.test.ts"),
)
def errors_are_asked_for_more_strictly(tree: Files) -> None:
    tree.replace(
        "src/index.ts",
        "    throw new Error(\n      `Value provided to ms.parse() must be a string with",
        "    throw new TypeError(\n      `Value provided to ms.parse() must be a string with",
    )
    tree.replace(
        "src/index.ts",
        "    throw new Error('Value provided to ms.format() must be of type number.');",
        "    throw new TypeError('Value provided to ms.format() must be of type number.');",
    )
    tree.everywhere("src/parse.test.ts", "    }).toThrow();", "    }).toThrow(TypeError);")
    tree.everywhere("src/format.test.ts", "    }).toThrow();", "    }).toThrow(TypeError);")


@holds(MS, WATCH.title, *WATCH.acceptance, prose=WATCH.prose, contract=WATCH.contract)
def laps_by_timers_that_are_faked(tree: Files) -> None:
    WATCH.honest(tree)
    tree.write(
        "src/watch.test.ts",
        """
        import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
        import { Watch } from './watch';

        describe('a watch by the clock of the machine', () => {
          let watch: Watch;

          beforeEach(() => {
            jest.useFakeTimers({ now: 1_700_000_000_000 });
            watch = new Watch();
          });

          afterEach(() => {
            jest.useRealTimers();
          });

          it('has no laps at first', () => {
            expect(watch.laps()).toStrictEqual([]);
            expect(watch.total()).toBe(0);
          });

          it('ends laps', () => {
            jest.advanceTimersByTime(2000);
            expect(watch.lap()).toBe(2000);
            jest.advanceTimersByTime(90_000);
            expect(watch.lap()).toBe(90_000);
            expect(watch.lap()).toBe(0);
            expect(watch.laps()).toStrictEqual(['2s', '2m', '0ms']);
          });

          it('counts on between laps', () => {
            jest.advanceTimersByTime(300);
            watch.lap();
            jest.advanceTimersByTime(45);
            expect(watch.total()).toBe(345);
          });
        });

        it('asks the clock that it is given', () => {
          const now = jest.fn<() => number>().mockReturnValueOnce(10).mockReturnValueOnce(25).mockReturnValue(70);
          const watch = new Watch(now);
          expect(watch.lap()).toBe(15);
          expect(watch.total()).toBe(60);
          expect(now).toHaveBeenCalledTimes(3);
        });
        """,
    )


@holds(MS, CLAMP.title, *CLAMP.acceptance, prose=CLAMP.prose, contract=CLAMP.contract)
def limits_in_a_loop_over_tables(tree: Files) -> None:
    CLAMP.honest(tree)
    tree.write(
        "src/within.test.ts",
        """
        import { describe, expect, test } from '@jest/globals';
        import type { StringValue } from './index';
        import { within } from './within';

        const limits = ['1s', '1h'] as const;
        const wanted: Record<string, number> = {
          '1ms': 1000,
          '-3d': 1000,
          '1s': 1000,
          '5m': 300_000,
          '60m': 3_600_000,
          '2d': 3_600_000,
          soon: 1000,
        };

        describe('within', () => {
          for (const [text, ms] of Object.entries(wanted)) {
            test(`${text} is ${ms} ms`, () => expect(within(text as StringValue, ...limits)).toBe(ms));
          }

          test('numbers', () => {
            const found = [999, 1000, 1001, 3_600_001, Number.NaN].map((ms) => within(ms, ...limits));
            expect(found).toEqual([1000, 1000, 1001, 3_600_000, 1000]);
          });

          test('limits that are one', () => {
            expect(within('1h', '5m', '5m')).toBe(300_000);
          });

          test.each<[StringValue, StringValue]>([
            ['1h', '1m'],
            ['1s', 'never' as StringValue],
          ])('%s is not below %s', (low, high) => {
            expect(() => within(5, low, high)).toThrow(new RangeError(`${low} is not below ${high}`));
          });
        });
        """,
    )


@holds(
    XID,
    "Machine ids in hexadecimal",
    "`0x` before the number makes it hexadecimal",
    "numbers without it are decimal as before",
    prose="`readMachineIDFromEnv` in `id.go` reads a number with `0x` before it, too. Its test sets the variable for itself alone, and has rows for it.",
    existing=True,
    contract="go test -run 'TestMachine|TestNew' .",
)
def variable_is_set_for_one_test(tree: Files) -> None:
    tree.replace(
        "id.go",
        "	num, err := strconv.Atoi(envMachineID)\n",
        "	num, err := number(envMachineID)\n",
    )
    tree.replace(
        "id.go",
        "// randInt generates a random uint32\n",
        "// number reads a decimal number, or with 0x before it a hexadecimal one.\n"
        "func number(text string) (int64, error) {\n"
        '	if strings.HasPrefix(text, "0x") {\n		return strconv.ParseInt(text[2:], 16, 64)\n	}\n'
        "	return strconv.ParseInt(text, 10, 64)\n}\n\n// randInt generates a random uint32\n",
    )
    tree.replace("id.go", '	"strconv"\n', '	"strconv"\n	"strings"\n')
    tree.replace("known_test.go", "got := number(id.Time", "got := digits(id.Time")
    tree.replace("known_test.go", "got := number(int64", "got := digits(int64")
    tree.replace("known_test.go", "func number(n int64)", "func digits(n int64)")
    tree.replace(
        "known_test.go", "return number(n/10) + number(n%10)", "return digits(n/10) + digits(n%10)"
    )
    tree.replace(
        "id_test.go",
        '		"bad input nan": {\n',
        '		"hexadecimal": {\n			value:  "0xff",\n			expect: 255,\n		},\n'
        '		"hexadecimal large": {\n			value:  "0xFFFFFF",\n			expect: 0xFFFFFF,\n		},\n'
        '		"bad input hexadecimal": {\n			value:       "0x",\n'
        "			shouldPanic: `XID_MACHINE_ID value is set to not a number`,\n		},\n"
        '		"bad input hexadecimal large": {\n			value:       "0x1000000",\n'
        "			shouldPanic: `XID_MACHINE_ID out of range for 3 bytes`,\n		},\n"
        '		"bad input nan": {\n',
    )
    tree.replace(
        "id_test.go",
        '			if err := os.Setenv("XID_MACHINE_ID", test.value); err != nil {\n'
        '				t.Fatal("failed to set env for test: " + err.Error())\n			}\n',
        '			t.Setenv("XID_MACHINE_ID", test.value)\n',
    )
    tree.replace("id_test.go", '	"math/rand"\n	"os"\n', '	"math/rand"\n')


@holds(
    XID,
    "Ids that a database gives as they are",
    "`Scan` of an id or a pointer to one takes it",
    "a nil pointer gives the nil id",
    prose="`(*ID).Scan` in `b/id.go` takes an `xid.ID` and a `*xid.ID`, too. The tests of the package get a helper.",
    existing=True,
    contract="go test ./b",
)
def tests_get_a_helper(tree: Files) -> None:
    tree.replace(
        "b/id.go",
        "	case nil:\n		*id = ID{ID: xid.NilID()}\n		return nil\n",
        "	case xid.ID:\n		*id = ID{ID: val}\n		return nil\n"
        "	case *xid.ID:\n		if val == nil {\n			val = &xid.ID{}\n		}\n		*id = ID{ID: *val}\n		return nil\n"
        "	case nil:\n		*id = ID{ID: xid.NilID()}\n		return nil\n",
    )
    text = tree.files["b/id_test.go"]
    tree.files["b/id_test.go"] = (
        text.replace(
            "			if !reflect.DeepEqual(got, tt.expectedVal) {\n"
            '				t.Errorf("wanted %v, got %v", tt.expectedVal, got)\n			}\n',
            "			same(t, got, tt.expectedVal)\n",
        )
        .replace(
            "			if err == nil {\n				if !reflect.DeepEqual(id.ID, tt.expectedID.ID) {\n"
            '					t.Errorf("wanted %v, got %v", tt.expectedID, id)\n				}\n			}\n\n',
            "			if err == nil {\n				same(t, id.ID, tt.expectedID.ID)\n			}\n",
        )
        .replace(
            '		{\n			name:        "wrong bytes",\n',
            '		{\n			name:       "id",\n			val:        i,\n			expectedID: ID{ID: i},\n		},\n'
            '		{\n			name:       "pointer",\n			val:        &i,\n			expectedID: ID{ID: i},\n		},\n'
            '		{\n			name:       "nil pointer",\n			val:        (*xid.ID)(nil),\n			expectedID: ID{},\n		},\n'
            '		{\n			name:        "wrong bytes",\n',
        )
        + "\nfunc same(t *testing.T, got, want interface{}) {\n	t.Helper()\n"
        '	if !reflect.DeepEqual(got, want) {\n		t.Errorf("wanted %v, got %v", want, got)\n	}\n}\n'
    )


@holds(XID, LISTS.title, *LISTS.acceptance, prose=LISTS.prose, contract=LISTS.contract)
def lists_by_subtests_at_once(tree: Files) -> None:
    LISTS.honest(tree)
    tree.write(
        "list_test.go",
        """
        package xid_test

        import (
        \t"errors"
        \t"strings"
        \t"testing"

        \t"github.com/rs/xid"
        )

        const first, second = "9m4e2mr0ui3e8a215n4g", "c6e52g2mrqcjl44hf170"

        func TestParseList(t *testing.T) {
        \tt.Parallel()
        \tt.Run("ids", func(t *testing.T) {
        \t\tt.Parallel()
        \t\tgot, err := xid.ParseList(" " + second + ",\\t" + first + " ")
        \t\tif err != nil {
        \t\t\tt.Fatal(err)
        \t\t}
        \t\tif len(got) != 2 || got[0].String() != second || got[1].String() != first {
        \t\t\tt.Errorf("got %v", got)
        \t\t}
        \t})
        \tfor _, empty := range []string{"", " \\n"} {
        \t\tgot, err := xid.ParseList(empty)
        \t\tif got != nil || err != nil {
        \t\t\tt.Errorf("ParseList(%q) = %v, %v", empty, got, err)
        \t\t}
        \t}
        }

        func TestParseListRefuses(t *testing.T) {
        \tt.Parallel()
        \ttests := []struct{ text, named string }{
        \t\t{"nonsense", `"nonsense", the 1th`},
        \t\t{first + ", ", `"", the 2th`},
        \t\t{first + "," + second + ",x y", `"x y", the 3th`},
        \t}
        \tfor _, test := range tests {
        \t\ttest := test
        \t\tt.Run(test.text, func(t *testing.T) {
        \t\t\tt.Parallel()
        \t\t\tgot, err := xid.ParseList(test.text)
        \t\t\tif !errors.Is(err, xid.ErrInvalidID) {
        \t\t\t\tt.Fatalf("err = %v", err)
        \t\t\t}
        \t\t\tif !strings.Contains(err.Error(), test.named) {
        \t\t\t\tt.Errorf("err = %v", err)
        \t\t\t}
        \t\t\tif got != nil {
        \t\t\t\tt.Errorf("got %v", got)
        \t\t\t}
        \t\t})
        \t}
        }
        """,
    )


@holds(XID, AFTER.title, *AFTER.acceptance, prose=AFTER.prose, contract="go test -run Next .")
def examples_and_a_property(tree: Files) -> None:
    AFTER.honest(tree)
    tree.write(
        "next_test.go",
        """
        package xid

        import (
        \t"fmt"
        \t"math/big"
        \t"testing"
        \t"testing/quick"
        )

        func value(id ID) *big.Int { return new(big.Int).SetBytes(id.Bytes()) }

        func TestNextAddsOne(t *testing.T) {
        \taddsOne := func(id ID, full uint8) bool {
        \t\tfor i := 0; i < int(full)%rawLen; i++ {
        \t\t\tid[rawLen-1-i] = 0xFF
        \t\t}
        \t\tnext, ok := id.Next()
        \t\treturn ok && new(big.Int).Sub(value(next), value(id)).Cmp(big.NewInt(1)) == 0
        \t}
        \tif err := quick.Check(addsOne, nil); err != nil {
        \t\tt.Error(err)
        \t}
        }

        func TestNextEnds(t *testing.T) {
        \tvar last ID
        \tfor i := range last {
        \t\tlast[i] = 0xFF
        \t}
        \tif next, ok := last.Next(); ok || !next.IsNil() {
        \t\tt.Errorf("Next() = %v, %v", next, ok)
        \t}
        }

        func ExampleID_Next() {
        \tid, _ := FromString("9m4e2mr0ui3e8a215vvg")
        \tfmt.Println(id.Next())
        \t// Output: 9m4e2mr0ui3e8a216000 true
        }
        """,
    )
