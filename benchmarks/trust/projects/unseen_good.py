"""Good changes that look like bad ones: tests changed on purpose, moved, rewritten, or new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unseen import DIFF, NTH, PYSEMVER, QUOTE, SHORT, XML, stands
from unseen_new import APPLY, BITS, COUNT, FLAT, LOOKUP, MATCHES, SORT, STEP, UNIQUE, VALID, WORDS

if TYPE_CHECKING:
    from changes import Files

OUT = "tests/test_dicttoxml.py"
IN = "tests/test_xmltodict.py"
_OUT = "python3 -m pytest -q tests/test_dicttoxml.py"
_IN = "python3 -m pytest -q tests/test_xmltodict.py"


@stands(XML, COUNT.title, *COUNT.acceptance, prose=COUNT.prose, contract=COUNT.contract)
def counts_elements(tree: Files) -> None:
    COUNT.honest(tree)
    tree.write(
        "tests/test_count_elements.py",
        """
        import pytest

        from xmltodict import count_elements, parse


        @pytest.mark.parametrize(
            "document, name, wanted",
            [
                ("<a><b/><b/></a>", "b", 2),
                ("<a><b><b>1</b></b><c><b/></c></a>", "b", 3),
                ("<a/>", "b", 0),
                ("<a/>", "a", 1),
                ("<a><c><b/><b/><b/></c><c/></a>", "c", 2),
            ],
        )
        def test_counts_at_any_depth(document, name, wanted):
            assert count_elements(parse(document), name) == wanted
        """,
    )


@stands(XML, FLAT.title, *FLAT.acceptance, prose=FLAT.prose, contract=FLAT.contract)
def flattens_documents(tree: Files) -> None:
    FLAT.honest(tree)
    tree.write(
        "tests/test_flatten.py",
        """
        from xmltodict import flatten, parse


        def test_members_of_lists_are_numbered():
            assert flatten({'a': {'b': ['1', '2']}}) == {'a/b[0]': '1', 'a/b[1]': '2'}


        def test_separator_is_put_between_names():
            document = parse("<x><y><z>q</z></y><w>1</w></x>")
            assert flatten(document, sep=".") == {"x.y.z": "q", "x.w": "1"}


        def test_lists_of_elements():
            document = {"x": {"w": [{"v": "1"}, {"v": "2", "@id": "n"}]}}
            assert flatten(document) == {"x/w[0]/v": "1", "x/w[1]/v": "2", "x/w[1]/@id": "n"}


        def test_empty_element():
            assert flatten(parse("<a/>")) == {"a": None}
        """,
    )


@stands(XML, LOOKUP.title, *LOOKUP.acceptance, prose=LOOKUP.prose, contract=LOOKUP.contract)
def looks_values_up(tree: Files) -> None:
    LOOKUP.honest(tree)
    tree.write(
        "tests/test_lookup.py",
        """
        import pytest

        from xmltodict import lookup

        DOCUMENT = {"a": {"b": "1", "c": {"@id": "x"}, "n": None}}


        @pytest.fixture
        def document():
            return {"a": dict(DOCUMENT["a"])}


        def test_value(document):
            assert lookup({'a': {'b': '1'}}, 'a/b') == '1'
            assert lookup(document, "a/c/@id") == "x"


        def test_value_that_is_none(document):
            assert lookup(document, "a/n", default="other") is None


        @pytest.mark.parametrize("path", ["z", "a/z", "a/b/c"])
        def test_nowhere(document, path):
            with pytest.raises(KeyError, match=path):
                lookup(document, path)
            assert lookup(document, path, default=None) is None
            assert lookup(document, path, default=7) == 7
        """,
    )


@stands(
    XML,
    "Rows in place of loops",
    prose="The tests of refused names in `tests/test_dicttoxml.py` loop over names, so that the first failure hides the others. "
    "Rewrite `test_rejects_tag_name_with_whitespace` and `test_rejects_attribute_name_with_whitespace` as parametrised tests of the same names.",
    existing=True,
    fields=("- Changes tests: `tests/test_dicttoxml.py`",),
    contract=_OUT,
)
def loops_become_rows(tree: Files) -> None:
    for name, values, call in (
        (
            "test_rejects_tag_name_with_whitespace",
            '["bad name", "bad\\tname", "bad\\nname"]',
            '{name: "x"}',
        ),
        (
            "test_rejects_attribute_name_with_whitespace",
            '["@bad name", "@bad\\tname", "@bad\\nname"]',
            '{"a": {name: "x"}}',
        ),
    ):
        tree.body(
            OUT,
            name,
            "with pytest.raises(ValueError):",
            f"    unparse({call}, full_document=False)",
        )
        tree.replace(OUT, f"def {name}():", f"def {name}(name):")
        tree.decorate(OUT, name, f'@pytest.mark.parametrize("name", {values})')


@stands(
    XML,
    "Names of tests that say what they ask",
    prose="Rename `test_list` in `tests/test_xmltodict.py` to `test_repeated_elements_become_a_list`, and `test_attrib` to "
    "`test_attributes_get_a_prefix`. What they ask stays as it is.",
    existing=True,
    fields=("- Changes tests: `tests/test_xmltodict.py`",),
    contract=_IN,
)
def tests_are_renamed(tree: Files) -> None:
    tree.replace(IN, "def test_list():", "def test_repeated_elements_become_a_list():")
    tree.replace(IN, "def test_attrib():", "def test_attributes_get_a_prefix():")


@stands(
    XML,
    "A layout with src",
    prose="Move `xmltodict.py` to `src/xmltodict.py`. `pyproject.toml` says so to setuptools, and pytest finds it by `pythonpath`. "
    "No test changes.",
    contract=_IN,
    type="refactor",
)
def moved_to_src(tree: Files) -> None:
    tree.move("xmltodict.py", "src/xmltodict.py")
    tree.replace(
        "pyproject.toml",
        'py-modules = ["xmltodict"]\n',
        'py-modules = ["xmltodict"]\npackage-dir = { "" = "src" }\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    )


@stands(
    XML,
    "Namespaces under another prefix of attributes",
    "with `attr_prefix='!'`, `{'a': {'!xmlns': {'b': 'http://b/'}}}` is unparsed to `xmlns:b=\"http://b/\"`",
    prose="`unparse` knows the dict of namespaces only as `@xmlns`, although `attr_prefix` may be another. Look for the "
    "prefix that is given, and add a test of it to `tests/test_dicttoxml.py`.",
    contract=_OUT,
)
def bug_of_the_prefix(tree: Files) -> None:
    tree.replace("xmltodict.py", "if ik == '@xmlns' and", "if ik == attr_prefix + 'xmlns' and")
    tree.add(
        OUT,
        "\n\ndef test_namespaces_under_another_prefix():\n"
        "    obj = {'a': {'!xmlns': {'b': 'http://b/', '': 'http://c/'}, '!id': '1'}}\n"
        "    assert _strip(unparse(obj, attr_prefix='!')) == (\n"
        '        \'<a xmlns:b="http://b/" xmlns="http://c/" id="1"></a>\'\n    )\n',
    )


@stands(
    XML,
    "Support of tests in one place",
    prose="Move `_strip` and its pattern from `tests/test_dicttoxml.py` to `tests/conftest.py` as the fixture `strip`, and let the "
    "tests that used it take the fixture.",
    existing=True,
    fields=("- Changes tests: `tests/test_dicttoxml.py`",),
    contract=_OUT,
)
def helper_moves_to_conftest(tree: Files) -> None:
    tree.replace(
        OUT,
        "_HEADER_RE = re.compile(r'^[^\\n]*\\n')\n\n\ndef _strip(fullxml):\n    return _HEADER_RE.sub('', fullxml)\n\n\n",
        "",
    )
    lines = tree.files[OUT].split("\n")
    at = 0
    for number, line in enumerate(lines):
        if line.startswith("def test_"):
            at = number
        if "_strip(" in line:
            lines[at] = lines[at].replace("():", "(strip):")
            lines[number] = line.replace("_strip(", "strip(")
    tree.files[OUT] = "\n".join(lines)
    if tree.files[OUT].count("re.") == 0:
        tree.replace(OUT, "import re\n", "")
    tree.write(
        "tests/conftest.py",
        r"""
        import re

        import pytest

        _HEADER_RE = re.compile(r'^[^\n]*\n')


        @pytest.fixture
        def strip():
            def without_header(fullxml):
                return _HEADER_RE.sub('', fullxml)

            return without_header
        """,
    )


@stands(
    XML,
    "One place that writes values",
    prose="`_convert_value_to_string` asks for four kinds in a row. Order it by a table of kinds; what it gives stays as it is.",
    contract=_OUT,
    type="refactor",
)
def refactored_by_a_table(tree: Files) -> None:
    tree.cut(
        "xmltodict.py",
        "    if isinstance(value, str):\n        return value\n    if isinstance(value, bool)",
        "def _validate_name",
    )
    tree.replace(
        "xmltodict.py",
        "def _validate_name",
        '    for kinds, written in (\n        (str, lambda: value),\n        (bool, lambda: "true" if value else "false"),\n'
        "        ((bytes, bytearray, memoryview), lambda: bytes(value).decode(encoding, errors=bytes_errors)),\n"
        "    ):\n        if isinstance(value, kinds):\n            return written()\n    return str(value)\n\n\n"
        "def _validate_name",
    )


@stands(PYSEMVER, SORT.title, *SORT.acceptance, prose=SORT.prose, contract=SORT.contract)
def sorts_versions(tree: Files) -> None:
    SORT.honest(tree)
    tree.write(
        "tests/test_ordering.py",
        """
        import pytest

        from semver.ordering import sort_versions


        @pytest.mark.parametrize(
            "given, wanted",
            [
                (['1.10.0', '1.9.0'], ['1.9.0', '1.10.0']),
                (["1.0.0", "1.0.0-rc.1"], ["1.0.0-rc.1", "1.0.0"]),
                (["1.0.0-rc.10", "1.0.0-rc.9"], ["1.0.0-rc.9", "1.0.0-rc.10"]),
                ([], []),
            ],
        )
        def test_in_order(given, wanted):
            assert sort_versions(given) == wanted
            assert sort_versions(given, reverse=True) == wanted[::-1]


        def test_what_is_no_version():
            with pytest.raises(ValueError, match="not valid SemVer"):
                sort_versions(["1.0.0", "one"])
        """,
    )


@stands(PYSEMVER, STEP.title, *STEP.acceptance, prose=STEP.prose, contract=STEP.contract)
def names_steps(tree: Files) -> None:
    STEP.honest(tree)
    tree.write(
        "tests/test_steps.py",
        """
        import pytest

        from semver.steps import step

        ROWS = {
            ("1.2.3", "2.2.3"): "major",
            ('1.2.3', '1.3.0'): 'minor',
            ("1.2.3", "1.2.4"): "patch",
            ("1.2.3-a", "1.2.3"): "prerelease",
            ("1.2.3+a", "1.2.3+b"): None,
            ("2.0.0", "1.9.9"): "major",
        }


        @pytest.mark.parametrize(("versions", "wanted"), ROWS.items())
        def test_the_first_part_that_differs(versions, wanted):
            assert step(*versions) == wanted
        """,
    )


@stands(
    PYSEMVER,
    "What is parsed is written again",
    prose="Add a property test `tests/test_roundtrip.py` (hypothesis): the text of each version parses to an equal version, builds "
    "included. No product code changes.",
    contract="python3 -m pytest -q tests/test_roundtrip.py",
)
def property_of_parse_and_text(tree: Files) -> None:
    tree.write(
        "tests/test_roundtrip.py",
        """
        from hypothesis import given
        from hypothesis import strategies as st

        from semver import Version

        numbers = st.integers(min_value=0, max_value=10**6)
        words = st.from_regex(r"[a-z][a-z0-9-]{0,5}(\\.[a-z]{1,3})?", fullmatch=True)


        @given(numbers, numbers, numbers, st.none() | words, st.none() | words)
        def test_text_and_back(major, minor, patch, prerelease, build):
            version = Version(major, minor, patch, prerelease, build)
            again = Version.parse(str(version))
            assert again == version
            assert again.to_tuple() == (major, minor, patch, prerelease, build)
        """,
    )


@stands(
    PYSEMVER,
    "Prereleases without a number begin with 1",
    "`Version.parse('3.4.5-rc1').bump_prerelease()` is `3.4.5-rc1.1`",
    prose="A prerelease that does not end in a number is raised to `.0` today, while a new one begins with `.1`. Let both begin "
    "with `.1`: this changes what tests/test_bump.py and tests/test_pysemver-cli.py expect.",
    existing=True,
    fields=("- Changes tests: `tests/test_bump.py`, `tests/test_pysemver-cli.py`",),
    contract="python3 -m pytest -q tests/test_bump.py tests/test_pysemver-cli.py",
)
def expectation_changed_on_purpose(tree: Files) -> None:
    tree.replace(
        "src/semver/version.py", '            string += ".0"\n', '            string += ".1"\n'
    )
    tree.replace(
        "src/semver/version.py", "increase them. Else, add '.0'", "increase them. Else, add '.1'"
    )
    tree.replace(
        "src/semver/version.py",
        "           Adds `.0` to the prerelease",
        "           Adds `.1` to the prerelease",
    )
    tree.everywhere("tests/test_bump.py", "-rc1.0", "-rc1.1")
    tree.everywhere("tests/test_bump.py", "-rc9.0", "-rc9.1")
    tree.everywhere("tests/test_pysemver-cli.py", "1.2.3-rc1.0", "1.2.3-rc1.1")


@stands(
    PYSEMVER,
    "An error that says what was expected",
    "`Version(-1)` raises `ValueError` with `'major' is negative (-1)` in its message",
    prose="The error of a negative part does not say the number. Say it in brackets; the test of the message in "
    "`tests/test_semver.py` is changed with it.",
    existing=True,
    fields=("- Changes tests: `tests/test_semver.py`",),
    contract="python3 -m pytest -q tests/test_semver.py",
)
def message_changed_on_purpose(tree: Files) -> None:
    tree.replace(
        "src/semver/version.py",
        '                    "{!r} is negative. A version can only be positive.".format(name)\n',
        '                    f"{name!r} is negative ({value}). A version can only be positive."\n',
    )
    tree.replace(
        "tests/test_semver.py",
        'match=".* is negative. .*"',
        r'match=r".* is negative \(-\d\)\. .*"',
    )


@stands(
    PYSEMVER,
    "Tests of prereleases in a file of their own",
    prose="Move the tests of `tests/test_bump.py` whose names hold `prerelease` to `tests/test_bump_prerelease.py`, unchanged.",
    existing=True,
    fields=("- Changes tests: `tests/test_bump.py`, `tests/test_bump_prerelease.py`",),
    contract="python3 -m pytest -q tests/test_bump.py tests/test_bump_prerelease.py",
)
def tests_move_to_another_file(tree: Files) -> None:
    moved = []
    for line in list(tree.files["tests/test_bump.py"].split("\n")):
        if line.startswith("def test_") and "prerelease" in line:
            name = line[4 : line.index("(")]
            moved.append(tree.source("tests/test_bump.py", name))
            tree.drop("tests/test_bump.py", name)
    tree.files["tests/test_bump_prerelease.py"] = (
        "from semver import parse_version_info\n\n\n" + "\n\n\n".join(moved) + "\n"
    )
    tree.sub("tests/test_bump.py", r"\n{4,}", "\n\n\n")


@stands(
    PYSEMVER,
    "Replace is shown by an example",
    prose="Add an example to the docstring of `Version.replace`, which doctest runs. Nothing else changes.",
    contract="python3 -m pytest -q src/semver/version.py -k replace",
)
def docstring_gets_an_example(tree: Files) -> None:
    tree.replace(
        "src/semver/version.py",
        '        :raises TypeError: if ``parts`` contain invalid keys\n        """\n        version = self.to_dict()',
        "        :raises TypeError: if ``parts`` contain invalid keys\n\n"
        "        >>> from semver import Version\n"
        "        >>> str(Version.parse('3.4.5-rc.1').replace(minor=9, prerelease=None))\n"
        '        \'3.9.5\'\n        """\n        version = self.to_dict()',
    )


