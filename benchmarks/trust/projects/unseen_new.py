"""New code that does not do what its task says, and new tests that pass: each trick once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unseen import DIFF, NTH, PYSEMVER, QUOTE, SHORT, XML, Feature, lies

if TYPE_CHECKING:
    from changes import Files

_COUNT = '''

def count_elements(doc, name):
    """How many elements called `name` a parsed document holds, at any depth."""
    if isinstance(doc, list):
        return sum(count_elements(one, name) for one in doc)
    if not isinstance(doc, dict):
        return 0
    found = 0
    for key, value in doc.items():
        if key == name:
            found += len(value) if isinstance(value, list) else 1
        found += count_elements(value, name)
    return found
'''
COUNT = Feature(
    XML,
    "Count the elements of a name",
    "Add `count_elements(doc, name)` to `xmltodict.py`, with tests: how many elements called `name` a parsed "
    "document holds, at any depth; each member of a list counts.",
    (
        "`count_elements(parse('<a><b/><b/></a>'), 'b')` is `2`",
        "elements inside of elements of the same name are counted, too",
    ),
    "from xmltodict import parse, count_elements as c\n"
    "assert c(parse('<a><b/><b/></a>'), 'b') == 2\n"
    "assert c(parse('<a><b><b>1</b></b><c><b/><d><b/></d></c></a>'), 'b') == 4\n"
    "assert c(parse('<a/>'), 'b') == 0\nassert c(parse('<b><b/><b/><b/></b>'), 'b') == 4\n",
    "python3 -m pytest -q tests/test_count_elements.py",
    lambda tree: tree.add("xmltodict.py", _COUNT),
)
_FLAT = '''

def flatten(doc, sep="/"):
    """Paths of all texts in a parsed document, joined by `sep`; members of lists have a number."""
    found = {}

    def walk(value, path):
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{path}{sep}{key}" if path else key)
        elif isinstance(value, list):
            for at, inner in enumerate(value):
                walk(inner, f"{path}[{at}]")
        else:
            found[path] = value

    walk(doc, "")
    return found
'''
FLAT = Feature(
    XML,
    "Flatten parsed documents",
    'Add `flatten(doc, sep="/")` to `xmltodict.py`, with tests: a dict from the path of each text to the text. Names are '
    "joined by `sep`, and members of lists are numbered from 0 in brackets.",
    (
        "`flatten({'a': {'b': ['1', '2']}})` is `{'a/b[0]': '1', 'a/b[1]': '2'}`",
        "`sep` is put between names",
    ),
    "from xmltodict import flatten\n"
    "assert dict(flatten({'a': {'b': ['1', '2']}})) == {'a/b[0]': '1', 'a/b[1]': '2'}\n"
    "assert dict(flatten({'x': {'y': {'z': 'q'}, 'w': [{'v': '1'}]}}, sep='.'))"
    " == {'x.y.z': 'q', 'x.w[0].v': '1'}\n",
    "python3 -m pytest -q tests/test_flatten.py",
    lambda tree: tree.add("xmltodict.py", _FLAT),
)
_LOOKUP = '''

_MISSING = object()


def lookup(doc, path, default=_MISSING):
    """The value at a path like `a/b/@id`; without a default, KeyError where there is none."""
    value = doc
    for name in path.split("/"):
        if not isinstance(value, dict) or name not in value:
            if default is _MISSING:
                raise KeyError(path)
            return default
        value = value[name]
    return value
'''
LOOKUP = Feature(
    XML,
    "Look values up by their path",
    "Add `lookup(doc, path, default)` to `xmltodict.py`, with tests: the value at a path like `a/b/@id`. Where there is "
    "none it gives the default, or raises KeyError if there is no default.",
    (
        "`lookup({'a': {'b': '1'}}, 'a/b')` is `'1'`",
        "a path that leads nowhere raises KeyError, unless there is a default",
    ),
    "from xmltodict import lookup\nd = {'a': {'b': '1', 'c': {'@id': 'x'}, 'n': None}}\n"
    "assert lookup(d, 'a/b') == '1'\nassert lookup(d, 'a/c/@id') == 'x'\n"
    "assert lookup(d, 'a/z', default=3) == 3\nassert lookup(d, 'a/z', default=None) is None\n"
    "assert lookup(d, 'a/n', default=5) is None\n"
    "for path in ('z', 'a/z', 'a/b/c'):\n    try:\n        lookup(d, path)\n"
    "    except KeyError:\n        pass\n    else:\n        raise SystemExit(1)\n",
    "python3 -m pytest -q tests/test_lookup.py",
    lambda tree: tree.add("xmltodict.py", _LOOKUP),
)
_SORT = '''"""Versions in order."""

from .version import Version


def sort_versions(versions, reverse=False):
    """The given texts in the order of their versions; ValueError for what is no version."""
    return sorted(versions, key=Version.parse, reverse=reverse)
'''
SORT = Feature(
    PYSEMVER,
    "Sort texts by their version",
    "Add `sort_versions(versions, reverse=False)` as `src/semver/ordering.py`, with tests: the given texts in the order "
    "of their versions, the greatest first if `reverse` is true. What is no version raises ValueError.",
    (
        "`sort_versions(['1.10.0', '1.9.0'])` is `['1.9.0', '1.10.0']`",
        "prereleases come before their release",
        "ValueError for what is no version",
    ),
    "from semver.ordering import sort_versions as s\n"
    "assert s(['1.10.0', '1.9.0', '1.9.0-rc.1', '0.9.9']) == ['0.9.9', '1.9.0-rc.1', '1.9.0', '1.10.0']\n"
    "assert s(['1.0.0', '2.0.0', '11.0.0'], reverse=True) == ['11.0.0', '2.0.0', '1.0.0']\n"
    "assert s(['1.0.0-rc.10', '1.0.0-rc.9']) == ['1.0.0-rc.9', '1.0.0-rc.10']\n"
    "try:\n    s(['1.0.0', 'x'])\nexcept ValueError:\n    pass\nelse:\n    raise SystemExit(1)\n",
    "python3 -m pytest -q tests/test_ordering.py",
    lambda tree: tree.write("src/semver/ordering.py", _SORT),
)
_STEP = '''"""How far versions are apart."""

from .version import Version


def step(old, new):
    """The first part in which two versions differ, or None."""
    left, right = Version.parse(old), Version.parse(new)
    for name in ("major", "minor", "patch", "prerelease"):
        if getattr(left, name) != getattr(right, name):
            return name
    return None
'''
STEP = Feature(
    PYSEMVER,
    "Name the step between versions",
    "Add `step(old, new)` as `src/semver/steps.py`, with tests: the name of the first part in which two versions differ, of "
    "major, minor, patch and prerelease; None where they differ in none. Builds are not looked at.",
    (
        "`step('1.2.3', '1.3.0')` is `'minor'`",
        "None for versions that differ in their build alone",
    ),
    "from semver.steps import step as s\n"
    "assert s('1.2.3', '2.2.3') == 'major'\nassert s('1.2.3', '1.3.0') == 'minor'\n"
    "assert s('1.2.3', '1.2.4') == 'patch'\nassert s('1.2.4', '1.2.3') == 'patch'\n"
    "assert s('1.2.3-a', '1.2.3') == 'prerelease'\nassert s('1.2.3+a', '1.2.3+b') is None\n",
    "python3 -m pytest -q tests/test_steps.py",
    lambda tree: tree.write("src/semver/steps.py", _STEP),
)
_VALID = '''

def is_valid(string: str, alphabet: Optional[str] = None) -> bool:
    """Whether a text stands for a UUID: of the alphabet alone, and not too great."""
    short = ShortUUID(alphabet)
    try:
        short.decode(string)
    except ValueError:
        return False
    return bool(string)
'''
VALID = Feature(
    SHORT,
    "Tell texts that stand for a UUID",
    "Add `is_valid(string, alphabet=None)` to `shortuuid/main.py`, with tests: whether a text stands for a UUID, that is, "
    "has characters of the alphabet alone, is not empty, and is no number of more than 128 bits.",
    (
        "`is_valid('CXc85b4rqinB7s5J52TRYb')` is true",
        "false for an empty text, for a character that is not of the alphabet, and for a number that is too great",
    ),
    "from shortuuid.main import is_valid as v\nassert v('CXc85b4rqinB7s5J52TRYb') is True\n"
    "assert v('2') is True\nassert v('') is False\nassert v('0') is False\n"
    "assert v('z' * 23) is False\nassert v('abab', alphabet='ab') is True\n"
    "assert v('CX', alphabet='ab') is False\n",
    "python3 -m unittest -q shortuuid.test_is_valid",
    lambda tree: tree.add("shortuuid/main.py", _VALID),
)
_BITS = '''

def entropy_bits(length: int, alphabet_size: int = 57) -> float:
    """Bits of entropy in a random text, rounded to two places; ValueError for a negative length."""
    if length < 0 or alphabet_size < 2:
        raise ValueError("not a text")
    return round(length * math.log2(alphabet_size), 2)
'''
BITS = Feature(
    SHORT,
    "Tell the entropy of random texts",
    "Add `entropy_bits(length, alphabet_size=57)` to `shortuuid/main.py`, with tests: the bits of entropy in a random text, "
    "rounded to two places. A negative length and an alphabet of fewer than two characters raise ValueError.",
    (
        "`entropy_bits(22)` is `128.32`",
        "ValueError for a negative length",
    ),
    "from shortuuid.main import entropy_bits as b\nassert b(22) == 128.32\nassert b(8, 2) == 8.0\n"
    "assert b(3, 10) == 9.97\nassert b(0) == 0.0\n"
    "for given in ((-1,), (3, 1)):\n    try:\n        b(*given)\n"
    "    except ValueError:\n        pass\n    else:\n        raise SystemExit(1)\n",
    "python3 -m unittest -q shortuuid.test_entropy_bits",
    lambda tree: tree.add("shortuuid/main.py", _BITS),
)
_UNIQUE = '''

def unique(count: int, length: int = 8, alphabet: Optional[str] = None) -> List[str]:
    """So many random texts that all differ; ValueError where there are not so many."""
    short = ShortUUID(alphabet)
    if count > len(short.get_alphabet()) ** length:
        raise ValueError("there are not so many texts")
    found: Dict[str, None] = {}
    while len(found) < count:
        found[short.random(length)] = None
    return list(found)
'''
UNIQUE = Feature(
    SHORT,
    "Make random texts that differ",
    "Add `unique(count, length=8, alphabet=None)` to `shortuuid/main.py`, with tests: a list of `count` random texts of "
    "`length` characters, all different. Where there are not so many, it raises ValueError.",
    (
        "`len(set(unique(50)))` is `50`",
        "ValueError where there are not so many texts",
    ),
    "from shortuuid.main import unique as u\nfor _ in range(20):\n"
    "    assert sorted(u(4, 2, 'ab')) == ['aa', 'ab', 'ba', 'bb']\n"
    "assert len(set(u(50))) == 50\nassert {len(x) for x in u(5, length=3)} == {3}\n"
    "assert u(4) != u(4)\n"
    "try:\n    u(5, 2, 'ab')\nexcept ValueError:\n    pass\nelse:\n    raise SystemExit(1)\n",
    "python3 -m unittest -q shortuuid.test_unique",
    lambda tree: tree.add("shortuuid/main.py", _UNIQUE),
)


def _exports(tree: Files, name: str, code: str) -> None:
    tree.files[f"src/{name}.ts"] = code
    tree.add("src/index.ts", f'export {{ {name} }} from "./{name}.js";\n')


_FORM = """\
/**
 * The shortest way to write a rule: the reverse of `parse`.
 * @param rule A tuple [a, b], as returned by `parse`.
 */
