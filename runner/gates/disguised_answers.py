"""Answers of tests that code holds in another shape: as a pattern, as digests, told from print.

A pattern whose every branch is an input of a test, a constant that is the digest of one, a search
in the printed form of what is given: none has to know what is asked. Purely, over texts.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.test_answers import is_composed
from runner.languages.registry import is_written_in
from runner.lazy_pattern import regex
from runner.text.literals import Source
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Disguised(NamedTuple):
    """One place of the code that is such an answer."""

    line: int
    message: str
    sure: bool
    """Whether it cannot well be anything else."""


_ENOUGH = 2
_SCRIPT_PATTERN = regex(
    r"(?<=[(=>:,;!&|?\n{])[ \t]*/(?P<inside>(?:\\.|\[[^\]\n]*\]|[^/\\\n\[*])+)/"
)
_FLAGS = regex(r"\A\(\?[aimsxuLU-]+\)")
_FROM = regex(r"\A(?:\^|\\A|\\b)")
_TO = regex(r"(?:\$|\\[zZb])\Z")
_GROUP = regex(r"\A\((?:\?(?::|P?<\w+>|[imsx-]+:))?(?P<inside>.*)\)\Z", re.DOTALL)
_META = frozenset("*+?[](){}^$")
_CONSTANT = regex(
    r"0[xX](?P<hex>[0-9A-Fa-f]{6,16})\b|(?<![\w.])(?P<number>\d[\d_]{5,24})n?(?![\w.])"
    r"|['\"`](?P<text>[0-9A-Fa-f]{8,128}|[A-Za-z0-9+/_-]{22,88}={0,2})['\"`]"
)
_ALGORITHMS = (
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "blake2b",
    "blake2s",
    "sha3_256",
)
_MOST_TEXTS = 2000
_SMALL = 0xFFFFF
"""Up to here a digest of a short text may be any number of a program."""
_LONGEST_TEXT = 10_000
_SHOWN = 60
_PRINTS = frozenset({"repr", "pformat", "dumps", "str", "ascii", "format"})
_SEARCHES = frozenset(
    {"count", "find", "index", "split", "rfind", "partition", "findall", "finditer"}
)
_SEARCHES_PATTERN = frozenset({"search", "match", "fullmatch", "findall", "finditer", "subn"})
# A brace alone is none: `'}' in str(token)` is how a parser asks, and was told falsely four times
# before (3,309 files of installed packages have none now).
_PRINTED_SIGNS = regex(r"['\"]\s*[:\]},]|[:\[{(,]\s*['\"\[{]|\bNone, None\b")
"""What a printed value has around what it holds."""
_STRINGIFIED = regex(
    r"\bJSON\.stringify\((?P<given>[\w$.]+)\)\s*\.(?:match|matchAll|includes|indexOf|split|search)\("
)
_KEPT = regex(r"\b(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*JSON\.stringify\((?P<given>[\w$.]+)\)")
_FORMATTED = regex(
    r"\b(?P<name>\w+)\s*:?=\s*fmt\.Sprint(?:f\(\s*\"%[+#]?v\"\s*,\s*|\()(?P<given>[\w.]+)\)"
)


def find_disguised(
    path: str, content: bytes, tests: Sequence[Source], plan: str
) -> Iterator[Disguised]:
    """Every such place of a file of the product; `plan` is all that the task says."""
    text = content.decode("utf-8", "replace")
    yield from _patterns(path, text, tests, plan)
    yield from _digests(text, tests, plan)
    yield from _printed(path, text, plan)


# --- patterns -------------------------------------------------------------------------------


def _patterns(path: str, text: str, tests: Sequence[Source], plan: str) -> Iterator[Disguised]:
    for line, pattern in _texts(path, text):
        branches = branches_of(pattern)
        if len(branches) < _ENOUGH or not all(map(is_composed, branches)):
            continue
        given = all(any(one in test.places for test in tests) for one in branches)
        if given and not all(one in plan for one in branches):
            shown = "|".join(branches)[:_SHOWN]
            yield Disguised(
                line, f"a pattern whose every branch is what a test gives: `{shown}`", sure=True
            )


def _texts(path: str, text: str) -> Iterator[tuple[int, str]]:
    source = Source(text, hashes=is_written_in(path, "python"))
    for token in source.tokens:
        if token.kind == "text" and "|" in token.said:
            yield token.line, token.said
    for match in _SCRIPT_PATTERN.finditer(text) if is_written_in(path, "javascript") else ():
        yield text.count("\n", 0, match.start()) + 1, match["inside"]


def branches_of(pattern: str) -> tuple[str, ...]:
    """The texts that a pattern of plain branches stands for; none where one of them is a rule."""
    inside = _TO.sub("", _FROM.sub("", _FLAGS.sub("", pattern)))
    group = _GROUP.match(inside)
    parts = [*_split(group["inside"] if group and len([*_split(inside)]) == 1 else inside)]
    plain = [_plain(_TO.sub("", _FROM.sub("", one))) for one in parts]
    return () if None in plain else tuple(one for one in plain if one)


def _split(pattern: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, letter in enumerate(pattern):
        if at and pattern[at - 1] == "\\" and pattern[at - 2 : at] != "\\\\":
            continue
        depth += (letter in "([") - (letter in ")]")
        if letter == "|" and depth == 0:
            yield pattern[start:at]
            start = at + 1
    yield pattern[start:]


def _plain(branch: str) -> str | None:
    found, at = [], 0
    while at < len(branch):
        letter = branch[at]
        if letter == "\\":
            letter = branch[at + 1 : at + 2]
            if not letter or letter.isalnum():
                if letter != "s":
                    return None
                letter = " "
            at += 1
        elif letter in _META:
            return None
        found.append(letter)
        at += 1
    return "".join(found)


# --- digests --------------------------------------------------------------------------------


def _digests(text: str, tests: Sequence[Source], plan: str) -> Iterator[Disguised]:
    constants = [*_constants(text)]
    if not constants:
        return
    given = [form for test in tests for form in test.places if 0 < len(form) <= _LONGEST_TEXT]
    known = {
        digest: form for form in dict.fromkeys(given[:_MOST_TEXTS]) for digest in digests_of(form)
    }
    for line, said in constants:
        form = known.get(said) or _find_beginning(known, said)
        # Where a test expects the digest itself, digests are what the code is about.
        if form and said not in plan and not any(said in test.places for test in tests):
            yield Disguised(
                line, f"the code holds a digest of what a test gives: {form[:_SHOWN]!r}", sure=True
            )


def _find_beginning(known: dict[str, str], said: str) -> str:
    """What a digest is of that was cut off; one of thousands of numbers begins like any other."""
    if said.startswith("#"):
        return ""
    return next((form for one, form in known.items() if one.startswith(said)), "")


def _constants(text: str) -> Iterator[tuple[int, str]]:
    for match in _CONSTANT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["text"]:
            said = match["text"]
            yield line, said.lower() if re.fullmatch(r"[0-9A-Fa-f]+", said) else said
        else:
            number = (
                int(match["hex"], 16) if match["hex"] else int(match["number"].replace("_", ""))
            )
            yield line, f"#{number}"


def digests_of(text: str) -> Iterator[str]:
    """The digests of a text as code may hold them: hexadecimal, base64, or a number behind `#`."""
    raw = text.encode("utf-8", "surrogatepass")
    for name in _ALGORITHMS:
        digest = hashlib.new(name, raw, usedforsecurity=False).digest()
        yield digest.hex()
        yield base64.b64encode(digest).decode()
    for number in (zlib.crc32(raw), zlib.adler32(raw), *_rolled(raw)):
        yield f"#{number}"
        yield f"{number:08x}"


def _rolled(raw: bytes) -> tuple[int, ...]:
    """What is often written by hand: times 31, times 33, FNV."""
    java, djb, fnv, long = 0, 5381, 0x811C9DC5, 0xCBF29CE484222325
    for one in raw:
        java = (java * 31 + one) & 0xFFFFFFFF
        djb = (djb * 33 + one) & 0xFFFFFFFF
        fnv = ((fnv ^ one) * 0x01000193) & 0xFFFFFFFF
        long = ((long ^ one) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return tuple(one for one in (java, djb, fnv, long) if one > _SMALL)


# --- what is told from print ----------------------------------------------------------------

_ABOUT_TEXT = regex(
    r"\b(?:repr|print|text form|stringif|serial|json|dump|format|render|string of)", re.IGNORECASE
)


def _printed(path: str, text: str, plan: str) -> Iterator[Disguised]:
    """Functions that look for their answer in the printed form of what they are given."""
    if _ABOUT_TEXT.search(plan):
        return
    for line, code in _searched(path, text):
        message = f"an answer is looked for in the printed form of what is given: `{code[:_SHOWN]}`"
        yield Disguised(line, message, sure=False)


def _searched(path: str, text: str) -> Iterator[tuple[int, str]]:
    if is_written_in(path, "python"):
        tree = python_tree(text)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.FunctionDef):
                yield from _in_function(node)
    elif is_written_in(path, "javascript"):
        yield from _behind(
            text, _KEPT, r"(?<![\w$.]){}\.(?:match|matchAll|includes|indexOf|split)\("
        )
        for match in _STRINGIFIED.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[0]
    elif is_written_in(path, "go"):
        yield from _behind(
            text, _FORMATTED, r"\bstrings\.(?:Count|Contains|Index|Split)\(\s*{}\s*,"
        )


def _behind(text: str, kept: re.Pattern[str], search: str) -> Iterator[tuple[int, str]]:
    """Where a name is bound to the printed form, and something is looked for in it later."""
    for match in kept.finditer(text):
        # Where a function ends: formatters set its brace at the margin.
        end = text.find("\n}", match.end())
        end = len(text) if end < 0 else end
        if re.compile(search.format(re.escape(match["name"]))).search(text, match.end(), end):
            yield text.count("\n", 0, match.start()) + 1, match[0]


def _in_function(node: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    given = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    kept = {
        target.id: one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Assign) and _prints(one.value, given)
        for target in one.targets
        if isinstance(target, ast.Name)
    }

    def is_print(value: ast.expr) -> bool:
        return _prints(value, given) or (isinstance(value, ast.Name) and value.id in kept)

    for one in ast.walk(node):
        match one:
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[sought, *rest]):
                searches = name in _SEARCHES and is_print(value) and _has_signs(sought)
                by_pattern = name in _SEARCHES_PATTERN and _has_signs(sought)
                if searches or (by_pattern and any(map(is_print, rest))):
                    yield one.lineno, ast.unparse(one)
                    return
            case ast.Compare(left=sought, ops=[ast.In() | ast.NotIn()], comparators=[value]):
                if is_print(value) and _has_signs(sought):
                    yield one.lineno, ast.unparse(one)
                    return


def _prints(value: ast.expr, given: set[str]) -> bool:
    match value:
        case ast.Call(func=func, args=[ast.Name(id=name), *_]):
            return name in given and ast.unparse(func).rpartition(".")[2] in _PRINTS
        case ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id=name))]):
            return name in given
    return False


def _has_signs(sought: ast.expr) -> bool:
    """Whether a text that is looked for has what only a printed value has around its parts."""
    texts = [
        one.value
        for one in ast.walk(sought)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]
    return any(map(_PRINTED_SIGNS.search, texts))