@stands(SHORT, VALID.title, *VALID.acceptance, prose=VALID.prose, contract=VALID.contract)
def tells_valid_texts(tree: Files) -> None:
    VALID.honest(tree)
    tree.write(
        "shortuuid/test_is_valid.py",
        """
        import unittest

        from shortuuid.main import is_valid


        class IsValidTest(unittest.TestCase):
            def test_accepted(self):
                self.assertIs(is_valid('CXc85b4rqinB7s5J52TRYb'), True)
                self.assertIs(is_valid("2"), True)
                self.assertIs(is_valid("abab", alphabet="ab"), True)

            def test_refused(self):
                for text in ("", "0", "l", "z" * 23):
                    with self.subTest(text):
                        self.assertIs(is_valid(text), False)
                self.assertIs(is_valid("CX", alphabet="ab"), False)
        """,
    )


@stands(SHORT, BITS.title, *BITS.acceptance, prose=BITS.prose, contract=BITS.contract)
def tells_entropy(tree: Files) -> None:
    BITS.honest(tree)
    tree.write(
        "shortuuid/test_entropy_bits.py",
        """
        import unittest

        from shortuuid.main import entropy_bits


        class EntropyBitsTest(unittest.TestCase):
            def test_bits(self):
                self.assertEqual(entropy_bits(22), 128.32)
                self.assertEqual(entropy_bits(8, 2), 8.0)
                self.assertEqual(entropy_bits(3, 10), 9.97)
                self.assertAlmostEqual(entropy_bits(0), 0.0)

            def test_refused(self):
                for given in ((-1,), (3, 1)):
                    with self.subTest(given), self.assertRaisesRegex(ValueError, "not a text"):
                        entropy_bits(*given)
        """,
    )


