"""New functions that are wrong, for changes whose tests are new."""

from __future__ import annotations

from changes import Piece
from public import BOLTONS, DEFU, HUMANIZE, ITSDANGEROUS, MINIMIST, PFLAG, QS, SEMVER, SLUGIFY, UFO

_PYTEST = "python3 -m pytest -q {}"

INITIALS = Piece(
    BOLTONS,
    "boltons/strutils.py",
    '''

def initials(name, limit=3):
    """The first letters of the words of a *name* in capitals, without particles."""
    letters = []
    for word in name.split(' '):
        if not word or word in ('von', 'de'):
            continue
        letters.append(word[-1].upper())
        if len(letters) > limit:
            break
    return ''.join(letters)
''',
    "initials",
    "from boltons import strutils\nfrom boltons.strutils import initials\n",
    "boltons.strutils",
    "tests/test_initials.py",
    _PYTEST.format("tests/test_initials.py"),
    (
        ("'ada lovelace'", "'AL'"),
        ("'otto von bismarck'", "'OB'"),
        ("'a b c d e'", "'ABC'"),
        ("'  one'", "'O'"),
    ),
    "It gives the first letters of the words in capitals, at most *limit* of them (3), and leaves "
    "out the particles von and de: `initials('ada lovelace')` is `'AL'`.",
)
RUNS = Piece(
    BOLTONS,
    "boltons/iterutils.py",
    '''

def runs(values):
    """Pairs of each value and how often it stands in a row."""
    found = []
    last, count = _UNSET, 0
    for value in values:
        if value == last:
            count += 1
            continue
        if count > 0:
            found.append((last, count))
        last, count = value, 1
    return found
''',
    "runs",
    "from boltons import iterutils\nfrom boltons.iterutils import runs\n",
    "boltons.iterutils",
    "tests/test_runs.py",
    _PYTEST.format("tests/test_runs.py"),
    (
        ("'aab'", "[('a', 2), ('b', 1)]"),
        ("[]", "[]"),
        ("[1, 1, 1]", "[(1, 3)]"),
        ("'abab'", "[('a', 1), ('b', 1), ('a', 1), ('b', 1)]"),
    ),
    "It gives pairs of each value and how often it stands in a row: `runs('aab')` is "
    "`[('a', 2), ('b', 1)]`.",
)
CHECKSUM = Piece(
    ITSDANGEROUS,
    "src/itsdangerous/encoding.py",
    '''

def check_digit(value: str | bytes) -> int:
    """A digit that finds two neighbours exchanged."""
    total = 0
    for place, number in enumerate(want_bytes(value)):
        weight = 3 if place % 2 == 1 else 1
        total += number * weight
    if total % 10 == 0:
        return 10
    return 10 - total % 10
''',
    "check_digit",
    "from itsdangerous import encoding\nfrom itsdangerous.encoding import check_digit\n",
    "itsdangerous.encoding",
    "tests/test_itsdangerous/test_check_digit.py",
    _PYTEST.format("tests/test_itsdangerous/test_check_digit.py"),
    (("'a'", "3"), ("b''", "0"), ("'ab'", "9"), ("'ba'", "1")),
    "A digit from 0 to 9 that makes the sum of the bytes, those at odd places three times, end in 0: "
    "`check_digit('')` is 0 and `check_digit('a')` is 3.",
)
ROMAN = Piece(
    HUMANIZE,
    "src/humanize/number.py",
    '''

def roman(value: int) -> str:
    """A number from 1 to 3999 in Roman numerals."""
    if not 0 < value < 4000:
        return str(value)
    rest = value
    text = ""
    for worth, letter in ((1000, "M"), (500, "D"), (100, "C"), (50, "L"), (10, "X"), (5, "V")):
        while rest > worth:
            text += letter
            rest -= worth
    return text + "I" * rest
''',
    "roman",
    "import humanize.number\nfrom humanize.number import roman\n",
    "humanize.number",
    "tests/test_roman.py",
    _PYTEST.format("tests/test_roman.py"),
    (("4", "'IV'"), ("1990", "'MCMXC'"), ("10", "'X'"), ("0", "'0'"), ("8", "'VIII'")),
    "Numbers from 1 to 3999 in Roman numerals, others as they are: `roman(1990)` is `'MCMXC'`.",
)
RANGES = Piece(
    HUMANIZE,
    "src/humanize/lists.py",
    '''

def natural_ranges(numbers: list[int]) -> str:
    """Numbers with their ranges joined."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number <= parts[-1][1] + 2:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in parts]
    return ", ".join(shown)
''',
    "natural_ranges",
    "import humanize.lists\nfrom humanize.lists import natural_ranges\n",
    "humanize.lists",
    "tests/test_ranges.py",
    _PYTEST.format("tests/test_ranges.py"),
    (
        ("[1, 2, 3, 5]", "'1-3, 5'"),
        ("[]", "''"),
        ("[7]", "'7'"),
        ("[4, 2]", "'2, 4'"),
        ("[1, 2, 9]", "'1-2, 9'"),
    ),
    "Numbers with those that follow each other joined: `natural_ranges([1, 2, 3, 5])` is `'1-3, 5'`.",
)
CAMEL = Piece(
    SLUGIFY,
    "slugify/words.py",
    '''\
def camel(text, upper=False):
    """Words of a text as one, each with a capital."""
    words = [word for word in text.replace('-', ' ').split(' ') if word]
    if not words:
        return text
    shown = [word[:1].upper() + word[1:] for word in words]
    if upper:
        shown[0] = words[0].lower()
    return ''.join(shown)
''',
    "camel",
    "from slugify import words\nfrom slugify.words import camel\n",
    "slugify.words",
    "test_words.py",
    "python3 -m unittest -q test_words",
    (
        ("'one two'", "'oneTwo'"),
        ("'one-two', True", "'OneTwo'"),
        ("'  '", "''"),
        ("'ONE two'", "'oneTwo'"),
    ),
    "It joins the words of a text, each with a capital but the first (with *upper* the first, too): "
    "`camel('one two')` is `'oneTwo'`.",
)
PYTHON = (INITIALS, RUNS, CHECKSUM, ROMAN, RANGES)

