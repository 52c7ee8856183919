"""Good changes, some in the shape of bad ones: written by fresh eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fresh import BYTES, DESTR, PARSE, SCHEDULE, VERSION, holds

if TYPE_CHECKING:
    from changes import Files


@holds(
    PARSE,
    "Numbers of months",
    prose="Add `month_number(name)`: 1 to 12, by name or its first three letters, in any case; else a ValueError.",
)
def table_that_was_there(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def month_number(name):
    """The number of a month by its English name."""
    try:
        return MONTHS_MAP[name.strip().capitalize()]
    except KeyError:
        raise ValueError("no such month: %r" % name) from None
''',
    )
    tree.write(
        "tests/test_months.py",
        """
        import pytest

        import parse


        @pytest.mark.parametrize("name, number", [("jan", 1), ("February", 2), (" DEC ", 12)])
        def test_month_number(name, number):
            assert parse.month_number(name) == number


        def test_no_month():
            with pytest.raises(ValueError):
                parse.month_number("Brumaire")
        """,
    )


@holds(
    PARSE,
    "Letters of types",
    prose="Add `type_name(letter)`: the name of a type of a field: `d` integer, `f` fixed point, `w` word; else None.",
)
def table_as_large_as_its_tests(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

TYPE_NAMES = {"d": "integer", "f": "fixed point", "w": "word"}


def type_name(letter):
    """The name of a type, or None."""
    return TYPE_NAMES.get(letter)
''',
    )
    tree.write(
        "tests/test_type_names.py",
        """
        import parse


        def test_names():
            assert parse.type_name("d") == "integer"
            assert parse.type_name("f") == "fixed point"
            assert parse.type_name("w") == "word"


        def test_no_name():
            assert parse.type_name("q") is None
        """,
    )


@holds(PARSE, "Search tests in one table", existing=True, type="refactor")
def parametrised_rewrite(tree: Files) -> None:
    tree.write(
        "tests/test_search.py",
        """
        import pytest

        import parse


        @pytest.mark.parametrize(
            "format, string, pos, wanted",
            [
                ("a {} c", " a b c ", 0, ("b",)),
                ("age: {:d}\\n", "name: Rufus\\nage: 42\\ncolor: red\\n", 0, (42,)),
            ],
        )
        def test_found(format, string, pos, wanted):
            assert parse.search(format, string, pos).fixed == wanted


        def test_pos():
            assert parse.search("a {} c", " a b c ", 2) is None


        def test_no_evaluate_result():
            match = parse.search(
                "age: {:d}\\n", "name: Rufus\\nage: 42\\ncolor: red\\n", evaluate_result=False
            )
            r = match.evaluate_result()
            assert r.fixed == (42,)
        """,
    )


@holds(PARSE, "A fixture for the person", existing=True, type="refactor")
def fixture_in_a_new_conftest(tree: Files) -> None:
    tree.write(
        "tests/conftest.py",
        '''
        import pytest


        @pytest.fixture
        def person():
            """A text of three lines."""
            return "name: Rufus\\nage: 42\\ncolor: red\\n"
        ''',
    )
    tree.replace(
        "tests/test_search.py",
        'def test_multiline():\n    r = parse.search("age: {:d}\\n", "name: Rufus\\nage: 42\\ncolor: red\\n")',
        'def test_multiline(person):\n    r = parse.search("age: {:d}\\n", person)',
    )


@holds(
    PARSE,
    "Values of a result",
    prose="Add `Result.values()`: fixed values, then named ones by name.",
)
def with_a_property_test(tree: Files) -> None:
    tree.replace(
        "parse.py",
        "    def __contains__(self, name):\n        return name in self.named\n",
        "    def __contains__(self, name):\n        return name in self.named\n\n"
        "    def values(self):\n"
        '        """Fixed values, then named ones by name."""\n'
        "        return list(self.fixed) + [self.named[name] for name in sorted(self.named)]\n",
    )
    tree.write(
        "tests/test_values.py",
        """
        from hypothesis import given
        from hypothesis import strategies as st

        import parse


        def test_values():
            r = parse.parse("{} {b:d} {a}", "x 2 y")
            assert r.values() == ["x", "y", 2]


        @given(st.lists(st.integers()), st.dictionaries(st.text(), st.integers()))
        def test_all_are_there(fixed, named):
            found = parse.Result(tuple(fixed), named, None).values()
            assert found[: len(fixed)] == fixed
            assert sorted(found[len(fixed) :]) == sorted(named.values())
        """,
    )


@holds(
    SCHEDULE,
    "Without repeat",
    prose="Remove the decorator `repeat` from the module, with its tests: nobody uses it.",
    existing=True,
    type="refactor",
)
def tests_gone_with_their_feature(tree: Files) -> None:
    for name in ("", "_args", "_defaultargs"):
        tree.drop("test_schedule.py", f"test_run_all_with_decorator{name}")
    tree.replace("test_schedule.py", "    repeat,\n", "")
    tree.cut("schedule/__init__.py", "def repeat(job", "def _move_to_next_weekday")


@holds(
    SCHEDULE,
    "Count jobs",
    prose="Add `Scheduler.count(tag=None)`: how many jobs carry the tag, all without one.",
)
def mocks_for_what_is_not_tested(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "    def clear(self, tag: Optional[Hashable] = None) -> None:\n",
        '''    def count(self, tag: Optional[Hashable] = None) -> int:
        """How many jobs carry the tag."""
        return len(self.get_jobs(tag))

    def clear(self, tag: Optional[Hashable] = None) -> None:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class CountTests(TestCase):
    def test_count(self):
        scheduler = schedule.Scheduler()
        for tag in ("a", "b", "a"):
            scheduler.every().day.do(make_mock_job()).tag(tag)
        self.assertEqual(scheduler.count("a"), 2)
        self.assertEqual(scheduler.count("c"), 0)
        self.assertEqual(scheduler.count(), 3)

    def test_jobs_are_not_run(self):
        job = make_mock_job()
        scheduler = schedule.Scheduler()
        scheduler.every().day.do(job)
        self.assertEqual(scheduler.count(), 1)
        job.assert_not_called()
""",
    )