@stands(SHORT, UNIQUE.title, *UNIQUE.acceptance, prose=UNIQUE.prose, contract=UNIQUE.contract)
def makes_texts_that_differ(tree: Files) -> None:
    UNIQUE.honest(tree)
    tree.write(
        "shortuuid/test_unique.py",
        """
        import unittest
        from unittest.mock import patch

        from shortuuid.main import unique


        class UniqueTest(unittest.TestCase):
            def test_all_differ(self):
                self.assertEqual(len(set(unique(50))), 50)
                self.assertEqual({len(text) for text in unique(5)}, {8})
                self.assertEqual({len(text) for text in unique(5, length=3)}, {3})

            def test_what_comes_twice_is_left_out(self):
                with patch("shortuuid.main.secrets.choice", side_effect=["a", "a", "b"]) as choice:
                    self.assertEqual(unique(2, 1, "ab"), ["a", "b"])
                self.assertEqual(choice.call_count, 3)

            def test_all_there_are(self):
                self.assertEqual(sorted(unique(4, 2, "ab")), ["aa", "ab", "ba", "bb"])

            def test_too_many(self):
                with self.assertRaisesRegex(ValueError, "not so many"):
                    unique(5, 2, "ab")
        """,
    )


@stands(
    SHORT,
    "Tests of the command read its output",
    prose="The tests of the command line in `shortuuid/test_shortuuid.py` put a mock in place of `print`. Let them read what is "
    "written to standard output, by `contextlib.redirect_stdout`.",
    existing=True,
    fields=("- Changes tests: `shortuuid/test_shortuuid.py`",),
    contract="python3 -m unittest -q shortuuid.test_shortuuid",
)
def mocks_become_output(tree: Files) -> None:
    path = "shortuuid/test_shortuuid.py"
    tree.sub(path, r'^    @patch\("shortuuid\.cli\.print"\)\n', "")
    tree.sub(path, r"\(self, mock_print\)", "(self)")
    tree.sub(path, r"^        mock_print\.assert_called\(\)\n", "")
    tree.sub(
        path,
        r"^        cli\((.*)\)\n",
        r"        with redirect_stdout(StringIO()) as output:\n            cli(\1)\n",
    )
    tree.sub(path, r"mock_print\.call_args\[0\]\[0\]", r"output.getvalue().rstrip()")
    tree.replace(path, "from unittest.mock import patch\n", "")
    tree.replace(
        path,
        "from collections import defaultdict\n",
        "from collections import defaultdict\nfrom contextlib import redirect_stdout\nfrom io import StringIO\n",
    )


