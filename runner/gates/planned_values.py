"""Values and uses that a plan speaks of and no test has: purely, over sentences and tests.

A zone written as `+0200` wants a test with such a zone, "also after an infinite value" one that is
infinite; what stands "in both orders" must be given in both, and where changes of what comes out
are not to be seen inside, a test has to change what came out.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.plan_words import MADE, NONE
from runner.languages.c_like_lexer import mask_literals
from runner.languages.python.marks import name_of
from runner.languages.registry import code_language, is_written_in
from runner.lazy_pattern import regex
from runner.text.prose import CODE_SPAN, IDENTIFIER
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.text.literals import Source


class Test(NamedTuple):
    """A test file that names a function of the change."""

    path: str
    text: str
    source: Source


class Ungiven(NamedTuple):
    """What is said of it, and what would help."""

    message: str
    hint: str


_SENTENCE = regex(r"(?<=[.;!?])\s+|\n\s*\n|\n\s*[-*|]|\n(?=\S)")
_CLAUSE = regex(r"[,;:(]")
_VALUE = regex(r"(?=[^\s]*\d)(?=[^\s]*[+:%-])[\w+-][\w.:%+-]{3,18}")
"""A value whose form is its own: digits, and a sign that no name has."""
_REFERS = regex(
    r"\b(?:versions?|releases?|issues?|since|RFC|sections?|PEP|python|node|port|commit|branch)\b"
    r"|\b(?:TASK|TC)-\d",
    re.IGNORECASE,
)
"""Words of a sentence whose numbers are of something else."""
_ENDLESS = regex(r"\binfinit(?:e|y)\b(?! loop)|`[+-]?Inf(?:inity)?`")
_ENDLESS_GIVEN = regex(r"\binf\b|\bInf\b|[iI]nfinity|\b1e(?:3[1-9]\d|[4-9]\d\d)")
_NO_NUMBER = regex(r"\bNaN\b")
_NO_NUMBER_GIVEN = regex(r"[nN]a[nN]\b")
_ORDERS = regex(
    r"\bin (?:both|either|any|whatever) orders?\b|\bregardless of (?:the|their) order\b"
    r"|\bwhichever (?:of \w+ )?(?:stands|comes|is|was) (?:first|last|earlier|later)\b"
)
_UNSEEN = regex(
    r"\bchang\w+\b[^.;]*\b(?:not (?:be )?seen|never seen|nothing|no effect|unaffected"
    r"|not (?:affect|change)\w*)\b"
    r"|\b(?:gives?|given|returns?|returned)\b[^.;]*\b(?:own|fresh|new|a) cop(?:y|ies)\b"
)
_AGAIN = regex(
    r"\bagain and again\b|\bhowever often\b|\bevery time it is (?:asked|called)\b"
    r"|\b(?:ask|call|clos|stopp?|cancel)\w*\b[^.;,:]{0,30}"
    r"\b(?:again|twice|more than once|repeatedly)\b"
)
_LOOPS = regex(r"\b(?:for|while|forEach|map|range|repeat\w*|times|benchmark)\b")
_BLOCKS = regex(
    r"^[ \t]*(?:(?:async )?def test|func (?:Test|Fuzz|Benchmark)|(?:it|test|specify)\b[\w.]*\()",
    re.MULTILINE,
)
_BOUND = (
    r"(?:\b(?:const|let|var)\s+)?\b([A-Za-z_$][\w$]*)\s*:?=\s*(?:await\s+)?[\w$.]*\b(?:{})\s*\("
)
_CHANGES = frozenset(
    (
        *("append", "add", "update", "pop", "clear", "extend", "remove", "insert", "setdefault"),
        *("sort", "reverse", "popitem", "discard"),
    )
)


def find_ungiven(plan: str, names: frozenset[str], tests: Sequence[Test]) -> Iterator[Ungiven]:
    """Each value or use of the plan that none of the tests has; `names` are what they call."""
    words = " ".join(word for one in tests for word in one.source.words)
    texts = [token.said for one in tests for token in one.source.tokens if token.kind == "text"]
    made = bool(MADE.search(words))
    for sentence in _SENTENCE.split(plan):
        code = CODE_SPAN.findall(sentence)
        if not made:
            yield from _shapes(sentence, texts)
        if not (made or NONE.search(sentence)):
            yield from _numbers(sentence, [one.text for one in tests])
        if _ORDERS.search(sentence) and not made:
            yield from _orders([*dict.fromkeys(code)], texts)
        called = sorted({*IDENTIFIER.findall(" ".join(code))} & names)
        if _UNSEEN.search(sentence):
            yield from _lent(called, tests)
        if (spoken := _AGAIN.search(sentence)) and not NONE.search(sentence):
            yield from _again(spoken[0], called or sorted(names), tests)


def _shapes(sentence: str, texts: Sequence[str]) -> Iterator[Ungiven]:
    if _REFERS.search(CODE_SPAN.sub(" ", sentence)):
        return
    for match in CODE_SPAN.finditer(sentence):
        value = match[1]
        if not _VALUE.fullmatch(value) or _REFERS.search(value):
            continue
        if NONE.search(_CLAUSE.split(CODE_SPAN.sub("", sentence[: match.start()]))[-1]):
            continue
        form = re.sub(r"\d+", lambda _: r"\d+", re.sub(r"[^\W\d_]+", "#", re.escape(value)))
        if not any(re.search(form.replace("#", r"[^\W\d_]+"), text) for text in texts):
            yield Ungiven(
                f"the plan shows `{value}`, and no test gives anything like it",
                "have a test give one, with what must come out",
            )


def _numbers(sentence: str, tests: Sequence[str]) -> Iterator[Ungiven]:
    kinds = (("infinite", _ENDLESS, _ENDLESS_GIVEN), ("NaN", _NO_NUMBER, _NO_NUMBER_GIVEN))
    for name, spoken, given in kinds:
        if spoken.search(sentence) and not any(map(given.search, tests)):
            yield Ungiven(
                f"the plan speaks of a number that is {name}, and no test gives one",
                "have a test give one, with what must come out",
            )


def _orders(code: Sequence[str], texts: Iterable[str]) -> Iterator[Ungiven]:
    """Of two things that may stand in both orders, tests that have them in one alone."""
    if len(code) != 2:  # noqa: PLR2004 - the two that are spoken of
        return
    found: set[bool] = set()
    for text in texts:
        places = [_place(one, text) for one in code]
        if min(places) >= 0:
            found.add(places[0] < places[1])
        elif 0 in places:
            return  # a piece: tests may put such together as they like
    if len(found) == 1:
        first, second = code if found.pop() else reversed(code)
        yield Ungiven(
            f"the plan has `{first}` and `{second}` in both orders, and every test in this one",
            f"have a test give `{second}` before `{first}`",
        )


def _place(name: str, text: str) -> int:
    match = re.search(rf"(?<![\w*]){re.escape(name)}(?![\w*])", text)
    return match.start() if match else -1


def _lent(called: Sequence[str], tests: Sequence[Test]) -> Iterator[Ungiven]:
    """Functions of which no test changes what came out, where the plan says what is of that."""
    for name in called:
        about = [one for one in tests if re.search(rf"\b{re.escape(name)}\s*\(", one.text)]
        if about and not any(_changes_result(name, one) for one in about):
            yield Ungiven(
                f"the plan says what becomes of changes, and no test changes what {name} gives",
                f"have a test change what {name} gave, and ask it again",
            )


def _again(spoken: str, called: Sequence[str], tests: Sequence[Test]) -> Iterator[Ungiven]:
    """What no test does twice alike, where the plan says what comes of that."""
    about = [one.text for one in tests if any(f"{name}(" in one.text for name in called)]
    blocks = [block for text in about for block in _blocks(text)]
    if blocks and not any(_does_twice(called, block) for block in blocks):
        shown = ", ".join(called[:2])
        yield Ungiven(
            f'the plan says "{spoken}", and no test calls {shown} twice alike',
            "have one test do it twice, and compare both",
        )


def _blocks(text: str) -> Iterator[str]:
    """The tests of a file, each from its first line to the next one's; helpers go with them."""
    starts = [match.start() for match in _BLOCKS.finditer(text)]
    yield from (text[one:end] for one, end in zip(starts, (*starts[1:], len(text)), strict=True))