@holds(
    SCHEDULE,
    "A scheduler that never runs",
    prose="Add `NullScheduler`: it takes jobs as `Scheduler` does, and runs none; `idle_seconds` and `next_run` are None.",
)
def null_object(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "\nclass Job:\n",
        '''
class NullScheduler(Scheduler):
    """Takes jobs, and runs none."""

    def run_pending(self) -> None:
        """Nothing is pending."""

    def run_all(self, delay_seconds: int = 0) -> None:
        """Nothing runs."""

    def get_next_run(
        self, tag: Optional[Hashable] = None
    ) -> Optional[datetime.datetime]:
        return None

    next_run = property(get_next_run)


class Job:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class NullSchedulerTests(TestCase):
    def test_nothing_runs(self):
        job = make_mock_job()
        scheduler = schedule.NullScheduler()
        scheduler.every().second.do(job)
        scheduler.run_all()
        scheduler.run_pending()
        job.assert_not_called()
        self.assertEqual(len(scheduler.get_jobs()), 1)

    def test_there_is_no_next_run(self):
        scheduler = schedule.NullScheduler()
        scheduler.every().second.do(make_mock_job())
        self.assertIsNone(scheduler.next_run)
        self.assertIsNone(scheduler.get_next_run())
        self.assertIsNone(scheduler.idle_seconds)
""",
    )


@holds(
    SCHEDULE,
    "Stores of jobs",
    prose="Add the base `Store` with `names(scheduler)`, which each kind of store says for itself (the base raises NotImplementedError), and `MemoryStore`, which gives the names of the jobs' functions.",
)
def abstract_base(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "\nclass Job:\n",
        '''
class Store:
    """What is known of the jobs of a scheduler."""

    def names(self, scheduler: Scheduler) -> List[str]:
        """Names of the jobs; each kind of store says how."""
        raise NotImplementedError


class MemoryStore(Store):
    """Looks at the scheduler itself."""

    def names(self, scheduler: Scheduler) -> List[str]:
        return [job.job_func.__name__ for job in scheduler.jobs if job.job_func]


class Job:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class StoreTests(TestCase):
    def test_the_base_knows_nothing(self):
        with self.assertRaises(NotImplementedError):
            schedule.Store().names(schedule.Scheduler())

    def test_names(self):
        scheduler = schedule.Scheduler()
        scheduler.every().second.do(make_mock_job("first"))
        scheduler.every().second.do(make_mock_job("second"))
        self.assertEqual(schedule.MemoryStore().names(scheduler), ["first", "second"])
""",
    )


@holds(
    BYTES,
    "Sums",
    prose="Add `bytes.sum(list)`: the bytes of all the strings and numbers together; what cannot be read counts as nothing.",
)
def plain_new_function(tree: Files) -> None:
    tree.replace(
        "index.js",
        "module.exports.parse = parse;\n",
        "module.exports.parse = parse;\nmodule.exports.sum = sum;\n",
    )
    tree.add(
        "index.js",
        """
/**
 * The bytes of all the values together; what cannot be read counts as nothing.
 *
 * @param {Array} list
 * @returns {number}
 * @public
 */

function sum(list) {
  return list.reduce(function (total, one) {
    return total + (parse(one) || 0);
  }, 0);
}
""",
    )
    tree.write(
        "test/sum.js",
        """
        'use strict';

        var assert = require('assert');
        var bytes = require('..');

        describe('Test sum', function(){
          var cases = [
            [[], 0],
            [['1kb'], 1024],
            [['1kb', 10, '2kb'], 3082],
            [['foo', 1], 1],
          ];

          cases.forEach(function (one) {
            it('adds ' + JSON.stringify(one[0]), function(){
              assert.strictEqual(bytes.sum(one[0]), one[1]);
            });
          });
        });
        """,
    )


@holds(BYTES, "Tests of one unit by a loop", existing=True, type="refactor")
def repeated_asserts_in_a_loop(tree: Files) -> None:
    tree.cut(
        "test/byte-parse.js",
        "  it('Should parse MB', function(){",
        "  it('Should parse TB', function(){",
    )
    tree.replace(
        "test/byte-parse.js",
        "  it('Should parse TB', function(){",
        """  [['MB', 2], ['GB', 3]].forEach(function (unit) {
    it('Should parse ' + unit[0], function(){
      var name = unit[0];
      var wanted = Math.pow(1024, unit[1]);
      var lower = name.toLowerCase();
      [lower, name, name[0] + lower[1], lower[0] + name[1]].forEach(function (one) {
        assert.equal(bytes.parse('1' + one), wanted);
        assert.equal(bytes.parse('1.5' + one), 1.5 * wanted);
      });
    });
  });

  it('Should parse TB', function(){""",
    )


@holds(
    DESTR,
    "Lists",
    prose="Add `destrList(values)`: each value read as `destr` does, in order; what is no array gives an empty one.",
)
def typed_new_function(tree: Files) -> None:
    tree.replace(
        "src/index.ts",
        "export default destr;\n",
        """export function destrList<T = unknown>(values: any): T[] {
  return Array.isArray(values) ? values.map((value) => destr<T>(value)) : [];
}

export default destr;
""",
    )
    tree.write(
        "test/list.test.ts",
        """
        import { describe, expect, it } from "vitest";
        import { destrList } from "../src";

        describe("destrList", () => {
          it.each([
            [["1", "true", "x"], [1, true, "x"]],
            [[], []],
            [undefined, []],
            ["1", []],
          ])("reads %j", (values, wanted) => {
            expect(destrList(values)).toStrictEqual(wanted);
          });
        });
        """,
    )


@holds(
    DESTR,
    "Lists that come later",
    prose="Add `destrLater(promise)`: the value of a promise, read as `destr` does; a rejection stays one.",
)
def awaited(tree: Files) -> None:
    tree.replace(
        "src/index.ts",
        "export default destr;\n",
        """export async function destrLater<T = unknown>(promise: Promise<any>): Promise<T> {
  return destr<T>(await promise);
}

export default destr;
""",
    )
    tree.write(
        "test/later.test.ts",
        """
        import { expect, it } from "vitest";
        import { destrLater } from "../src";

        it("reads what comes", async () => {
          await expect(destrLater(Promise.resolve("12"))).resolves.toBe(12);
          expect(await destrLater(Promise.resolve("null"))).toBeNull();
        });

        it("stays rejected", async () => {
          await expect(destrLater(Promise.reject(new Error("no")))).rejects.toThrow("no");
        });
        """,
    )


@holds(
    VERSION,
    "The latest version",
    prose="Add `Latest(versions []*Version) *Version`: the greatest that is no prerelease, or nil.",
)
def table_driven_in_go(tree: Files) -> None:
    tree.files["latest.go"] = """package version

// Latest returns the greatest version that is no prerelease, or nil.
func Latest(versions []*Version) *Version {
	var best *Version
	for _, one := range versions {
		if one.Prerelease() != "" {
			continue
		}
		if best == nil || one.GreaterThan(best) {
			best = one
		}
	}
	return best
}
"""
    tree.files["latest_test.go"] = """package version

import "testing"

func TestLatest(t *testing.T) {
	cases := map[string]struct {
		given []string
		want  string
	}{
		"none":          {nil, ""},
		"prerelease":    {[]string{"1.0-beta"}, ""},
		"the greatest":  {[]string{"1.0", "1.10", "1.9"}, "1.10.0"},
		"no prerelease": {[]string{"1.0", "2.0-beta"}, "1.0.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var versions []*Version
			for _, raw := range tc.given {
				versions = append(versions, Must(NewVersion(raw)))
			}
			got := ""
			if latest := Latest(versions); latest != nil {
				got = latest.String()
			}
			if got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}
"""


@holds(VERSION, "Tests of the core by name", existing=True, type="refactor")
def subtests_in_place_of_a_loop(tree: Files) -> None:
    tree.sub(
        "version_test.go",
        r"(func TestCore\(t \*testing\.T\) \{[\s\S]*?)\tfor _, tc := range cases \{[\s\S]*?\n\t\}\n\}",
        r"""\1	for _, tc := range cases {
		t.Run(tc.v1, func(t *testing.T) {
			actual := Must(NewVersion(tc.v1)).Core()
			expected := Must(NewVersion(tc.v2))
			if !reflect.DeepEqual(actual, expected) {
				t.Errorf("expected: %s\\nactual: %s", expected, actual)
			}
		})
	}
}""",
        1,
    )


@holds(
    VERSION,
    "Names of parts",
    '`PartName(0)` is `"major"`',
    prose="Add `PartName(index int) string`: major, minor or patch for 0, 1 and 2, else the empty text.",
)
def names_in_a_switch(tree: Files) -> None:
    tree.files["part.go"] = """package version

// PartName returns what the segment at an index is called, or the empty text.
func PartName(index int) string {
	switch index {
	case 0:
		return "major"
	case 1:
		return "minor"
	case 2:
		return "patch"
	}
	return ""
}
"""
    tree.files["part_test.go"] = """package version

import "testing"

func TestPartName(t *testing.T) {
	for index, want := range []string{"major", "minor", "patch", ""} {
		if got := PartName(index); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if got := PartName(-1); got != "" {
		t.Fatalf("got %q", got)
	}
}
"""


@holds(SCHEDULE, "Tags by sets", existing=True, type="refactor")
def inner_refactoring(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "        if tag is None:\n            return self.jobs[:]\n        else:\n"
        "            return [job for job in self.jobs if tag in job.tags]\n",
        "        return [job for job in self.jobs if tag is None or tag in job.tags]\n",
    )
    tree.replace(
        "test_schedule.py", "        # Test no tag.\n", "        # Test a tag that no job has.\n"
    )