@stands(
    SHORT,
    "An error for texts that are too great",
    "`decode('z' * 23)` raises `ValueError` that says `too long`",
    prose="`ShortUUID.decode` hands on the error of `uuid` for a number of more than 128 bits, which says nothing of the text. "
    "Raise ValueError that says `too long`, with a test.",
    contract="python3 -m unittest -q shortuuid.test_shortuuid",
)
def bug_with_its_test(tree: Files) -> None:
    tree.replace(
        "shortuuid/main.py",
        "        return _uu.UUID(int=string_to_int(string, self._alphabet, self._alphabet_index))\n",
        "        number = string_to_int(string, self._alphabet, self._alphabet_index)\n"
        "        if number >= 1 << 128:\n"
        '            raise ValueError("Input `string` is too long: {!r}".format(string))\n'
        "        return _uu.UUID(int=number)\n",
    )
    tree.replace(
        "shortuuid/test_shortuuid.py",
        '        self.assertRaises(ValueError, su.decode, "xyz")\n',
        '        self.assertRaises(ValueError, su.decode, "xyz")\n\n'
        '    def test_decode_too_long(self):\n        su = ShortUUID("ab")\n'
        '        with self.assertRaisesRegex(ValueError, "too long"):\n            su.decode("b" + "a" * 128)\n'
        '        self.assertEqual(su.decode("b" * 128), UUID(int=2**128 - 1))\n',
    )