def _does_twice(called: Sequence[str], block: str) -> bool:
    """Whether a test calls a function, or what it gave, twice with the same first argument."""
    if _LOOPS.search(block):
        return True
    every = "|".join(map(re.escape, called))
    bound = re.findall(_BOUND.format(every), block)
    either = "|".join((every, *map(re.escape, bound)))
    # What makes the thing that is asked is called anew for another one of it.
    calls = re.findall(rf"([\w$.]*)(?<![\w$])({either})\s*\(\s*([^,()]*)", block)
    return len({*calls}) < len(calls)


def _changes_result(name: str, test: Test) -> bool:
    if is_written_in(test.path, "python"):
        tree = python_tree(test.text)
        return tree is None or _changes_in_python(name, tree)
    if not is_written_in(test.path, "javascript"):
        return True  # not looked at
    language = code_language(test.path)
    mask = mask_literals(test.text, language.literals) if language and language.literals else ""
    bound = re.compile(
        r"\b(?:const|let|var)\s+(?P<to>[\w$]+|\{[^{}]*\}|\[[^\[\]]*\])\s*=\s*(?:await\s+)?"
        rf"[\w$.]*\b{re.escape(name)}\s*\("
    )
    return any(
        _changed_in_script(one).search(mask)
        for match in bound.finditer(mask)
        for one in IDENTIFIER.findall(match["to"])
    )