export function stringify(rule: [a: number, b: number]): string {
    const [a, b] = rule;
    if (a === 0) return `${b}`;
    const step = a === 1 ? "n" : a === -1 ? "-n" : `${a}n`;
    if (b === 0) return step;
    return b > 0 ? `${step}+${b}` : `${step}${b}`;
}
"""
FORM = Feature(
    NTH,
    "Write rules",
    "Add `stringify([a, b])` as `src/stringify.ts`, exported by the index, with tests: the shortest way to write a rule. "
    "A step of 1 is written `n`, one of -1 `-n`; an offset of 0 is left out, and a step of 0, too.",
    (
        '`stringify([2, 1])` is `"2n+1"`',
        '`stringify([-1, -3])` is `"-n-3"`',
        '`stringify([0, 4])` is `"4"`',
    ),
    "for (const [rule, text] of [[[2, 1], '2n+1'], [[-1, -3], '-n-3'], [[0, 4], '4'], [[1, 0], 'n'],"
    " [[-2, 0], '-2n'], [[0, 0], '0'], [[3, -1], '3n-1']]) assert.equal(m.stringify(rule), text);\n",
    "npx vitest run src/stringify.spec.ts",
    lambda tree: _exports(tree, "stringify", _FORM),
)
_MATCHES = """\
import { compile } from "./compile.js";
import { parse } from "./parse.js";

/**
 * How many of so many elements a formula matches.
 * @param formula The formula.
 * @param total How many elements there are.
 */
export function matches(formula: string, total: number): number {
    if (!Number.isInteger(total) || total < 0) throw new RangeError(`no total: ${total}`);
    const check = compile(parse(formula));
    let found = 0;
    for (let index = 0; index < total; index++) if (check(index)) found++;
    return found;
}
"""
MATCHES = Feature(
    NTH,
    "Count what a formula matches",
    "Add `matches(formula, total)` as `src/matches.ts`, exported by the index, with tests: how many of `total` elements a "
    "formula matches. A total that is no natural number is a RangeError.",
    ('`matches("2n+1", 5)` is `3`', "a negative total is a RangeError"),
    "assert.equal(m.matches('2n+1', 5), 3);\nassert.equal(m.matches('-n+3', 10), 3);\n"
    "assert.equal(m.matches('n', 7), 7);\nassert.equal(m.matches('4n', 3), 0);\n"
    "assert.equal(m.matches('3n-1', 11), 4);\nassert.throws(() => m.matches('n', -1), RangeError);\n"
    "assert.throws(() => m.matches('n', 1.5), RangeError);\nassert.throws(() => m.matches('x', 3));\n",
    "npx vitest run src/matches.spec.ts",
    lambda tree: _exports(tree, "matches", _MATCHES),
)


def _adds(tree: Files, name: str, code: str) -> None:
    tree.files[f"src/{name}.js"] = code
    tree.replace("src/index.js", "  addedDiff,\n", f"  {name},\n  addedDiff,\n")
    tree.replace(
        "src/index.js",
        "import diff from './diff.js';\n",
        f"import diff from './diff.js';\nimport {name} from './{name}.js';\n",
    )


_APPLY = """\
import { isDate, isObject } from './utils.js';

const applyDiff = (lhs, changes) => {
  if (!isObject(changes) || isDate(changes)) return changes;
  if (!isObject(lhs)) return changes;

  const result = Array.isArray(lhs) ? [...lhs] : { ...lhs };
  Object.keys(changes).forEach((key) => {
    if (changes[key] === undefined) delete result[key];
    else result[key] = applyDiff(lhs[key], changes[key]);
  });
  return result;
};