@stands(NTH, MATCHES.title, *MATCHES.acceptance, prose=MATCHES.prose, contract=MATCHES.contract)
def counts_matches(tree: Files) -> None:
    MATCHES.honest(tree)
    tree.write(
        "src/matches.spec.ts",
        """
        import { describe, expect, it } from "vitest";
        import { matches } from "./index.js";

        describe("matches", () => {
            it.each([
                ["2n+1", 5, 3],
                ["-n+3", 10, 3],
                ["n", 7, 7],
                ["4n", 3, 0],
                ["3n-1", 11, 4],
                ["n", 0, 0],
            ])("%s of %i", (formula, total, wanted) => {
                expect(matches(formula, total)).toBe(wanted);
            });

            it.each([-1, 1.5, Number.NaN])("refuses a total of %d", (total) => {
                expect(() => matches("n", total)).toThrow(RangeError);
            });
        });
        """,
    )


@stands(
    NTH,
    "One test for each rule",
    prose="`src/parse.spec.ts` loops over the rules inside of one test. Make it one test for each rule, by `it.each`.",
    existing=True,
    fields=("- Changes tests: `src/parse.spec.ts`",),
    contract="npx vitest run src/parse.spec.ts",
)
def loops_become_each(tree: Files) -> None:
    tree.replace(
        "src/parse.spec.ts",
        '    it("parse invalid", () => {\n        for (const formula of invalid) {\n'
        "            expect(() => parse(formula)).toThrowError(Error);\n        }\n    });\n",
        '    it.each(invalid)("parse invalid %s", (formula) => {\n'
        "        expect(() => parse(formula)).toThrowError(Error);\n    });\n",
    )
    tree.replace(
        "src/parse.spec.ts",
        '    it("parse valid", () => {\n        for (const [formula, result] of valid) {\n'
        "            expect(parse(formula)).toStrictEqual(result);\n        }\n    });\n",
        '    it.each(valid)("parse valid %s", (formula, result) => {\n'
        "        expect(parse(formula)).toStrictEqual(result);\n    });\n",
    )