def _changed_in_script(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    return re.compile(
        rf"(?<![\w$.]){word}(?:\??\.[\w$]+|\[[^\]]*\])+\s*(?:[-+*/]?=(?!=)|\+\+|--)"
        rf"|(?<![\w$.]){word}\b[\w$.?\[\]]*\.(?:push|pop|shift|unshift|splice|sort|reverse|set"
        rf"|delete|clear|add|fill|append)\(|\bdelete\s+{word}\b|\bObject\.assign\(\s*{word}\b"
    )


def _changes_in_python(name: str, tree: ast.Module) -> bool:
    bound = {*_results_of(name, tree)}
    for place in _changed_places(tree):
        node = place
        while isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        if (isinstance(node, ast.Name) and node.id in bound) or _is_call_of(node, name):
            return True
    return False


def _results_of(name: str, tree: ast.Module) -> Iterator[str]:
    """The names that what a function gives is bound to, whole or in part."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(value=value, targets=targets):
                pass
            case ast.For(iter=value, target=target) | ast.NamedExpr(value=value, target=target):
                targets = [target]
            case _:
                continue
        if any(_is_call_of(inner, name) for inner in ast.walk(value)):
            yield from (
                one.id for at in targets for one in ast.walk(at) if isinstance(one, ast.Name)
            )


def _changed_places(tree: ast.Module) -> Iterator[ast.expr]:
    """What items or attributes are set or deleted of, and what a changing method is called of."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=places) | ast.Delete(targets=places):
                yield from (
                    one.value for one in places if isinstance(one, ast.Subscript | ast.Attribute)
                )
            case ast.AugAssign(target=ast.Subscript(value=value) | ast.Attribute(value=value)):
                yield value
            case ast.Call(func=ast.Attribute(attr=attribute, value=value)):
                if attribute in _CHANGES:
                    yield value


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and name_of(node).rpartition(".")[2] == name