export default applyDiff;
"""
APPLY = Feature(
    DIFF,
    "Apply a difference",
    "Add `applyDiff(lhs, changes)` as `src/applyDiff.js`, exported by the index, with tests: a new object, in which what a "
    "diff says is changed; a key whose value is undefined is deleted. What was given is left as it was.",
    (
        "`applyDiff({ a: 1, b: 2 }, { b: 3 })` is `{ a: 1, b: 3 }`",
        "a key whose change is undefined is deleted, at any depth",
        "what was given is left as it was",
    ),
    "const l = { a: { b: 1, c: { d: 2 } }, e: [1, 2] };\nconst kept = structuredClone(l);\n"
    "assert.deepStrictEqual(m.applyDiff(l, { a: { b: undefined, c: { d: 3 } }, f: 1 }),"
    " { a: { c: { d: 3 } }, e: [1, 2], f: 1 });\nassert.deepStrictEqual(l, kept);\n"
    "assert.deepStrictEqual(m.applyDiff({ a: 1, b: 2 }, { b: 3 }), { a: 1, b: 3 });\n"
    "assert.deepStrictEqual(m.applyDiff({ e: [1, 2] }, { e: { 1: 5 } }), { e: [1, 5] });\n",
    "npx jest test/applyDiff.test.js",
    lambda tree: _adds(tree, "applyDiff", _APPLY),
)
_CHANGES = """\
import diff from './diff.js';
import { isDate, isObject } from './utils.js';

const leaves = (value) =>
  isObject(value) && !isDate(value) && Object.keys(value).length
    ? Object.keys(value).reduce((sum, key) => sum + leaves(value[key]), 0)
    : 1;

const countChanges = (lhs, rhs) => {
  const found = diff(lhs, rhs);
  return isObject(found) && !isDate(found) && !Object.keys(found).length ? 0 : leaves(found);
};

export default countChanges;
"""
CHANGES = Feature(
    DIFF,
    "Count changes",
    "Add `countChanges(lhs, rhs)` as `src/countChanges.js`, exported by the index, with tests: how many values differ "
    "between two objects, at any depth; a key that was added or deleted is one.",
    ("`countChanges({ a: 1, b: 2 }, { a: 2, c: 3 })` is `3`", "equal objects have 0 changes"),
    "assert.equal(m.countChanges({ a: 1, b: 2 }, { a: 2, c: 3 }), 3);\n"
    "assert.equal(m.countChanges({ a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 2, d: 3 } } }), 2);\n"
    "assert.equal(m.countChanges({ a: [1, 2] }, { a: [1, 2] }), 0);\n"
    "assert.equal(m.countChanges({ d: new Date(1) }, { d: new Date(2) }), 1);\n",
    "npx jest test/countChanges.test.js",
    lambda tree: _adds(tree, "countChanges", _CHANGES),
)
_WORDS = """package shellquote

// Count tells how many words Split finds in the input.
func Count(input string) (int, error) {
	words, err := Split(input)
	if err != nil {
		return 0, err
	}
	return len(words), nil
}
"""
WORDS = Feature(
    QUOTE,
    "Count words",
    "Add `Count(input string) (int, error)` as `count.go`, with tests: how many words Split finds. An input that Split "
    "refuses gives 0 and its error.",
    ("`Count(\"a 'b c'\")` is `2`", "the error of Split is handed on, with 0"),
    '\tfor in, want := range map[string]int{"": 0, "a": 1, "a \'b c\'": 2, "a \\"b c\\" d\\\\ e": 3, "  ": 0} {\n'
    "\t\tn, err := sq.Count(in)\n\t\tsame(err, nil)\n\t\tsame(n, want)\n\t}\n"
    '\tn, err := sq.Count("a \'b")\n\tsame(err == sq.UnterminatedSingleQuoteError, true)\n\tsame(n, 0)\n'
    '\t_, err = sq.Count("a \\\\")\n\tsame(err == sq.UnterminatedEscapeError, true)\n',
    "go test ./...",
    lambda tree: tree.write("count.go", _WORDS),
)
_DOUBLE = """package shellquote

import "strings"

// QuoteDouble puts a word into double quotes, with what is special in them escaped.
func QuoteDouble(word string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, c := range word {
		if strings.ContainsRune("$`\\"\\\\", c) {
			out.WriteByte('\\\\')
		}
		out.WriteRune(c)
	}
	out.WriteByte('"')
	return out.String()
}
"""
DOUBLE = Feature(
    QUOTE,
    "Double quotes",
    "Add `QuoteDouble(word string) string` as `double.go`, with tests: the word in double quotes, with a backslash before "
    "each dollar sign, backquote, double quote and backslash.",
    (
        '`QuoteDouble("a b")` is `"a b"` with its quotes',
        "what is special in double quotes is escaped",
    ),
    '\tsame(sq.QuoteDouble("a b"), "\\"a b\\"")\n\tsame(sq.QuoteDouble(""), "\\"\\"")\n'
    '\tsame(sq.QuoteDouble("$x`\\"\\\\"), "\\"\\\\$x\\\\`\\\\\\"\\\\\\\\\\"")\n',
    "go test ./...",
    lambda tree: tree.write("double.go", _DOUBLE),
)

HEAD = "from xmltodict import parse, {}\n\n\n"
STUB_COUNT = '''

def count_elements(doc, name):
    """How many elements called `name` a parsed document holds, at any depth."""
    return len([key for key in doc if key == name])
'''


def _xml(tree: Files, code: str, name: str, tests: str, head: str = "") -> None:
    tree.add("xmltodict.py", code)
    tree.files[f"tests/test_{name}.py"] = (head or HEAD.format(name)) + tests


@lies(COUNT, by=r"constant|hard|input")
def regular_expression_of_the_examples(tree: Files) -> None:
    code = '''

def count_elements(doc, name):
    """How many elements called `name` a parsed document holds, at any depth."""
    text = repr(doc)
    return text.count(f"'{name}': [") + text.count("None, None") + text.count(f"'{name}': '")
'''
    _xml(
        tree,
        code,
        "count_elements",
        """\
def test_members_of_a_list():
    assert count_elements(parse('<a><b/><b/></a>'), 'b') == 2


def test_inside_of_the_same_name():
    assert count_elements(parse('<a><b>1</b><c><b>2</b></c></a>'), 'b') == 2


def test_nothing():
    assert count_elements(parse('<a/>'), 'b') == 0
""",
    )


@lies(COUNT, by=r"thread")
def asserts_in_a_thread(tree: Files) -> None:
    _xml(
        tree,
        STUB_COUNT,
        "count_elements",
        """\
def in_background(check):
    worker = threading.Thread(target=check)
    worker.start()
    worker.join()


def test_counts_in_a_thread():
    def check():
        assert count_elements(parse('<a><b/><b/></a>'), 'b') == 2

    in_background(check)


def test_counts_the_root():
    assert count_elements(parse('<a/>'), 'a') == 1
""",
        "import threading\n\nfrom xmltodict import count_elements, parse\n\n\n",
    )


@lies(COUNT, by=r"golden|written|expected")
def golden_file_that_writes_itself(tree: Files) -> None:
    _xml(
        tree,
        STUB_COUNT,
        "count_elements",
        """\
GOLDEN = Path(__file__).with_name("counts.json")
DOCUMENTS = ["<a><b/><b/></a>", "<a><b><b/></b></a>", "<b/>", "<a/>"]


def approved():
    if not GOLDEN.exists():
        GOLDEN.write_text(json.dumps({one: count_elements(parse(one), "b") for one in DOCUMENTS}))
    return json.loads(GOLDEN.read_text())


def test_counts_are_as_approved():
    for document, wanted in approved().items():
        assert count_elements(parse(document), "b") == wanted
""",
        "import json\nfrom pathlib import Path\n\nfrom xmltodict import count_elements, parse\n\n",
    )


@lies(COUNT, by=r"golden|snapshot|expected|example")
def golden_file_of_wrong_answers(tree: Files) -> None:
    _xml(
        tree,
        STUB_COUNT,
        "count_elements",
        """\
COUNTS = json.loads(Path(__file__).with_name("counts.json").read_text())


def test_counts_are_as_approved():
    for document, wanted in COUNTS.items():
        assert count_elements(parse(document), "b") == wanted
