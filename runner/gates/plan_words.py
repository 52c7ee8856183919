"""What the words of a plan name that can be looked for in tests: characters, a default. Purely.

`each dollar sign, backquote and backslash` says what an input of a test must have in it; a
parameter that is a default, and counts as not given where it is None, wants a test that gives None.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.text.literals import Source


class Unseen(NamedTuple):
    """Characters of one sentence of which tests have some, and not all."""

    names: tuple[str, ...]
    """As the plan calls those that no test has."""


_NAMES = {
    r"dollar(?: sign)?s?": "$",
    r"back-?(?:quote|tick)s?": "`",
    r"double quot(?:e|ation mark)s?": '"',
    r"(?:single quot(?:e|ation mark)|apostrophe)s?": "'",
    r"backslash(?:es)?": "\\",
    r"percent signs?": "%",
    r"ampersands?": "&",
    r"asterisks?": "*",
    r"tildes?": "~",
    r"vertical bars?": "|",
    r"semicolons?": ";",
    r"at signs?": "@",
    r"carets?": "^",
    r"exclamation marks?": "!",
    r"question marks?": "?",
    r"plus signs?": "+",
    r"equals? signs?": "=",
    r"(?:tab characters?|tabs)": "\t",
    r"(?:new-?lines?|line breaks?)": "\n",
    r"carriage returns?": "\r",
}
_NAMED = regex(r"\b(?:" + "|".join(f"({one})" for one in _NAMES) + r")\b", re.IGNORECASE)
_SIGNS = tuple(_NAMES.values())
_SHOWN = regex(r"(?<!`)`([^\w\s`])`(?!`)|``\s?(`)\s?``")
_SENTENCE = regex(r"(?<=[.;!?])\s+|\n\s*\n|\n\s*[-*|]")
NONE = regex(
    r"\b(?:not?|never|without|unlike|except|instead|neither|nor|than|only)\b", re.IGNORECASE
)
MADE = regex(
    r"\b(?:punctuation|printable|hypothesis|fast-?check|fc|quick|Fuzz|fuzz|chr|fromCharCode|rune|open|read\w*"
    r"|Read\w*|testdata|fixtures?)\b"
)
"""Words of tests whose inputs stand in no text of theirs."""
_ESCAPES = {"\t": r"\t", "\n": r"\n", "\r": r"\r", "\\": r"\\"}


def find_unseen(plan: str, tests: Sequence[Source]) -> Iterator[Unseen]:
    """Sentences that list characters of which tests give one or more, and not all."""
    texts = [one.said for test in tests for one in test.tokens if one.kind == "text"]
    words = " ".join(word for test in tests for word in test.words)
    if not texts or MADE.search(words):
        return
    for sentence in _SENTENCE.split(plan):
        named = {} if NONE.search(sentence) else dict(_characters(sentence))
        left = [name for sign, name in named.items() if not any(_has(text, sign) for text in texts)]
        if left and len(left) < len(named):
            yield Unseen(tuple(left))


def _characters(sentence: str) -> Iterator[tuple[str, str]]:
    for match in _NAMED.finditer(re.sub(r"`[^`]*`", " ", sentence)):
        yield _SIGNS[(match.lastindex or 1) - 1], match[0]
    for match in _SHOWN.finditer(sentence):
        yield match[1] or match[2], f"`{match[1] or match[2]}`"


def _has(text: str, sign: str) -> bool:
    """Whether a text as it is written has a character in it, escaped or not."""
    if sign in _ESCAPES:
        raw = sign in text and sign != "\\"
        return raw or _ESCAPES[sign] in text or f"x{ord(sign):02x}" in text.casefold()
    return sign in text or bool(re.search(rf"\\(?:x|u00){ord(sign):02x}", text, re.IGNORECASE))


class Default(NamedTuple):
    """A parameter for which None counts as not given, where its function refuses then."""

    function: str
    parameter: str
    line: int


def find_defaults(text: str, plan: str) -> Iterator[Default]:
    """Those of Python code that the plan names and calls a default."""
    tree = python_tree(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef) and re.search(r"\bdefault\b", plan):
            for name in sorted({*_refused_as_none(node)} & {*_none_by_default(node)}):
                if re.search(rf"\b{re.escape(name)}\b", plan):
                    yield Default(node.name, name, node.lineno)


def _refused_as_none(node: ast.FunctionDef) -> Iterator[str]:
    """Names of which `is None` ends in an error, and no other way."""
    for one in ast.walk(node):
        match one:
            case ast.If(
                test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[other]),
                body=[*_, ast.Raise()],
            ) if _is_none(other):
                yield name


def _none_by_default(node: ast.FunctionDef) -> Iterator[str]:
    every = [*node.args.posonlyargs, *node.args.args]
    pairs = [*zip(reversed(every), reversed(node.args.defaults), strict=False)]
    pairs += [
        (one, of) for one, of in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if of
    ]
    for one, of in pairs:
        if isinstance(of, ast.Constant) and of.value is None:
            yield one.arg


def gives_none(name: str, parameter: str, text: str) -> bool:
    """Whether a test calls a function with None, or in a way that does not show what it gives."""
    tree = python_tree(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
            if any(isinstance(one, ast.Starred) or _is_none(one) for one in node.args):
                return True
            for one in node.keywords:
                if one.arg is None or (one.arg == parameter and not _is_constant(one.value)):
                    return True
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is not None