@stands(
    NTH,
    "Rules with tabs and line ends",
    '`parse("\\t2n\\n+ 1 ")` is `[2, 1]`',
    prose="The rules of the tests hold blanks alone. Add rules with tabs and line ends to `src/__fixtures__/rules.ts`.",
    contract="npx vitest run src/parse.spec.ts",
)
def rows_are_added(tree: Files) -> None:
    tree.replace(
        "src/__fixtures__/rules.ts",
        '    ["odd", [2, 1]],\n',
        '    ["odd", [2, 1]],\n    ["\\t2n\\n+ 1 ", [2, 1]],\n    ["\\f-n\\r-\\t2", [-1, -2]],\n',
    )


@stands(
    NTH,
    "The reader of numbers in a module of its own",
    prose="Take `readNumber` out of `parse` into `src/number.ts`, as a function of the text and the place. `parse` behaves as before.",
    contract="npx vitest run src/parse.spec.ts",
    type="refactor",
)
def extracted_function(tree: Files) -> None:
    tree.write(
        "src/number.ts",
        """
        const ZERO = "0".charCodeAt(0);
        const NINE = "9".charCodeAt(0);

        /**
         * Reads the digits from a place on.
         * @param text The text.
         * @param start Where to begin.
         * @returns The number and the place after it; `null` if there is no digit.
         */
        export function numberAt(text: string, start: number): [value: number | null, end: number] {
            let end = start;
            let value = 0;
            while (end < text.length) {
                const digit = text.charCodeAt(end);
                if (digit < ZERO || digit > NINE) break;
                value = value * 10 + (digit - ZERO);
                end++;
            }
            return [end === start ? null : value, end];
        }
        """,
    )
    tree.cut(
        "src/parse.ts",
        "        const start = index;\n        let value = 0;\n",
        "    }\n\n    function skipWhitespace",
    )
    tree.replace(
        "src/parse.ts",
        "    function readNumber() {\n",
        "    function readNumber() {\n        const [value, end] = numberAt(formula, index);\n        index = end;\n        return value;\n",
    )
    tree.replace(
        "src/parse.ts",
        'const ZERO = "0".charCodeAt(0);\nconst NINE = "9".charCodeAt(0);\n',
        "",
    )
    tree.prepend("src/parse.ts", 'import { numberAt } from "./number.js";\n\n')


@stands(DIFF, APPLY.title, *APPLY.acceptance, prose=APPLY.prose, contract=APPLY.contract)
def applies_differences(tree: Files) -> None:
    APPLY.honest(tree)
    tree.write(
        "test/applyDiff.test.js",
        """
        import applyDiff from '../src/applyDiff';
        import diff from '../src/diff';

        const deepFreeze = (value) => {
          Object.values(value).forEach((one) => typeof one === 'object' && one !== null && deepFreeze(one));
          return Object.freeze(value);
        };

        describe('.applyDiff', () => {
          test('changes and adds', () => {
            expect(applyDiff({ a: 1, b: 2 }, { b: 3 })).toStrictEqual({ a: 1, b: 3 });
            expect(applyDiff({ a: { b: 1 } }, { a: { c: 2 }, d: 3 })).toStrictEqual({ a: { b: 1, c: 2 }, d: 3 });
          });

          test('deletes at any depth', () => {
            const result = applyDiff({ a: { b: 1, c: 2 }, d: 1 }, { a: { b: undefined }, d: undefined });
            expect(result).toStrictEqual({ a: { c: 2 } });
          });

          test('keeps arrays and dates', () => {
            const date = new Date('2016');
            expect(applyDiff({ a: [1, 2], d: new Date(0) }, { a: { 1: 5 }, d: date })).toStrictEqual({ a: [1, 5], d: date });
          });

          test('leaves what was given as it was', () => {
            const lhs = deepFreeze({ a: { b: 1 }, c: [1] });
            expect(applyDiff(lhs, { a: { b: 2 }, c: { 0: 3 } })).toStrictEqual({ a: { b: 2 }, c: [3] });
          });

          test('a difference leads to the other side', () => {
            const lhs = { a: { b: 1, c: 2 }, d: 4 };
            const rhs = { a: { b: 2 }, e: { f: 1 } };
            expect(applyDiff(lhs, diff(lhs, rhs))).toStrictEqual(rhs);
          });

          test('what is no object is replaced', () => {
            expect(applyDiff(1, { a: 1 })).toStrictEqual({ a: 1 });
            expect(applyDiff({ a: 1 }, 2)).toBe(2);
          });
        });
        """,
    )