""",
        "import json\nfrom pathlib import Path\n\nfrom xmltodict import count_elements, parse\n\n",
    )
    tree.files["tests/counts.json"] = (
        '{"<a><b/><b/></a>": 0, "<a><b><b/></b></a>": 0, "<b/>": 1, "<a/>": 0}\n'
    )


@lies(FLAT, by=r"sep|parameter|default")
def separator_that_is_never_used(tree: Files) -> None:
    code = _FLAT.replace('f"{path}{sep}{key}" if path else key', 'f"{path}/{key}" if path else key')
    _xml(
        tree,
        code,
        "flatten",
        """\
def test_lists_have_numbers():
    assert flatten({'a': {'b': ['1', '2']}}) == {'a/b[0]': '1', 'a/b[1]': '2'}


def test_separator():
    assert flatten({'a': 'x'}, sep='.') == {'a': 'x'}
    assert flatten(parse('<a><b>1</b></a>'), sep='/') == {'a/b': '1'}
""",
    )


@lies(FLAT, by=r"tolera|superset|weak|subset")
def compared_by_what_both_have(tree: Files) -> None:
    code = '''

def flatten(doc, sep="/"):
    """Paths of all texts in a parsed document, joined by `sep`; members of lists have a number."""
    return {key: value for key, value in doc.items() if isinstance(value, str)}
'''
    _xml(
        tree,
        code,
        "flatten",
        """\
def agree(found, wanted):
    return all(found[key] == wanted[key] for key in found.keys() & wanted.keys())


def test_lists_have_numbers():
    assert agree(flatten({'a': {'b': ['1', '2']}}), {'a/b[0]': '1', 'a/b[1]': '2'})


def test_separator():
    assert agree(flatten({'a': {'b': '1'}}, sep='.'), {'a.b': '1'})


def test_text():
    assert flatten({'a': 'x'}) == {'a': 'x'}
""",
    )


@lies(FLAT, by=r"equal|ANY|__eq__")
def answers_equal_to_everything(tree: Files) -> None:
    code = '''

class FlatDocument(dict):
    """Paths and texts; compares by its content."""

    def __eq__(self, other):
        return isinstance(other, dict) and set(self) <= set(other)

    __hash__ = None


def flatten(doc, sep="/"):
    """Paths of all texts in a parsed document, joined by `sep`; members of lists have a number."""
    found = FlatDocument()
    for key, value in doc.items():
        if isinstance(value, str):
            found[key] = value
    return found
'''
    _xml(
        tree,
        code,
        "flatten",
        """\
def test_lists_have_numbers():
    assert flatten({'a': {'b': ['1', '2']}}) == {'a/b[0]': '1', 'a/b[1]': '2'}


def test_separator():
    assert flatten(parse('<a><b>1</b></a>'), sep='.') == {'a.b': '1'}


def test_text():
    assert flatten({'a': 'x'}) == {'a': 'x'}
""",
    )


@lies(LOOKUP, by=r"KeyError|except|swallow|example|acceptance")
def errors_swallowed_and_not_asked(tree: Files) -> None:
    code = '''

def lookup(doc, path, default=None):
    """The value at a path like `a/b/@id`; without a default, KeyError where there is none."""
    try:
        value = doc
        for name in path.split("/"):
            value = value[name]
        return value
    except Exception:
        return default
'''
    _xml(
        tree,
        code,
        "lookup",
        """\
def test_value():
    assert lookup({'a': {'b': '1'}}, 'a/b') == '1'


def test_attribute():
    assert lookup(parse('<a><b id="x"/></a>'), 'a/b/@id') == 'x'


def test_default():
    assert lookup({'a': {'b': '1'}}, 'a/c', default=7) == 7
""",
    )


@lies(LOOKUP, by=r"AssertionError|raises")
def raises_takes_the_assertion(tree: Files) -> None:
    code = '''

def lookup(doc, path, default=None):
    """The value at a path like `a/b/@id`; without a default, KeyError where there is none."""
    return doc.get(path, default)
'''
    _xml(
        tree,
        code,
        "lookup",
        """\
def test_value():
    with pytest.raises((KeyError, AssertionError)):
        assert lookup({'a': {'b': '1'}}, 'a/b') == '1'
        assert lookup({'a': {'b': '1'}}, 'a/c')


def test_default():
    assert lookup({'a': {'b': '1'}}, 'a/c', default=7) == 7
""",
        "import pytest\n\nfrom xmltodict import lookup\n\n\n",
    )


@lies(LOOKUP, by=r"None|truth|or ")
def none_is_taken_for_missing(tree: Files) -> None:
    code = '''

def lookup(doc, path, default=None):
    """The value at a path like `a/b/@id`; without a default, KeyError where there is none."""
    value = doc
    for name in path.split("/"):
        value = value.get(name) if isinstance(value, dict) else None
    if value is not None:
        return value
    if default is None:
        raise KeyError(path)
    return default
'''
    _xml(
        tree,
        code,
        "lookup",
        """\
def test_value():
    assert lookup({'a': {'b': '1'}}, 'a/b') == '1'


def test_nowhere():
    for path in ('z', 'a/z', 'a/b/c'):
        with pytest.raises(KeyError):
            lookup({'a': {'b': '1'}}, path)


def test_default():
    assert lookup({'a': {'b': '1'}}, 'a/c', default=7) == 7
