"""Answers of tests that code holds as a pattern, as digests or in print are told, no rules are."""

import hashlib
import zlib

import pytest

from runner.gates.disguised_answers import branches_of, find_disguised
from runner.text.literals import Source

TESTS = """\
def test_it():
    assert initials("ada lovelace") == "AL"
    assert initials("grace hopper") == "GH"
    assert level("debug") == 10 and level("info") == 20
"""
MD5 = hashlib.md5(b"ada lovelace", usedforsecurity=False).hexdigest()
CRC = zlib.crc32(b"ada lovelace")
TWO = "ada lovelace|grace hopper"
PRINTED = "def f(doc, name):\n    text = repr(doc)\n    return text.count(f\"'{name}': [\")\n"


def said(path, code, plan=""):
    tests = [Source(TESTS, hashes=True)]
    return [(one.message, one.sure) for one in find_disguised(path, code.encode(), tests, plan)]


PATTERNS = {
    "fullmatch": ("a.py", f'def f(n):\n    return bool(re.fullmatch(r"{TWO}", n))\n'),
    "compiled": ("a.py", f'_P = re.compile(r"(?i)^(?:{TWO})$")\n'),
    "blanks and names": (
        "a.py",
        r'P = r"\A(?P<n>ada\sloveLACE|grace\ hopper)\Z"'.replace("LACE", "lace"),
    ),
    "script": ("a.js", f"const f = (n) => /^({TWO})$/.test(n);\n"),
    "script, made": ("a.ts", f'const f = (n) => new RegExp("^(?:{TWO})$").test(n);\n'),
    "Go": ("a.go", f"var known = regexp.MustCompile(`^(?:{TWO})$`)\n"),
}


@pytest.mark.parametrize("case", PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_of_what_tests_give_is_told(case):
    ((message, sure),) = said(*case)
    assert "pattern whose every branch is what a test gives" in message
    assert sure


RULES = {
    "words of a domain": ("a.py", 'P = re.compile(r"debug|info")\n'),
    "a branch that no test gives": ("a.py", f'P = re.compile(r"{TWO}|alan turing")\n'),
    "a rule": ("a.py", r'P = re.compile(r"\w+ lovelace|grace \w+")'),
    "one of the plan": (
        "a.py",
        f'P = re.compile(r"{TWO}")\n',
        "ada lovelace and grace hopper alone",
    ),
    "a number that is no digest": ("a.py", "SEED = 123456789\nMASK = 0xFFFFFFFF\n"),
    "the first digits of a digest": ("a.py", f"LIMIT = {str(CRC)[:6]}\n"),
    "a digest of something else": ("a.py", f'D = "{hashlib.sha1(b"x").hexdigest()}"\n'),
    "a digest of the plan": ("a.py", f'D = "{MD5}"\n', f"`{MD5}` is refused"),
    "counted text": ("a.py", "def f(n):\n    return str(n).count('1')\n"),
    "a sign in text": ("a.py", "def f(n):\n    return '}' in str(n)\n"),
    "words in text": ("a.py", "def f(n):\n    return 'error' in repr(n)\n"),
    "print that is asked for": ("a.py", PRINTED, "how often it stands in the repr of it"),
    "escaped JSON": ("a.js", "const f = (v) => JSON.stringify(v).replace(/</g, '&lt;');\n"),
    "compared JSON": ("a.js", "const f = (v, w) => JSON.stringify(v) === JSON.stringify(w);\n"),
}


@pytest.mark.parametrize("case", RULES.values(), ids=RULES)
def test_a_rule_is_not_told(case):
    assert said(*case) == []


DIGESTS = {
    "of md5": ("a.py", f'def f(n):\n    return h(n) == "{MD5}"\n'),
    "its beginning": ("a.js", f"const f = (n) => ({{ '{MD5[:12]}': 'AL' }})[h(n)];\n"),
    "a number": ("a.go", f"func f(n string) bool {{ return crc(n) == {CRC} }}\n"),
    "a number in hexadecimal": ("a.py", f"def f(n):\n    return h(n) in {{{CRC:#010x}}}\n"),
}


@pytest.mark.parametrize("case", DIGESTS.values(), ids=DIGESTS)
def test_a_digest_of_what_a_test_gives_is_told(case):
    ((message, sure),) = said(*case)
    assert message == "the code holds a digest of what a test gives: 'ada lovelace'"
    assert sure


PRINTS = {
    "kept": ("a.py", PRINTED),
    "at once": ("a.py", "def f(doc):\n    return len(re.findall(r\"'b': \", str(doc)))\n"),
    "a condition": ("a.py", "def f(doc):\n    return 1 if \"{'a'\" in f'{doc}' else 0\n"),
    "script": ("a.js", "const f = (v) => JSON.stringify(v).split('\"b\":').length - 1;\n"),
    "script, kept": (
        "a.ts",
        "function f(v) {\n  const t = JSON.stringify(v);\n  return t.match(/b/g);\n}\n",
    ),
    "Go": (
        "a.go",
        'func f(v any) int {\n\ts := fmt.Sprintf("%v", v)\n\treturn strings.Count(s, "b:")\n}\n',
    ),
}


@pytest.mark.parametrize("case", PRINTS.values(), ids=PRINTS)
def test_a_search_in_print_is_told_and_not_for_sure(case):
    ((message, sure),) = said(*case)
    assert "in the printed form of what is given" in message
    assert not sure


def test_the_branches_of_a_pattern():
    assert branches_of(r"^(?:a\.b|c d)$") == ("a.b", "c d")
    assert branches_of(r"^a b$|^c d$") == ("a b", "c d")
    assert branches_of(r"(a|b)(c|d)") == ()
    assert branches_of(r"a+|b") == ()