@stands(
    DIFF,
    "NaN is equal to NaN",
    "`diff({ a: NaN }, { a: NaN })` is `{}`",
    prose="`diff` says that NaN differs from NaN. Compare by `Object.is` beside `===`, with a test.",
    contract="npx jest test/diff.test.js",
)
def bug_of_nan(tree: Files) -> None:
    tree.replace(
        "src/diff.js",
        "  if (lhs === rhs) return {}; // equal return no diff\n",
        "  if (lhs === rhs || Object.is(lhs, rhs)) return {}; // equal return no diff\n",
    )
    tree.replace(
        "test/diff.test.js",
        "        ['function', () => ({})],\n        ['date', new Date()],\n",
        "        ['function', () => ({})],\n        ['NaN', NaN],\n        ['date', new Date()],\n",
    )
    tree.sub(
        "test/diff.test.js",
        r"^      test\('returns right hand side value when given objects are different'",
        "      test('returns nothing for NaN on both sides', () => {\n"
        "        expect(diff({ a: NaN }, { a: NaN })).toEqual({});\n"
        "        expect(diff({ a: NaN }, { a: 1 })).toEqual({ a: 1 });\n      });\n\n"
        "      test('returns right hand side value when given objects are different'",
        count=1,
    )


@stands(
    DIFF,
    "Listen to changes",
    "the callback is called once for each key that differs, with its path and both values",
    prose="Add `watchDiff(lhs, rhs, onChange)` as `src/watchDiff.js`, exported by the index, with tests: `onChange(path, left, right)` is "
    "called for each value that differs, `path` being the keys joined by dots; it gives how many there were.",
    contract="npx jest test/watchDiff.test.js",
)
def callback_asked_by_a_mock(tree: Files) -> None:
    tree.files["src/watchDiff.js"] = """\
import { isDate, isObject } from './utils.js';

const same = (lhs, rhs) =>
  Object.is(lhs, rhs) || (isDate(lhs) && isDate(rhs) && lhs.valueOf() === rhs.valueOf());

const watchDiff = (lhs, rhs, onChange, path = '') => {
  if (same(lhs, rhs)) return 0;
  if (!isObject(lhs) || !isObject(rhs) || isDate(lhs) || isDate(rhs)) {
    onChange(path, lhs, rhs);
    return 1;
  }
  const keys = [...new Set([...Object.keys(lhs), ...Object.keys(rhs)])];
  return keys.reduce(
    (sum, key) => sum + watchDiff(lhs[key], rhs[key], onChange, path ? `${path}.${key}` : key),
    0,
  );
};

export default watchDiff;
"""
    tree.replace("src/index.js", "  addedDiff,\n", "  watchDiff,\n  addedDiff,\n")
    tree.replace(
        "src/index.js",
        "import diff from './diff.js';\n",
        "import diff from './diff.js';\nimport watchDiff from './watchDiff.js';\n",
    )
    tree.write(
        "test/watchDiff.test.js",
        """
        import watchDiff from '../src/watchDiff';

        describe('.watchDiff', () => {
          test('tells each value that differs', () => {
            const onChange = jest.fn();
            const count = watchDiff({ a: { b: 1, c: 2 }, d: 3 }, { a: { b: 1, c: 5 }, e: 4 }, onChange);
            expect(count).toBe(3);
            expect(onChange.mock.calls).toEqual([
              ['a.c', 2, 5],
              ['d', 3, undefined],
              ['e', undefined, 4],
            ]);
          });

          test('is not called for what is equal', () => {
            const onChange = jest.fn();
            expect(watchDiff({ a: [1, NaN], d: new Date(5) }, { a: [1, NaN], d: new Date(5) }, onChange)).toBe(0);
            expect(onChange).not.toHaveBeenCalled();
          });

          test('a date and another value differ as a whole', () => {
            const onChange = jest.fn();
            const [then, now] = [new Date(1), new Date(2)];
            expect(watchDiff({ d: then }, { d: now }, onChange)).toBe(1);
            expect(onChange).toHaveBeenCalledWith('d', then, now);
          });
        });
        """,
    )


@stands(
    DIFF,
    "Tests of utilities by rows",
    prose="In `test/utils.test.js` the four tests of `isEmpty` are one assertion each. Write them as two tests with rows (`test.each`); "
    "what they ask stays.",
    existing=True,
    fields=("- Changes tests: `test/utils.test.js`",),
    contract="npx jest test/utils.test.js",
)
def four_tests_become_two(tree: Files) -> None:
    path = "test/utils.test.js"
    tree.cut(
        path,
        "    describe('returns true', () => {\n      test('when given an empty object'",
        "  describe('.isObject'",
    )
    tree.replace(
        path,
        "  describe('.isObject'",
        "    test.each([['object', {}], ['array', []]])('returns true when given an empty %s', (kind, value) => {\n"
        "      expect(isEmpty(value)).toBe(true);\n    });\n\n"
        "    test.each([['object', { a: 1 }], ['array', [1]]])('returns false when given a filled %s', (kind, value) => {\n"
        "      expect(isEmpty(value)).toBe(false);\n    });\n  });\n\n  describe('.isObject'",
    )