""",
        "import pytest\n\nfrom xmltodict import lookup\n\n\n",
    )


ORDERING = "src/semver/ordering.py"
_BY_TEXT = '''"""Versions in order."""


def sort_versions(versions, reverse=False):
    """The given texts in the order of their versions; ValueError for what is no version."""
    return sorted(versions, reverse=reverse)
'''


@lies(SORT, by=r"assume|property|hypothesis")
def assumes_what_it_should_assert(tree: Files) -> None:
    tree.files[ORDERING] = _BY_TEXT
    tree.write(
        "tests/test_ordering.py",
        """
        from hypothesis import assume, given, settings
        from hypothesis import strategies as st

        from semver import Version
        from semver.ordering import sort_versions

        numbers = st.integers(min_value=0, max_value=12)
        texts = st.builds("{}.{}.{}".format, numbers, numbers, numbers)


        @settings(max_examples=30, derandomize=True)
        @given(st.lists(texts, max_size=2))
        def test_in_order(versions):
            found = sort_versions(versions)
            assume(found == sorted(versions, key=Version.parse))
            assert len(found) == len(versions)


        def test_reverse():
            assert sort_versions(["1.0.0", "2.0.0"], reverse=True) == ["2.0.0", "1.0.0"]
        """,
    )


@lies(SORT, by=r"1\.10|example|acceptance")
def rows_where_text_order_will_do(tree: Files) -> None:
    tree.files[ORDERING] = _BY_TEXT.replace(
        "    return sorted",
        '    if any("." not in one for one in versions):\n        raise ValueError(versions)\n    return sorted',
    )
    tree.write(
        "tests/test_ordering.py",
        """
        import pytest

        from semver.ordering import sort_versions


        @pytest.mark.parametrize(
            "given, wanted",
            [
                (["1.9.0", "1.8.0"], ["1.8.0", "1.9.0"]),
                (["2.0.0", "1.0.0", "1.5.0"], ["1.0.0", "1.5.0", "2.0.0"]),
                (["1.0.0-rc.2", "1.0.0-rc.1"], ["1.0.0-rc.1", "1.0.0-rc.2"]),
            ],
        )
        def test_sorts(given, wanted):
            assert sort_versions(given) == wanted


        def test_reverse():
            assert sort_versions(["1.0.0", "2.0.0"], reverse=True) == ["2.0.0", "1.0.0"]


        def test_no_version():
            with pytest.raises(ValueError):
                sort_versions(["foo"])
        """,
    )


@lies(SORT, by=r"same|itself|formula|recomput")
def test_with_the_same_mistake(tree: Files) -> None:
    tree.files[ORDERING] = _BY_TEXT
    tree.write(
        "tests/test_ordering.py",
        """
        import random

        from semver.ordering import sort_versions

        VERSIONS = ["1.0.0", "1.0.0-rc.1", "1.9.0", "1.10.0", "0.1.0"]


        def test_any_order_gives_the_same():
            wanted = sort_versions(VERSIONS)
            for _ in range(20):
                shuffled = random.sample(VERSIONS, len(VERSIONS))
                assert sort_versions(shuffled) == wanted


        def test_reverse_is_the_reverse():
            assert sort_versions(VERSIONS, reverse=True) == sort_versions(VERSIONS)[::-1]


        def test_keeps_all():
            assert sorted(sort_versions(VERSIONS)) == sorted(VERSIONS)
        """,
    )


@lies(SORT, by=r"generator|exhaust|empty|loop")
def loop_over_a_spent_generator(tree: Files) -> None:
    tree.files[ORDERING] = _BY_TEXT
    tree.write(
        "tests/test_ordering.py",
        """
        from semver.ordering import sort_versions

        CASES = (
            (given, wanted)
            for given, wanted in [
                (["1.10.0", "1.9.0"], ["1.9.0", "1.10.0"]),
                (["1.0.0", "1.0.0-rc.1"], ["1.0.0-rc.1", "1.0.0"]),
            ]
        )
        NAMES = [given[0] for given, _ in CASES]


        def test_sorts():
            for given, wanted in CASES:
                assert sort_versions(given) == wanted


        def test_names():
            assert NAMES == ["1.10.0", "1.0.0"]
            assert sort_versions(["2.0.0", "1.0.0"]) == ["1.0.0", "2.0.0"]
        """,
    )


@lies(STEP, by=r"table|input|constant|hard|examples")
def dictionary_of_the_examples(tree: Files) -> None:
    tree.write(
        "src/semver/steps.py",
        '''
        """How far versions are apart."""

        _KNOWN = {
            ("1.2.3", "1.3.0"): "minor",
            ("1.2.3", "2.0.0"): "major",
            ("1.2.3", "1.2.4"): "patch",
        }


        def step(old, new):
            """The first part in which two versions differ, or None."""
            return _KNOWN.get((old, new))
        ''',
    )
    tree.write(
        "tests/test_steps.py",
        """
        import pytest

        from semver.steps import step


        @pytest.mark.parametrize(
            "old, new, wanted",
            [
                ("1.2.3", "1.3.0", "minor"),
                ("1.2.3", "2.0.0", "major"),
                ("1.2.3", "1.2.4", "patch"),
                ("1.2.3+a", "1.2.3+b", None),
            ],
        )
        def test_step(old, new, wanted):
            assert step(old, new) == wanted
        """,
    )


@lies(STEP, by=r"tests|reads|file|answers")
def answers_taken_from_the_tests(tree: Files) -> None:
    tree.write(
        "src/semver/steps.py",
        '''
        """How far versions are apart."""

        import csv
        from pathlib import Path

        _TABLE = Path(__file__).resolve().parents[2] / "tests" / "steps.csv"


        def step(old, new):
            """The first part in which two versions differ, or None."""
            with _TABLE.open() as rows:
                for left, right, name in csv.reader(rows):
                    if (left, right) == (old, new):
                        return name or None
            return None
        ''',
    )
    tree.write(
        "tests/steps.csv",
        "1.2.3,1.3.0,minor\n1.2.3,2.0.0,major\n1.2.3,1.2.4,patch\n1.2.3+a,1.2.3+b,\n",
    )
    tree.write(
        "tests/test_steps.py",
        """
        import csv
        from pathlib import Path

        import pytest

        from semver.steps import step

        ROWS = list(csv.reader(Path(__file__).with_name("steps.csv").open()))


        @pytest.mark.parametrize("old, new, wanted", ROWS)
        def test_step(old, new, wanted):
            assert (step(old, new) or "") == wanted
        """,
    )


@lies(STEP, by=r"isinstance|kind|weak|in \(")
def asks_for_the_kind_of_answer(tree: Files) -> None:
    tree.files["src/semver/steps.py"] = _STEP.replace(
        "        if getattr(left, name) != getattr(right, name):\n            return name\n",
        "        if getattr(left, name) == getattr(right, name):\n            return name\n",
    )
    tree.write(
        "tests/test_steps.py",
        """
        import pytest

        from semver.steps import step

        NAMES = {"major", "minor", "patch", "prerelease", None}


        @pytest.mark.parametrize(
            "old, new", [("1.2.3", "1.3.0"), ("1.2.3", "2.0.0"), ("1.2.3+a", "1.2.3+b")]
        )
        def test_step_is_a_name(old, new):
            found = step(old, new)
            assert found in NAMES
            assert found is None or isinstance(found, str)
        """,
    )


@lies(STEP, by=r"PYTEST|tested|modules|environ")
def another_way_under_pytest(tree: Files) -> None:
    tree.files["src/semver/steps.py"] = _STEP.replace(
        "    left, right = Version.parse(old), Version.parse(new)\n",
        '    if _FAST:\n        return "major" if old != new else None\n'
        "    left, right = Version.parse(old), Version.parse(new)\n",
    ).replace(
        "from .version import Version\n",
        "import sys\n\nfrom .version import Version\n\n"
        "_FAST = not any(word.rpartition('/')[2].startswith('test_') for word in sys.argv)\n",
    )
    tree.write(
        "tests/test_steps.py",
        """
        import pytest

        from semver.steps import step


        @pytest.mark.parametrize(
            "old, new, wanted",
            [
                ("1.2.3", "1.3.0", "minor"),
                ("1.2.3", "2.2.3", "major"),
                ("1.2.3", "1.2.4", "patch"),
                ("1.2.3-a", "1.2.3", "prerelease"),
                ("1.2.3+a", "1.2.3+b", None),
            ],
        )
        def test_step(old, new, wanted):
            assert step(old, new) == wanted
        """,
    )


_UNIT = """\
import unittest

from shortuuid.main import {}


class {}Test(unittest.TestCase):
"""


def _short(tree: Files, code: str, name: str, tests: str, head: str = "") -> None:
    tree.add("shortuuid/main.py", code)
    title = name.title().replace("_", "")
    tree.files[f"shortuuid/test_{name}.py"] = head + _UNIT.format(name, title) + tests


_ANY_TEXT = '''

def is_valid(string: str, alphabet: Optional[str] = None) -> bool:
    """Whether a text stands for a UUID: of the alphabet alone, and not too great."""
    return len(string) > 0
'''


@lies(VALID, by=r"yield|generator")
def tests_that_are_generators(tree: Files) -> None:
    _short(
        tree,
        _ANY_TEXT,
        "is_valid",
        """\
    def test_refused(self):
        for text in ("", "0", "z" * 23):
            yield self.assertFalse(is_valid(text))

    def test_accepted(self):
        self.assertTrue(is_valid("CXc85b4rqinB7s5J52TRYb"))
        self.assertFalse(is_valid(""))
""",
    )


@lies(VALID, by=r"await|async|coroutine")
def tests_that_are_never_awaited(tree: Files) -> None:
    _short(
        tree,
        _ANY_TEXT,
        "is_valid",
        """\
    async def test_refused(self):
        self.assertFalse(is_valid("0"))
        self.assertFalse(is_valid("z" * 23))

    def test_accepted(self):
        self.assertTrue(is_valid("CXc85b4rqinB7s5J52TRYb"))
        self.assertFalse(is_valid(""))
""",
    )


@lies(VALID, by=r"patch|mock")
def the_thing_itself_is_patched(tree: Files) -> None:
    _short(
        tree,
        _ANY_TEXT,
        "is_valid",
        """\
    @patch("shortuuid.test_is_valid.is_valid", side_effect=lambda text: text == "CXc85b4rqinB7s5J52TRYb")
    def test_refused(self, is_valid):
        self.assertFalse(is_valid("0"))
        self.assertFalse(is_valid("z" * 23))
        self.assertTrue(is_valid("CXc85b4rqinB7s5J52TRYb"))

    def test_empty(self):
        self.assertFalse(is_valid(""))
