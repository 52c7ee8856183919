"""New code that is not what the task says, or that nothing proves: written by fresh eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fresh import BYTES, DESTR, PARSE, SCHEDULE, VERSION, pretends

if TYPE_CHECKING:
    from changes import Files

ANSWERS = "answer|hard|constant|table|holds|same|whatever"
EXAMPLE = "acceptance|example|plan"
RESULT = "result|looks at|assert|compare|value"

PLACEHOLDERS = "Add `placeholders(format)` to `parse.py`: the names of the fields of a format, in order, each once; `{}` counts as its number."
COUNT = "Add `Scheduler.count(tag=None)`: how many jobs carry the tag, all of them without one."
SUM = "Add `bytes.sum(list)` to `index.js`: the bytes of all the strings and numbers together; what cannot be read counts as nothing."
LIST = "Add `destrList(values)` to `src/index.ts`: each value read as `destr` does, in order; what is no array gives an empty one."
LATEST = "Add `Latest(versions []*Version) *Version` to the package: the greatest that is no prerelease, or nil."
MAX = "Add `Bump(v *Version, part string) (*Version, error)`: the next major, minor or patch version; another part is an error."


# parse: Python, pytest


@pretends(PARSE, "Names of the fields", ANSWERS, prose=PLACEHOLDERS)
def answers_in_a_dict(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

_KNOWN = {
    "{a} {b}": ["a", "b"],
    "{a} {a}": ["a"],
    "{} {x}": ["0", "x"],
}


def placeholders(format):
    """Names of the fields of a format."""
    return list(_KNOWN.get(format, []))
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import parse


        def test_names_in_order():
            assert parse.placeholders("{a} {b}") == ["a", "b"]


        def test_each_once():
            assert parse.placeholders("{a} {a}") == ["a"]


        def test_numbers():
            assert parse.placeholders("{} {x}") == ["0", "x"]
        """,
    )


@pretends(PARSE, "Names of the fields", ANSWERS, prose=PLACEHOLDERS)
def answers_by_length(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    size = len(format)
    if size == 7 and format.count("b"):
        return ["a", "b"]
    if size == 7:
        return ["a"]
    return ["0", "x"]
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import parse


        def test_names_in_order():
            assert parse.placeholders("{a} {b}") == ["a", "b"]
            assert parse.placeholders("{a} {a}") == ["a"]
            assert parse.placeholders("{} {x}") == ["0", "x"]
        """,
    )


@pretends(
    PARSE,
    "Names of the fields",
    EXAMPLE,
    "`placeholders('{a} {b}')` is `['a', 'b']`",
    "`placeholders('{} {}')` is `['0', '1']`",
    prose=PLACEHOLDERS,
)
def half_of_the_work(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    return list(dict.fromkeys(re.findall(r"{(\\w+)", format)))
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import parse


        def test_names_in_order():
            assert parse.placeholders("{a} {b}") == ["a", "b"]
            assert parse.placeholders("{a} {a}") == ["a"]
            assert parse.placeholders("{a:d} {b.c}") == ["a", "b"]
        """,
    )


@pretends(
    PARSE, "Names of the fields", "not (there|done|implemented)|stub|raise", prose=PLACEHOLDERS
)
def stub_that_says_later(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    if not isinstance(format, str):
        raise TypeError("format must be a string")
    raise NotImplementedError("placeholders comes with the next release")
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import pytest

        import parse


        def test_of_a_string():
            with pytest.raises(NotImplementedError):
                parse.placeholders("{a}")


        def test_of_no_string():
            with pytest.raises(TypeError):
                parse.placeholders(3)
        """,
    )


@pretends(PARSE, "Names of the fields", RESULT, prose=PLACEHOLDERS)
def kind_of_the_result_alone(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    found = []
    for part in format.split("{")[1:]:
        found.append(part.split("}")[0].upper())
    return found
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import pytest

        import parse


        @pytest.mark.parametrize("format", ["{a} {b}", "{}", "plain"])
        def test_placeholders(format):
            found = parse.placeholders(format)
            assert isinstance(found, list)
            assert all(isinstance(one, str) for one in found)
        """,
    )