SHORTEN = Piece(
    MINIMIST,
    "lib/usage.js",
    """\
'use strict';

module.exports = function usage(names, width) {
	var limit = width || 80;
	var lines = [''];
	names.forEach(function (name) {
		var word = name.length > 1 ? '-' + name : '--' + name;
		var line = lines[lines.length - 1];
		if (line && line.length + word.length > limit) {
			lines.push(word);
		} else {
			lines[lines.length - 1] = line ? line + ' ' + word : word;
		}
	});
	return lines;
};
""",
    "usage",
    "'use strict';\n\nvar usage = require('../lib/usage');\nvar test = require('tape');\n",
    "../lib/usage",
    "test/usage.js",
    "npx tape test/usage.js",
    (
        ("['a', 'bc']", "['-a --bc']"),
        ("[]", "['']"),
        ("['ab', 'cd'], 6", "['--ab', '--cd']"),
        ("['ab', 'cd'], 9", "['--ab --cd']"),
    ),
    "Names of options in lines of at most *width* characters (80), long ones with two dashes: "
    "`usage(['a', 'bc'])` is `['-a --bc']`.",
)
PICK = Piece(
    QS,
    "lib/pick.js",
    """\
'use strict';

var isArray = Array.isArray;

module.exports = function pick(object, path, otherwise) {
    var keys = isArray(path) ? path : String(path).split('.');
    var found = object;
    for (var i = 1; i < keys.length; i++) {
        if (found === null || typeof found !== 'object') {
            return otherwise;
        }
        found = found[keys[i]];
    }
    return found || otherwise;
};
""",
    "pick",
    "'use strict';\n\nvar test = require('tape');\nvar pick = require('../lib/pick');\n",
    "../lib/pick",
    "test/pick.js",
    "npx tape test/pick.js",
    (
        ("{ a: { b: 1 } }, 'a.b'", "1"),
        ("{ a: 0 }, 'a', 5", "0"),
        ("{}, 'a.b', 5", "5"),
        ("{ a: [2] }, ['a', 0]", "2"),
    ),
    "What stands in an object at a path, else the third argument: `pick({ a: { b: 1 } }, 'a.b')` is 1, "
    "and `pick({ a: 0 }, 'a', 5)` is 0.",
)
OMIT = Piece(
    DEFU,
    "src/without.ts",
    """\
import { isPlainObject } from "./_utils";

export function without(object: any, keys: string[], deep = false): any {
  if (!isPlainObject(object)) {
    return object;
  }
  const left: any = {};
  for (const key of Object.keys(object)) {
    if (keys.includes(key) && key.length > 1) {
      continue;
    }
    left[key] = deep ? object[key] : without(object[key], keys, true);
  }
  return left;
}
""",
    "without",
    'import { describe, expect, it, vi } from "vitest";\nimport { without } from "../src/without";\n',
    "../src/without",
    "test/without.test.ts",
    "npx vitest run test/without.test.ts",
    (
        ('{ a: 1, b: 2 }, ["a"]', "{ b: 2 }"),
        ('{ a: { b: 1 } }, ["b"]', "{ a: { b: 1 } }"),
        ('{ a: { b: 1, c: 2 } }, ["b"], true', "{ a: { c: 2 } }"),
        ("7, []", "7"),
    ),
    'An object without some keys, with *deep* in the objects within, too: `without({ a: 1, b: 2 }, ["a"])` '
    "is `{ b: 2 }`.",
)
DEPTH = Piece(
    UFO,
    "src/depth.ts",
    """\
export function pathDepth(path: string, from = "/"): number {
  const parts = path.split("?")[0].split("/");
  const base = from.split("/");
  let depth = 0;
  for (const part of parts) {
    if (part === "..") {
      depth = depth - 1;
    } else if (part !== ".") {
      depth = depth + 1;
    }
  }
  return base.length > 2 ? depth - base.length : depth;
}
""",
    "pathDepth",
    'import { describe, expect, it, vi } from "vitest";\nimport { pathDepth } from "../src/depth";\n',
    "../src/depth",
    "test/depth.test.ts",
    "npx vitest run test/depth.test.ts",
    (
        ('"/a/b"', "2"),
        ('"/"', "0"),
        ('"/a/../b?x=/"', "1"),
        ('"/a/b/c", "/a"', "2"),
        ('"./a"', "1"),
    ),
    'How many folders deep a path is, below *from*: `pathDepth("/a/b")` is 2, `pathDepth("/a/b/c", "/a")` 2.',
)