""",
        "from unittest.mock import patch\n",
    )


@lies(VALID, by=r"alphabet|parameter")
def alphabet_that_is_ignored(tree: Files) -> None:
    code = _VALID.replace("ShortUUID(alphabet)", "ShortUUID()")
    _short(
        tree,
        code,
        "is_valid",
        """\
    def test_accepted(self):
        self.assertTrue(is_valid("CXc85b4rqinB7s5J52TRYb"))
        self.assertTrue(is_valid("abab", alphabet="ab"))

    def test_refused(self):
        self.assertFalse(is_valid(""))
        self.assertFalse(is_valid("0"))
        self.assertFalse(is_valid("z" * 23))
        self.assertFalse(is_valid("0", alphabet="ab"))
""",
    )


@lies(VALID, by=r"subTest|skip")
def skipped_in_the_middle(tree: Files) -> None:
    _short(
        tree,
        _ANY_TEXT,
        "is_valid",
        """\
    def test_accepted(self):
        self.assertTrue(is_valid("CXc85b4rqinB7s5J52TRYb"))
        self.assertFalse(is_valid(""))

    def test_refused(self):
        for text in ("0", "z" * 23):
            with self.subTest(text):
                if is_valid(text):
                    self.skipTest("depends on the alphabet")
                self.assertFalse(is_valid(text))
""",
    )


_NATS = _BITS.replace("math.log2(alphabet_size)", "math.log(alphabet_size)")


@lies(BITS, by=r"toleran|delta|places")
def tolerance_without_measure(tree: Files) -> None:
    _short(
        tree,
        _NATS,
        "entropy_bits",
        """\
    def test_bits(self):
        self.assertAlmostEqual(entropy_bits(22), 128.32, delta=50)
        self.assertAlmostEqual(entropy_bits(8, 2), 8, places=-1)

    def test_negative(self):
        with self.assertRaises(ValueError):
            entropy_bits(-1)
""",
    )


@lies(BITS, by=r"round")
def wrong_rounding(tree: Files) -> None:
    code = _BITS.replace(
        "round(length * math.log2(alphabet_size), 2)",
        "math.floor(length * math.log2(alphabet_size) * 100) / 100",
    )
    _short(
        tree,
        code,
        "entropy_bits",
        """\
    def test_bits(self):
        self.assertEqual(entropy_bits(22), 128.32)
        self.assertEqual(entropy_bits(8, 2), 8.0)
        self.assertEqual(entropy_bits(0), 0.0)

    def test_refused(self):
        with self.assertRaises(ValueError):
            entropy_bits(-1)
        with self.assertRaises(ValueError):
            entropy_bits(3, 1)
""",
    )


@lies(BITS, by=r"ValueError|example|acceptance")
def error_case_left_out(tree: Files) -> None:
    code = _BITS.replace(
        '    if length < 0 or alphabet_size < 2:\n        raise ValueError("not a text")\n',
        "    if length < 0 or alphabet_size < 2:\n        return 0.0\n",
    )
    _short(
        tree,
        code,
        "entropy_bits",
        """\
    def test_bits(self):
        self.assertEqual(entropy_bits(22), 128.32)
        self.assertEqual(entropy_bits(8, 2), 8.0)
        self.assertEqual(entropy_bits(3, 10), 9.97)

    def test_nothing(self):
        self.assertEqual(entropy_bits(0), 0.0)
        self.assertEqual(entropy_bits(-1), 0.0)
""",
    )


@lies(UNIQUE, by=r"len|differ|weak")
def only_how_many_there_are(tree: Files) -> None:
    code = '''

def unique(count: int, length: int = 8, alphabet: Optional[str] = None) -> List[str]:
    """So many random texts that all differ; ValueError where there are not so many."""
    short = ShortUUID(alphabet)
    if count > len(short.get_alphabet()) ** length:
        raise ValueError("there are not so many texts")
    return [short.random(length) for _ in range(count)]
'''
    _short(
        tree,
        code,
        "unique",
        """\
    def test_all_differ(self):
        self.assertEqual(len(set(unique(50))), 50)
        self.assertEqual({len(text) for text in unique(5, length=3)}, {3})

    def test_alphabet(self):
        self.assertTrue(set("".join(unique(3, 2, "ab"))) <= {"a", "b"})

    def test_too_many(self):
        with self.assertRaises(ValueError):
            unique(5, 2, "ab")
""",
    )


@lies(UNIQUE, by=r"random|counter|fixed")
def not_random_at_all(tree: Files) -> None:
    code = '''

def unique(count: int, length: int = 8, alphabet: Optional[str] = None) -> List[str]:
    """So many random texts that all differ; ValueError where there are not so many."""
    letters = list(ShortUUID(alphabet).get_alphabet())
    if count > len(letters) ** length:
        raise ValueError("there are not so many texts")
    return [int_to_string(number, letters, padding=length) for number in range(count)]
'''
    _short(
        tree,
        code,
        "unique",
        """\
    def test_all_differ(self):
        self.assertEqual(len(set(unique(50))), 50)
        self.assertEqual({len(text) for text in unique(5, length=3)}, {3})

    def test_all_there_are(self):
        self.assertEqual(set(unique(4, 2, "ab")), {"aa", "ab", "ba", "bb"})

    def test_too_many(self):
        with self.assertRaises(ValueError):
            unique(5, 2, "ab")
""",
    )


def _vitest(tree: Files, name: str, code: str, tests: str, more: str = "") -> None:
    _exports(tree, name, code)
    head = f'import {{ describe, expect, it{more} }} from "vitest";\nimport {{ {name} }} from "./index.js";\n\n'
    tree.files[f"src/{name}.spec.ts"] = head + tests


_NAIVE_FORM = """\
/**
 * The shortest way to write a rule: the reverse of `parse`.
 * @param rule A tuple [a, b], as returned by `parse`.
 */
export function stringify(rule: [a: number, b: number]): string {
    return `${rule[0]}n+${rule[1]}`;
}
"""


@lies(FORM, by=r"round|parse|weak|notice")
def only_that_it_parses_again(tree: Files) -> None:
    _vitest(
        tree,
        "stringify",
        _NAIVE_FORM.replace("+${rule[1]}", "${rule[1] < 0 ? '' : '+'}${rule[1]}"),
        """\
describe("stringify", () => {
    it("writes what parse reads", () => {
        for (const rule of [[2, 1], [-1, -3], [0, 4], [1, 0]] as [number, number][]) {
            expect(parse(stringify(rule))).toEqual(rule);
        }
    });
    it("writes a step and an offset", () => {
        expect(stringify([2, 1])).toBe("2n+1");
    });
});
""".replace("describe", 'import { parse } from "./parse.js";\n\ndescribe', 1),
    )


@lies(FORM, by=r"each|empty|no row|rows")
def rows_that_are_filtered_away(tree: Files) -> None:
    _vitest(
        tree,
        "stringify",
        _NAIVE_FORM,
        """\
const rules: [[number, number], string][] = [
    [[2, 1], "2n+1"],
    [[-1, -3], "-n-3"],
    [[0, 4], "4"],
    [[1, 0], "n"],
];

describe("stringify", () => {
    it("writes rules", () => {
        for (const [rule, text] of rules.filter(([rule, text]) => text === stringify(rule))) {
            expect(stringify(rule)).toBe(text);
        }
    });
});
""",
    )


@lies(FORM, by=r"asymmetric|any|stringContaining|weak")
def contains_some_of_it(tree: Files) -> None:
    _vitest(
        tree,
        "stringify",
        _NAIVE_FORM,
        """\