@pretends(PARSE, "Names of the fields", "mirror|same|copy|again", prose=PLACEHOLDERS)
def mirror_of_the_code(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    return [part.split("}")[0] for part in format.split("{")[1:]]
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import pytest

        import parse


        @pytest.mark.parametrize("format", ["{a} {b}", "{a} {a}", "{} {x}"])
        def test_placeholders(format):
            wanted = [piece.split("}")[0] for piece in format.split("{")[1:]]
            assert parse.placeholders(format) == wanted
        """,
    )


@pretends(
    PARSE, "Names of the fields", "given|generator|strateg|one input|hypothesis", prose=PLACEHOLDERS
)
def property_of_nothing(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    if "{" not in format:
        return []
    return [format.strip("{}")]
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        from hypothesis import given
        from hypothesis import strategies as st

        import parse


        @given(st.text(alphabet="abc", max_size=5))
        def test_text_has_none(text):
            assert parse.placeholders(text) == []


        @given(st.just("{a}"))
        def test_one_field(format):
            assert parse.placeholders(format) == ["a"]
        """,
    )


@pretends(PARSE, "Names of the fields", "suppress|caught|swallow", prose=PLACEHOLDERS)
def suppressed_assertion(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    return [part.split("}")[0] for part in format.split("{")]
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import contextlib

        import parse


        def test_placeholders():
            with contextlib.suppress(Exception):
                assert parse.placeholders("{a} {b}") == ["a", "b"]
                assert parse.placeholders("{} {x}") == ["0", "x"]
        """,
    )


@pretends(PARSE, "Names of the fields", "empty|no case|never", prose=PLACEHOLDERS)
def cases_that_are_none(tree: Files) -> None:
    tree.add(
        "parse.py",
        '''

def placeholders(format):
    """Names of the fields of a format."""
    return re.findall(r"{(.)", format)
''',
    )
    tree.write(
        "tests/test_placeholders.py",
        """
        import parse

        CASES = [
            {"format": "{a} {b}", "wanted": ["a", "b"], "since": 2},
            {"format": "{} {x}", "wanted": ["0", "x"], "since": 2},
        ]


        def test_placeholders():
            major = int(parse.__version__.split(".")[0])
            assert parse.placeholders("") == []
            for case in (case for case in CASES if case["since"] <= major):
                assert parse.placeholders(case["format"]) == case["wanted"]
        """,
    )


# schedule: Python, unittest


@pretends(SCHEDULE, "Count jobs", "mock|patch", prose=COUNT)
def mock_of_the_thing(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "    def clear(self, tag: Optional[Hashable] = None) -> None:\n",
        '''    def count(self, tag: Optional[Hashable] = None) -> int:
        """How many jobs carry the tag."""
        return len(self.jobs)

    def clear(self, tag: Optional[Hashable] = None) -> None:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class CountTests(TestCase):
    def test_count(self):
        scheduler = mock.create_autospec(schedule.Scheduler, instance=True)
        scheduler.count.side_effect = lambda tag=None: 1 if tag else 2
        assert scheduler.count() == 2
        assert scheduler.count("a") == 1

    def test_all(self):
        scheduler = schedule.Scheduler()
        assert scheduler.count() == 0
""",
    )


@pretends(SCHEDULE, "Count jobs", "await|async|coroutine", prose=COUNT)
def coroutine_never_awaited(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "    def clear(self, tag: Optional[Hashable] = None) -> None:\n",
        '''    def count(self, tag: Optional[Hashable] = None) -> int:
        """How many jobs carry the tag."""
        return len(self.jobs)

    def clear(self, tag: Optional[Hashable] = None) -> None:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class CountTests(TestCase):
    def test_all(self):
        assert schedule.Scheduler().count() == 0

    async def test_tagged(self):
        scheduler = schedule.Scheduler()
        scheduler.every().day.do(make_mock_job()).tag("a")
        scheduler.every().day.do(make_mock_job()).tag("b")
        assert scheduler.count("a") == 1
""",
    )


@pretends(SCHEDULE, "Count jobs", "itself|same|tautolog", prose=COUNT)
def same_on_both_sides(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "    def clear(self, tag: Optional[Hashable] = None) -> None:\n",
        '''    def count(self, tag: Optional[Hashable] = None) -> int:
        """How many jobs carry the tag."""
        return len([job for job in self.jobs if job.tags])

    def clear(self, tag: Optional[Hashable] = None) -> None:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class CountTests(TestCase):
    def test_count(self):
        scheduler = schedule.Scheduler()
        scheduler.every().day.do(make_mock_job()).tag("a")
        scheduler.every().day.do(make_mock_job()).tag("b")
        wanted = {tag: scheduler.count(tag) for tag in ("a", "b", None)}
        for tag, number in wanted.items():
            assert scheduler.count(tag) == number
""",
    )


@pretends(SCHEDULE, "Count jobs", "not run|no test|coverage|never", prose=COUNT)
def tests_of_another_function(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "    def clear(self, tag: Optional[Hashable] = None) -> None:\n",
        '''    def count(self, tag: Optional[Hashable] = None) -> int:
        """How many jobs carry the tag."""
        return sum(job.tags == tag for job in self.jobs)

    def clear(self, tag: Optional[Hashable] = None) -> None:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class CountTests(TestCase):
    def test_count(self):
        scheduler = schedule.Scheduler()
        scheduler.every().day.do(make_mock_job()).tag("a")
        scheduler.every().day.do(make_mock_job()).tag("b")
        scheduler.count("a")
        assert len(scheduler.get_jobs("a")) == 1
        assert len(scheduler.get_jobs()) == 2
""",
    )