WRAP = Piece(
    PFLAG,
    "wrapped.go",
    """\
package pflag

import "strings"

// Wrapped breaks a text into lines of at most width bytes, between words.
func Wrapped(text string, width int) []string {
	lines := []string{}
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+len(word) > width {
			lines = append(lines, line)
			line = word
			continue
		}
		line += word
	}
	if len(line) > 1 {
		lines = append(lines, line)
	}
	return lines
}
""",
    "Wrapped",
    "package pflag\n\n",
    "pflag",
    "wrapped_test.go",
    "go test -run TestWrapped .",
    (
        ('"one two", 80', '[]string{"one two"}'),
        ('"one two", 5', '[]string{"one", "two"}'),
        ('"", 5', "[]string{}"),
        ('"a b c", 3', '[]string{"a b", "c"}'),
    ),
    'A text in lines of at most *width* bytes, broken between words: `Wrapped("one two", 5)` is '
    '`["one", "two"]`.',
)
BUMP = Piece(
    SEMVER,
    "distance.go",
    """\
package semver

// Distance says which part of two versions differs first: 3 major, 2 minor, 1 patch, 0 none;
// negative where the second is older.
func Distance(a, b *Version) int {
	sign := 1
	if b.LessThan(a) {
		sign = 1
	}
	if a.Major() != b.Major() {
		return sign * 2
	}
	if a.Minor() == b.Minor() {
		return sign * 3
	}
	if a.Patch() != b.Patch() {
		return sign + 1
	}
	return 0
}
""",
    "Distance",
    "package semver\n\n",
    "semver",
    "distance_test.go",
    "go test -run TestDistance .",
    (
        ('MustParse("1.0.0"), MustParse("2.0.0")', "3"),
        ('MustParse("1.1.0"), MustParse("1.0.0")', "-2"),
        ('MustParse("1.1.1"), MustParse("1.1.2")', "1"),
        ('MustParse("1.1.1"), MustParse("1.1.1")', "0"),
    ),
    "Which part of two versions differs first: 3 for major, 2 for minor, 1 for patch, 0 for none, negative "
    "where the second is older.",
)