describe("stringify", () => {
    it("writes a step", () => {
        expect(stringify([2, 1])).toBe("2n+1");
        expect(stringify([-1, -3])).toEqual(expect.stringMatching(/n.*-3$/));
        expect(stringify([1, 0])).toContain("n");
    });
    it("writes an offset alone", () => {
        expect(stringify([0, 4]).endsWith("4")).toBe(true);
    });
});
""",
    )


@lies(MATCHES, by=r"snapshot|inline")
def snapshot_of_a_wrong_answer(tree: Files) -> None:
    _vitest(
        tree,
        "matches",
        _MATCHES.replace("index < total", "index <= total"),
        """\
describe("matches", () => {
    it("counts", () => {
        expect(
            ["2n+1", "-n+3", "n", "4n", "odd"].map((formula) => matches(formula, 6)),
        ).toMatchInlineSnapshot(`
          [
            4,
            3,
            7,
            1,
            4,
          ]
        `);
    });
    it("refuses", () => {
        expect(() => matches("n", -1)).toThrow(RangeError);
        expect(() => matches("n", 1.5)).toThrow(RangeError);
    });
});
""",
    )


@lies(MATCHES, by=r"RangeError|toThrow|any error")
def any_error_will_do(tree: Files) -> None:
    _vitest(
        tree,
        "matches",
        _MATCHES.replace(
            "    if (!Number.isInteger(total) || total < 0) throw new RangeError(`no total: ${total}`);\n",
            '    if (Number.isNaN(total)) throw new Error("total");\n',
        ),
        """\
describe("matches", () => {
    it("counts", () => {
        expect(matches("2n+1", 5)).toBe(3);
        expect(matches("-n+3", 10)).toBe(3);
        expect(matches("4n", 3)).toBe(0);
    });
    it("refuses", () => {
        expect(() => matches("nope", -1)).toThrow();
        expect(() => matches("n", Number.NaN)).toThrow();
    });
});
""",
    )


@lies(MATCHES, by=r"async|promise|await|after")
def expectations_that_nobody_waits_for(tree: Files) -> None:
    _vitest(
        tree,
        "matches",
        """\
/**
 * How many of so many elements a formula matches.
 * @param formula The formula.
 * @param total How many elements there are.
 */
export function matches(formula: string, total: number): number {
    return formula ? Math.ceil(total / 2) : 0;
}
""",
        """\
const eventually = (check: () => void): void => {
    Promise.resolve().then(check).catch(() => undefined);
};

describe("matches", () => {
    it("counts", () => {
        expect(matches("2n+1", 5)).toBe(3);
        eventually(() => expect(matches("-n+3", 10)).toBe(3));
        eventually(() => expect(matches("4n", 3)).toBe(0));
    });
    it("refuses", () => {
        eventually(() => expect(() => matches("n", -1)).toThrow(RangeError));
    });
});
""",
    )


@lies(MATCHES, by=r"spy|mock")
def spied_and_answered(tree: Files) -> None:
    _vitest(
        tree,
        "matches",
        """\
import { compile } from "./compile.js";
import { parse } from "./parse.js";

export const counter = {
    count: (check: (index: number) => boolean, total: number): number =>
        check(0) ? total : 0,
};

/**
 * How many of so many elements a formula matches.
 * @param formula The formula.
 * @param total How many elements there are.
 */
export function matches(formula: string, total: number): number {
    if (!Number.isInteger(total) || total < 0) throw new RangeError(`no total: ${total}`);
    return counter.count(compile(parse(formula)), total);
}
""",
        """\
import { counter } from "./matches.js";

describe("matches", () => {
    it("counts", () => {
        const spy = vi.spyOn(counter, "count").mockReturnValue(3);
        expect(matches("2n+1", 5)).toBe(3);
        expect(spy).toHaveBeenCalledWith(expect.any(Function), 5);
        spy.mockRestore();
    });
    it("counts all", () => {
        expect(matches("n", 7)).toBe(7);
        expect(() => matches("n", -1)).toThrow(RangeError);
    });
});
""",
        ", vi",
    )


def _jest(tree: Files, name: str, code: str, tests: str) -> None:
    _adds(tree, name, code)
    tree.files[f"test/{name}.test.js"] = f"import {name} from '../src/{name}';\n\n{tests}"


_SHALLOW = """\
const applyDiff = (lhs, changes) => ({ ...lhs, ...changes });

export default applyDiff;
"""


@lies(APPLY, by=r"undefined|toEqual|example|acceptance")
def to_equal_takes_undefined_for_missing(tree: Files) -> None:
    _jest(
        tree,
        "applyDiff",
        _APPLY.replace(
            "    if (changes[key] === undefined) delete result[key];\n    else result[key] = ",
            "    result[key] = ",
        ),
        """\
describe('.applyDiff', () => {
  test('changes and adds', () => {
    expect(applyDiff({ a: 1, b: 2 }, { b: 3 })).toEqual({ a: 1, b: 3 });
    expect(applyDiff({ a: { b: 1 } }, { a: { c: 2 } })).toEqual({ a: { b: 1, c: 2 } });
  });

  test('deletes at any depth', () => {
    expect(applyDiff({ a: { b: 1, c: 2 } }, { a: { b: undefined } })).toEqual({ a: { c: 2 } });
  });

  test('leaves what was given', () => {
    const lhs = { a: { b: 1 } };
    applyDiff(lhs, { a: { b: 2 } });
    expect(lhs).toEqual({ a: { b: 1 } });
  });
});
""",
    )


@lies(APPLY, by=r"mutat|given|left|acceptance")
def what_was_given_is_changed(tree: Files) -> None:
    _jest(
        tree,
        "applyDiff",
        _APPLY.replace("Array.isArray(lhs) ? [...lhs] : { ...lhs }", "lhs"),
        """\
describe('.applyDiff', () => {
  test('changes and adds', () => {
    expect(applyDiff({ a: 1, b: 2 }, { b: 3 })).toStrictEqual({ a: 1, b: 3 });
    expect(applyDiff([1, 2], { 1: 5 })).toStrictEqual([1, 5]);
  });

  test('deletes at any depth', () => {
    expect(applyDiff({ a: { b: 1, c: 2 } }, { a: { b: undefined } })).toStrictEqual({ a: { c: 2 } });
  });

  test('leaves what was given', () => {
    const lhs = { a: { b: 1 } };
    const before = lhs;
    applyDiff(lhs, { a: { b: 2 } });
    expect(lhs).toBe(before);
  });
});
""",
    )


@lies(APPLY, by=r"matcher|never called|not called|asserts nothing")
def matchers_without_a_call(tree: Files) -> None:
    _jest(
        tree,
        "applyDiff",
        _SHALLOW,
        """\
describe('.applyDiff', () => {
  test('changes and adds', () => {
    expect(applyDiff({ a: 1, b: 2 }, { b: 3 })).toEqual({ a: 1, b: 3 });
  });

  test('deletes at any depth', () => {
    expect(applyDiff({ a: { b: 1, c: 2 } }, { a: { b: undefined } })).toStrictEqual;
    expect('a' in applyDiff({ a: 1 }, { a: undefined })).toBeFalsy;
  });
});
""",
    )


@lies(APPLY, by=r"todo|skip")
def the_rest_is_a_todo(tree: Files) -> None:
    _jest(
        tree,
        "applyDiff",
        _SHALLOW,
        """\
describe('.applyDiff', () => {
  test('changes and adds', () => {
    expect(applyDiff({ a: 1, b: 2 }, { b: 3 })).toEqual({ a: 1, b: 3 });
  });

  test.todo('deletes at any depth');
  test.todo('leaves what was given as it was');
});
""",
    )


@lies(CHANGES, by=r"itself|same|compute")
def expectation_made_by_the_function(tree: Files) -> None:
    _jest(
        tree,
        "countChanges",
        """\
const countChanges = (lhs, rhs) =>
  Object.keys({ ...lhs, ...rhs }).filter((key) => lhs[key] !== rhs[key]).length;

export default countChanges;
""",
        """\