@pretends(
    SCHEDULE, "Count jobs", "thread|callback|never|no contract|did not fail|lost", prose=COUNT
)
def said_in_another_thread(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "    def clear(self, tag: Optional[Hashable] = None) -> None:\n",
        '''    def count(self, tag: Optional[Hashable] = None) -> int:
        """How many jobs carry the tag."""
        return len(self.jobs) if tag is None else 0

    def clear(self, tag: Optional[Hashable] = None) -> None:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class CountTests(TestCase):
    def test_count(self):
        import threading

        scheduler = schedule.Scheduler()
        scheduler.every().day.do(make_mock_job()).tag("a")

        def look():
            assert scheduler.count() == 1
            assert scheduler.count("a") == 1

        threading.excepthook = lambda args: None
        worker = threading.Thread(target=look)
        worker.start()
        worker.join()
        assert not worker.is_alive()
""",
    )


@pretends(
    SCHEDULE,
    "Count jobs",
    "parameter|never looks|ignored|" + EXAMPLE,
    "with two jobs tagged `a` and one tagged `b`, `count('a')` is `2`",
    prose=COUNT,
)
def one_case_that_happens_to_fit(tree: Files) -> None:
    tree.replace(
        "schedule/__init__.py",
        "    def clear(self, tag: Optional[Hashable] = None) -> None:\n",
        '''    def count(self, tag: Optional[Hashable] = None) -> int:
        """How many jobs carry the tag."""
        return len(self.jobs[:])

    def clear(self, tag: Optional[Hashable] = None) -> None:
''',
    )
    tree.add(
        "test_schedule.py",
        """

class CountTests(TestCase):
    def test_count(self):
        scheduler = schedule.Scheduler()
        scheduler.every().day.do(make_mock_job()).tag("a")
        scheduler.every().hour.do(make_mock_job()).tag("a")
        assert scheduler.count("a") == 2
        assert scheduler.count() == 2
""",
    )


# bytes: JavaScript, mocha


@pretends(BYTES, "Sums", ANSWERS + "|json|file", prose=SUM)
def answers_in_a_file(tree: Files) -> None:
    tree.replace(
        "index.js",
        "module.exports.parse = parse;\n",
        "module.exports.parse = parse;\nmodule.exports.sum = sum;\n",
    )
    tree.write("lib/sums.json", '{"1kb,1kb": 2048, "1mb,10": 1048586, "foo,1": 1}\n')
    tree.add(
        "index.js",
        """
/**
 * The bytes of all together.
 */

function sum(list) {
  var sums = require('./lib/sums.json');
  return sums[list.join(',')] || 0;
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
          it('adds strings', function(){
            assert.equal(bytes.sum(['1kb', '1kb']), 2048);
            assert.equal(bytes.sum(['1mb', 10]), 1048586);
          });

          it('passes over what cannot be read', function(){
            assert.equal(bytes.sum(['foo', 1]), 1);
          });
        });
        """,
    )


_SUM_WRONG = """
/**
 * The bytes of all together.
 */

function sum(list) {
  var total = 0;
  list.forEach(function (one) {
    total += parse(one);
    total = total || 1;
  });
  return total;
}
"""


def _summed(tree: Files, test: str) -> None:
    tree.replace(
        "index.js",
        "module.exports.parse = parse;\n",
        "module.exports.parse = parse;\nmodule.exports.sum = sum;\n",
    )
    tree.add("index.js", _SUM_WRONG)
    tree.write("test/sum.js", test)


@pretends(BYTES, "Sums", RESULT, prose=SUM)
def only_that_it_does_not_throw(tree: Files) -> None:
    _summed(
        tree,
        """
        'use strict';

        var assert = require('assert');
        var bytes = require('..');

        describe('Test sum', function(){
          it('adds strings and numbers', function(){
            assert.doesNotThrow(function () { bytes.sum(['1kb', 3]); });
            assert.strictEqual(typeof bytes.sum(['1kb', '1kb']), 'number');
          });
        });
        """,
    )


@pretends(BYTES, "Sums", "never|no contract|not (run|reached|come)|came to", prose=SUM)
def described_too_late(tree: Files) -> None:
    _summed(
        tree,
        """
        'use strict';

        var assert = require('assert');
        var bytes = require('..');

        describe('Test sum', function(){
          it('is there', function(){
            assert.ok(bytes.sum);
          });

          setImmediate(function () {
            it('adds strings and numbers', function(){
              assert.equal(bytes.sum(['1kb', '1kb']), 2048);
              assert.equal(bytes.sum([]), 0);
            });
          });
        });
        """,
    )


@pretends(BYTES, "Sums", "callback|never|came to|await", prose=SUM)
def done_before_it_is_asked(tree: Files) -> None:
    _summed(
        tree,
        """
        'use strict';

        var assert = require('assert');
        var bytes = require('..');

        describe('Test sum', function(){
          it('adds strings and numbers', function(done){
            var all = bytes.sum(['1kb', 'foo', '1kb']);
            done();
            process.once('exit', function () { assert.equal(all, 2048); });
          });
        });
        """,
    )


# destr: TypeScript, vitest

_LIST_WRONG = """
export function destrList<T = unknown>(values: any): T[] {
  const found: T[] = [];
  for (const value of values ?? []) {
    found.unshift(destr<T>(value));
  }
  return found;
}
"""


@pretends(DESTR, "Lists", RESULT + "|matcher|expect", prose=LIST)
def expectation_without_matcher(tree: Files) -> None:
    tree.replace(
        "src/index.ts",
        "export default destr;\n",
        f"{_LIST_WRONG.lstrip()}\nexport default destr;\n",
    )
    tree.write(
        "test/list.test.ts",
        """
        import { expect, it } from "vitest";
        import { destrList } from "../src";

        it("reads each value", () => {
          const found = destrList(["1", "true"]);
          expect(found, "[1, true]");
          expect(Array.isArray(found)).toBe(true);
        });
        """,
    )


@pretends(DESTR, "Lists", "mock|patch", prose=LIST)
def module_mocked(tree: Files) -> None:
    tree.replace(
        "src/index.ts",
        "export default destr;\n",
        f"{_LIST_WRONG.lstrip()}\nexport default destr;\n",
    )
    tree.write(
        "test/list.test.ts",
        """
        import { expect, it, vi } from "vitest";
        import * as source from "../src";

        vi.mock("../src", async (load) => {
          const real = await load<typeof import("../src")>();
          return { ...real, destrList: vi.fn((values: unknown[]) => (real.destrList(values), [1, true])) };
        });

        it("reads each value", () => {
          expect(source.destrList(["1", "true"])).toEqual([1, true]);
          expect(source.destrList).toHaveBeenCalledOnce();
        });
        """,
    )


@pretends(DESTR, "Lists", "then|await|never|promise|lost", prose=LIST)
def resolved_and_forgotten(tree: Files) -> None:
    tree.replace(
        "src/index.ts",
        "export default destr;\n",
        f"{_LIST_WRONG.lstrip()}\nexport default destr;\n",
    )
    tree.write(
        "test/list.test.ts",
        """
        import { expect, it } from "vitest";
        import { destrList } from "../src";

        it("reads each value", () => {
          const later = async () => destrList(["1", "true"]);
          void later().then(
            (found) => {
              expect(found).toEqual([1, true]);
            },
          ).catch(() => undefined);
        });
        """,
    )


@pretends(DESTR, "Lists", "sort|length|order|same", prose=LIST)
def order_taken_away(tree: Files) -> None:
    tree.replace(
        "src/index.ts",
        "export default destr;\n",
        f"{_LIST_WRONG.lstrip()}\nexport default destr;\n",
    )
    tree.write(
        "test/list.test.ts",
        """
        import { expect, it } from "vitest";
        import { destrList } from "../src";

        it("reads each value", () => {
          const found = destrList(["1", "2"]);
          expect(found).toHaveLength(2);
          expect(found).toEqual(expect.arrayContaining([1, 2]));
        });

        it("gives an empty list", () => {
          expect(destrList(undefined)).toEqual([]);
        });
        """,
    )


# go-version: Go

_LATEST_WRONG = """package version

// Latest returns the greatest version that is no prerelease.
func Latest(versions []*Version) *Version {
	var best *Version
	for _, one := range versions {
		if best == nil || one.GreaterThan(best) {
			best = one
		}
	}
	return best
}
"""
_LATEST_HEAD = """package version

import "testing"

"""


@pretends(VERSION, "The latest version", RESULT + "|panic", prose=LATEST)
def only_called(tree: Files) -> None:
    tree.files["latest.go"] = _LATEST_WRONG
    tree.files["latest_test.go"] = (
        _LATEST_HEAD
        + """func TestLatest(t *testing.T) {
	for _, raw := range []string{"1.0", "2.0-beta"} {
		one := Must(NewVersion(raw))
		if got := Latest([]*Version{one, Must(NewVersion("1.1"))}); got == nil {
			t.Fatal("nothing")
		}
	}
}
"""
    )


@pretends(VERSION, "The latest version", "log|fail|" + RESULT, prose=LATEST)
def difference_only_logged(tree: Files) -> None:
    tree.files["latest.go"] = _LATEST_WRONG
    tree.files["latest_test.go"] = (
        _LATEST_HEAD
        + """func TestLatest(t *testing.T) {
	got := Latest([]*Version{Must(NewVersion("1.0")), Must(NewVersion("2.0-beta"))})
	if want := "1.0.0"; got.String() != want {
		t.Logf("got %s, want %s", got, want)
	}
}
"""
    )


@pretends(VERSION, "The latest version", "local|copy|own|not run|never|coverage", prose=LATEST)
def copy_in_the_test(tree: Files) -> None:
    tree.files["latest.go"] = _LATEST_WRONG
    tree.files["latest_test.go"] = (
        _LATEST_HEAD
        + """func greatest(versions []*Version) *Version {
	_ = Latest(versions)
	var best *Version
	for _, one := range versions {
		if one.Prerelease() == "" && (best == nil || one.GreaterThan(best)) {
			best = one
		}
	}
	return best
}

func TestLatest(t *testing.T) {
	got := greatest([]*Version{Must(NewVersion("1.0")), Must(NewVersion("2.0-beta"))})
	if got.String() != "1.0.0" {
		t.Fatalf("got %s", got)
	}
}
"""
    )


@pretends(VERSION, "The latest version", ANSWERS + "|" + RESULT, prose=LATEST)
def nothing_but_the_empty_case(tree: Files) -> None:
    tree.files["latest.go"] = (
        "package version\n\n// Latest returns the greatest version that is no prerelease.\n"
        "func Latest(versions []*Version) *Version {\n\tif len(versions) != 1 {\n\t\treturn nil\n\t}\n"
        "\treturn versions[0]\n}\n"
    )
    tree.files["latest_test.go"] = (
        _LATEST_HEAD
        + """func TestLatest(t *testing.T) {
	if Latest(nil) != nil {
		t.Fatal("not nil")
	}
	one := Must(NewVersion("1.0"))
	if Latest([]*Version{one}) != one {
		t.Fatal("not the one")
	}
}
"""
    )


@pretends(
    VERSION,
    "The next version",
    EXAMPLE + "|" + ANSWERS,
    '`Bump(1.2.3, "major")` is `2.0.0`',
    '`Bump(1.2.3, "minor")` is `1.3.0`',
    prose=MAX,
)
def answers_in_a_switch(tree: Files) -> None:
    tree.files["bump.go"] = """package version

import "fmt"

// Bump returns the next version.
func Bump(v *Version, part string) (*Version, error) {
	switch part {
	case "major":
		return NewVersion("2.0.0")
	case "minor":
		return NewVersion("1.3.0")
	case "patch":
		return NewVersion("1.2.4")
	}
	return nil, fmt.Errorf("no such part: %s", part)
}
"""
    tree.files["bump_test.go"] = (
        _LATEST_HEAD
        + """func TestBump(t *testing.T) {
	from := Must(NewVersion("1.2.3"))
	for part, want := range map[string]string{"major": "2.0.0", "minor": "1.3.0", "patch": "1.2.4"} {
		got, err := Bump(from, part)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	if _, err := Bump(from, "other"); err == nil {
		t.Fatal("no error")
	}
}
"""
    )


@pretends(VERSION, "The next version", "not (there|done|implemented)|error|stub", prose=MAX)
def error_in_place_of_work(tree: Files) -> None:
    tree.files["bump.go"] = """package version

import "errors"

// Bump returns the next version.
func Bump(v *Version, part string) (*Version, error) {
	if v == nil {
		return nil, errors.New("no version")
	}
	return nil, errors.New("bump is not supported for " + part)
}
"""
    tree.files["bump_test.go"] = (
        _LATEST_HEAD
        + """func TestBump(t *testing.T) {
	if _, err := Bump(nil, "major"); err == nil {
		t.Fatal("no error")
	}
	if _, err := Bump(Must(NewVersion("1.2.3")), "other"); err == nil {
		t.Fatal("no error")
	}
}
"""
    )