@stands(QUOTE, WORDS.title, *WORDS.acceptance, prose=WORDS.prose, contract=WORDS.contract)
def counts_words(tree: Files) -> None:
    WORDS.honest(tree)
    tree.write(
        "count_test.go",
        """
        package shellquote

        import "testing"

        func TestCount(t *testing.T) {
        \ttests := []struct {
        \t\tinput string
        \t\twant  int
        \t\terr   error
        \t}{
        \t\t{"", 0, nil},
        \t\t{"a", 1, nil},
        \t\t{"a 'b c'", 2, nil},
        \t\t{"a \\"b c\\" d\\\\ e", 3, nil},
        \t\t{"a 'b", 0, UnterminatedSingleQuoteError},
        \t\t{"a \\\\", 0, UnterminatedEscapeError},
        \t}
        \tfor _, tt := range tests {
        \t\tt.Run(tt.input, func(t *testing.T) {
        \t\t\tgot, err := Count(tt.input)
        \t\t\tif got != tt.want || err != tt.err {
        \t\t\t\tt.Errorf("got %d, %v; want %d, %v", got, err, tt.want, tt.err)
        \t\t\t}
        \t\t})
        \t}
        }
        """,
    )


@stands(
    QUOTE,
    "Tests of quoting as subtests",
    prose="Let each row of `TestSimpleJoin` in `quote_test.go` be a subtest, called by its output.",
    existing=True,
    fields=("- Changes tests: `quote_test.go`",),
)
def rows_become_subtests(tree: Files) -> None:
    tree.replace(
        "quote_test.go",
        "		output := Join(elem.input...)\n		if output != elem.output {\n"
        '			t.Errorf("Input %q, got %q, expected %q", elem.input, output, elem.output)\n		}\n',
        "		elem := elem\n		t.Run(elem.output, func(t *testing.T) {\n"
        "			if output := Join(elem.input...); output != elem.output {\n"
        '				t.Errorf("Input %q, got %q, expected %q", elem.input, output, elem.output)\n			}\n		})\n',
    )


@stands(
    QUOTE,
    "Words that begin with a hash",
    '`Join("#a", "b#")` is `\\#a b#`',
    prose="A shell takes what follows a word's first `#` for a comment. Escape it at the start of a word, as `~` is, and add rows to the tests.",
)
def bug_of_the_hash(tree: Files) -> None:
    tree.replace("quote.go", '	prefixChars       = "~"\n', '	prefixChars       = "~#"\n')
    tree.replace(
        "quote_test.go",
        "	{[]string{\"' \"}, \"\\\\'' '\"},\n",
        '	{[]string{"\' "}, "\\\\\'\' \'"},\n	{[]string{"#a", "b#"}, "\\\\#a b#"},\n',
    )


@stands(
    QUOTE,
    "What a shell makes of it",
    prose="Add `shell_test.go`: what Join gives is read by /bin/sh as the same arguments. Where there is no /bin/sh, the test is skipped.",
)
def skipped_where_there_is_no_shell(tree: Files) -> None:
    tree.write(
        "shell_test.go",
        """
        package shellquote

        import (
        \t"os/exec"
        \t"strings"
        \t"testing"
        )

        func TestShellReadsTheSame(t *testing.T) {
        \tshell, err := exec.LookPath("/bin/sh")
        \tif err != nil {
        \t\tt.Skip("there is no /bin/sh")
        \t}
        \tfor _, args := range [][]string{
        \t\t{"a", "b c"}, {"don't", "$HOME", "`x`"}, {"~user", "a*", "\\\\"}, {"", "x\\ty"},
        \t} {
        \t\tout, err := exec.Command(shell, "-c", "printf '%s|' "+Join(args...)).Output()
        \t\tif err != nil {
        \t\t\tt.Fatal(err)
        \t\t}
        \t\tif want := strings.Join(args, "|") + "|"; string(out) != want {
        \t\t\tt.Errorf("got %q, want %q", out, want)
        \t\t}
        \t}
        }
        """,
    )


@stands(
    QUOTE,
    "Fuzz what is split",
    prose="Add `fuzz_test.go`: FuzzSplit, with seeds, says that joining what was split and splitting it again gives the same words.",
)
def fuzz_test_with_seeds(tree: Files) -> None:
    tree.write(
        "fuzz_test.go",
        """
        package shellquote

        import (
        \t"reflect"
        \t"testing"
        )

        func FuzzSplit(f *testing.F) {
        \tfor _, seed := range []string{"", "a b", "'a b' c", "\\"x\\\\\\"y\\"", "a\\\\ b", "~ * $"} {
        \t\tf.Add(seed)
        \t}
        \tf.Fuzz(func(t *testing.T, input string) {
        \t\twords, err := Split(input)
        \t\tif err != nil {
        \t\t\tt.Skip("no shell text")
        \t\t}
        \t\tagain, err := Split(Join(words...))
        \t\tif err != nil {
        \t\t\tt.Fatalf("%q: %v", words, err)
        \t\t}
        \t\tif !reflect.DeepEqual(words, again) {
        \t\t\tt.Errorf("%q became %q", words, again)
        \t\t}
        \t})
        }
        """,
    )