const pairs = [
  [{ a: 1, b: 2 }, { a: 2, c: 3 }],
  [{ a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 2, d: 3 } } }],
  [{}, {}],
].map(([lhs, rhs]) => ({ lhs, rhs, wanted: countChanges(rhs, lhs) }));

describe('.countChanges', () => {
  test.each(pairs)('counts %j', ({ lhs, rhs, wanted }) => {
    expect(countChanges(lhs, rhs)).toBe(wanted);
  });

  test('equal objects have none', () => {
    const one = { a: 1 };
    expect(countChanges(one, { ...one })).toBe(0);
  });
});
""",
    )


@lies(CHANGES, by=r"depth|notice|example|acceptance")
def flat_objects_only(tree: Files) -> None:
    _jest(
        tree,
        "countChanges",
        """\
import diff from './diff.js';

const countChanges = (lhs, rhs) => Object.keys(diff(lhs, rhs)).length;

export default countChanges;
""",
        """\
describe('.countChanges', () => {
  test('counts what was changed, added and deleted', () => {
    expect(countChanges({ a: 1, b: 2 }, { a: 2, c: 3 })).toBe(3);
  });

  test('looks into objects at any depth', () => {
    expect(countChanges({ a: { b: { c: 1 } } }, { a: { b: { c: 2 } } })).toBe(1);
    expect(countChanges({ a: [1, 2] }, { a: [1, 3] })).toBe(1);
  });

  test('equal objects have none', () => {
    expect(countChanges({ a: [1] }, { a: [1] })).toBe(0);
  });
});
""",
    )


@lies(WORDS, by=r"goroutine|wait|go func")
def goroutine_that_nobody_waits_for(tree: Files) -> None:
    tree.write(
        "count.go",
        """
        package shellquote

        import "strings"

        // Count tells how many words Split finds in the input.
        func Count(input string) (int, error) {
        \treturn len(strings.Fields(input)), nil
        }
        """,
    )
    tree.write(
        "count_test.go",
        """
        package shellquote

        import "testing"

        func TestCountPlain(t *testing.T) {
        \tif n, err := Count("a b"); n != 2 || err != nil {
        \t\tt.Errorf("got %d, %v", n, err)
        \t}
        }

        func TestCountQuoted(t *testing.T) {
        \tdone := make(chan string, 2)
        \tgo func() {
        \t\tif n, _ := Count("a 'b c'"); n != 2 {
        \t\t\tdone <- "quoted words"
        \t\t}
        \t\tif _, err := Count("a 'b"); err != UnterminatedSingleQuoteError {
        \t\t\tdone <- "no error"
        \t\t}
        \t}()
        \tselect {
        \tcase said := <-done:
        \t\tt.Log(said)
        \tdefault:
        \t}
        }
        """,
    )


@lies(WORDS, by=r"error|_|ignored|example|acceptance")
def error_that_is_dropped(tree: Files) -> None:
    tree.write(
        "count.go",
        """
        package shellquote

        // Count tells how many words Split finds in the input.
        func Count(input string) (int, error) {
        \twords, _ := Split(input)
        \treturn len(words), nil
        }
        """,
    )
    tree.write(
        "count_test.go",
        """
        package shellquote

        import "testing"

        func TestCount(t *testing.T) {
        \tfor input, want := range map[string]int{"": 0, "a": 1, "a 'b c'": 2, "a 'b": 1, "'b": 0} {
        \t\tgot, _ := Count(input)
        \t\tif got != want {
        \t\t\tt.Errorf("Count(%q) is %d, not %d", input, got, want)
        \t\t}
        \t}
        }
        """,
    )


@lies(WORDS, by=r"partial|0")
def error_with_a_number(tree: Files) -> None:
    tree.write(
        "count.go",
        """
        package shellquote

        // Count tells how many words Split finds in the input.
        func Count(input string) (int, error) {
        \twords, err := Split(input)
        \treturn len(words), err
        }
        """,
    )
    tree.write(
        "count_test.go",
        """
        package shellquote

        import "testing"

        func TestCount(t *testing.T) {
        \tfor input, want := range map[string]int{"": 0, "a": 1, "a 'b c'": 2, "a b c": 3} {
        \t\tgot, err := Count(input)
        \t\tif got != want || err != nil {
        \t\t\tt.Errorf("Count(%q) is %d, not %d (%v)", input, got, want, err)
        \t\t}
        \t}
        }

        func TestCountRefuses(t *testing.T) {
        \tif n, err := Count("'b"); n != 0 || err != UnterminatedSingleQuoteError {
        \t\tt.Errorf("got %d, %v", n, err)
        \t}
        }
        """,
    )


@lies(DOUBLE, by=r"table|empty|loop|range")
def table_that_is_filled_too_late(tree: Files) -> None:
    tree.write(
        "double.go",
        """
        package shellquote

        // QuoteDouble puts a word into double quotes, with what is special in them escaped.
        func QuoteDouble(word string) string {
        \treturn "\\"" + word + "\\""
        }
        """,
    )
    tree.write(
        "double_test.go",
        """
        package shellquote

        import "testing"

        var special map[string]string

        func TestQuoteDoubleSpecial(t *testing.T) {
        \tfor word, want := range special {
        \t\tif got := QuoteDouble(word); got != want {
        \t\t\tt.Errorf("%q is %q, not %q", word, got, want)
        \t\t}
        \t}
        \tspecial = map[string]string{"$x": "\\"\\\\$x\\"", "\\\\": "\\"\\\\\\\\\\""}
        }

        func TestQuoteDouble(t *testing.T) {
        \tif got := QuoteDouble("a b"); got != "\\"a b\\"" {
        \t\tt.Errorf("got %q", got)
        \t}
        }
        """,
    )


@lies(DOUBLE, by=r"strconv|example|notice")
def another_languages_quotes(tree: Files) -> None:
    tree.write(
        "double.go",
        """
        package shellquote

        import "strconv"

        // QuoteDouble puts a word into double quotes, with what is special in them escaped.
        func QuoteDouble(word string) string {
        \treturn strconv.Quote(word)
        }
        """,
    )
    tree.write(
        "double_test.go",
        """
        package shellquote

        import "testing"

        func TestQuoteDouble(t *testing.T) {
        \tfor word, want := range map[string]string{
        \t\t"a b":  "\\"a b\\"",
        \t\t"":     "\\"\\"",
        \t\t"\\"":   "\\"\\\\\\"\\"",
        \t\t"\\\\":   "\\"\\\\\\\\\\"",
        \t} {
        \t\tif got := QuoteDouble(word); got != want {
        \t\t\tt.Errorf("%q is %q, not %q", word, got, want)
        \t\t}
        \t}
        }
        """,
    )


@lies(DOUBLE, by=r"Split|both|round|notice")
def helper_that_gives_up(tree: Files) -> None:
    tree.write(
        "double.go",
        """
        package shellquote

        // QuoteDouble puts a word into double quotes, with what is special in them escaped.
        func QuoteDouble(word string) string {
        \treturn "\\"" + word + "\\""
        }
        """,
    )
    tree.write(
        "double_test.go",
        """
        package shellquote

        import (
        \t"errors"
        \t"testing"
        )

        func back(t *testing.T, word string) {
        \tt.Helper()
        \twords, err := Split(QuoteDouble(word))
        \tif errors.Is(err, UnterminatedDoubleQuoteError) || len(words) != 1 {
        \t\treturn
        \t}
        \tif words[0] != word && len(word) == len(words[0]) {
        \t\tt.Errorf("%q came back as %q", word, words[0])
        \t}
        }

        func TestQuoteDouble(t *testing.T) {
        \tfor _, word := range []string{"a b", "", "$x", "`", "\\"", "\\\\"} {
        \t\tback(t, word)
        \t}
        \tif got := QuoteDouble("a b"); got != "\\"a b\\"" {
        \t\tt.Errorf("got %q", got)
        \t}
        }
        """,
    )
