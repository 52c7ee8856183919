"""Examples in the text of a plan that say without doubt what a call must give: purely.

`f("x") == "y"`, `f("x")` is `"y"`, a row of a table, a line of a doctest. Read is only what stands
for itself: a sentence that says anything else besides (when, before, with, not) may mean another
world than the one in which the call is made, and a name in place of a constant is no value.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.model import Task


class Example(NamedTuple):
    """A call of constants, and the constant that it must give or the error that it must raise."""

    name: str
    call: str
    """As the plan writes it."""
    wanted: str
    """The same; of an error its class."""
    given: tuple[object, ...]
    named: tuple[tuple[str, object], ...]
    value: object
    raises: bool = False
    words: frozenset[str] = frozenset()
    """The names of constants that it holds: `true` is none of Python, `True` none of a script."""
    text: bool = False
    """Whether it must give a text that stands without quotes: of another kind nothing is said."""
    prose: bool = False
    """Whether it stands in a sentence of the task's text, which a person may have meant loosely."""


_GIVES = (
    r"(?:(?:must|should|shall|has to|will)\s+(?:be|give|return|equal|yield)"
    r"|is(?:\s+equal\s+to)?|are|equals|gives(?:\s+back)?|returns|yields|evaluates\s+to|results\s+in"
    r"|===?|=>|->|→|⇒)"
)
_RAISES = (
    r"(?:raises|throws|(?:must|should|shall|has to|will)\s+(?:raise|throw))(?:\s+an?)?"
    r"|is\s+an?(?=\s+`?(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b)"
)
_SPAN = r"`(?P<{0}>[^`\n]+)`"
_ERROR = r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Stop\w*)"
_PLAIN_VALUE = (
    rf"{_ERROR}|" + r"-?\d[\d_]*(?:\.\d+)?|True|False|None|true|false|null|\"[^\"\n]*\"|'[^'\n]*'"
)
_LABEL = r"(?i:(?:and|so|also|then|example|for example|e\.g\.|i\.e\.|that is)\s*[:,]?\s*)*"
_BETWEEN = (
    _SPAN.format("call")
    + rf"\s*(?P<way>{_RAISES}|{_GIVES})\s*(?:{_SPAN.format('value')}|(?P<plain>{_PLAIN_VALUE}))"
    + r"(?:\s*,?\s*(?:and\s+)?(?:not|never)\s+(?:`[^`\n]+`|-?[\w.]+))?"
)
_PAIR = regex(_BETWEEN)
_WHOLE = regex(_SPAN.format("whole"))
_STEP = regex(r"\s*(?:,?\s*and|,?\s*but|,)?\s*")
_START = regex(rf"\s*(?:\[[ xX]\]\s*)?{_LABEL}")
_END = regex(r"\s*[.;:,]?\s*\Z")
_BARE = regex(rf"(?P<call>[A-Za-z_$][\w$.]*\(.*\))\s*(?P<way>{_GIVES})\s*(?P<value>\S.*?)\s*\Z")
_CALLED = regex(r"\A(?:await\s+)?[A-Za-z_$][\w$]*\(")
_ROW = regex(r"\A\s*\|(?P<cells>.*)\|\s*\Z")
_RULE = regex(r"\A[\s|:-]+\Z")
_RESULT_COLUMN = regex(
    r"\A\W*(?:result|returns?|gives|output|expected|value|is|→|->|=>|wanted"
    r"|must (?:be|give|return))\W*\Z",
    re.IGNORECASE,
)
ELSEWHERE = regex(
    r"\b(?:current(?:ly)?|today|now|at present|so far|used to|bug|wrong(?:ly)?|actual(?:ly)?|broken"
    r"|before|instead of|no longer|fails?|old|legacy)\b",
    re.IGNORECASE,
)
"""Words of a text that tells how things are, rather than how they must be."""
_CONTEXT = regex(
    rf"{ELSEWHERE.pattern}|\b(?:given|when\w*|with(?:out|in)?|after|if|once|while|unless|until|has|have"
    r"|had|holds?|contains?|there|exists?|sets?|stored?|stores?|databases?|db|tables?|rows?|users?|config\w*"
    r"|settings?|env\w*|log(?:ged|in)|running|empty|call(?:ed|s)?|first|second|then|again|not|never|no|none"
    r"|new|except|default\w*|locale|time\w*|zone|flags?|modes?|versions?|install\w*|on|in|under|of|for"
    r"|by|from|see|like|such|was|were|assum\w*|suppos\w*|let|say)\b",
    re.IGNORECASE,
)
"""Words behind which an example may be one of another world than that of a call alone."""
_WORLD = regex(
    rf"{ELSEWHERE.pattern}|\b(?:given|when\w*|after|if|once|while|unless|until|exists?|stored?"
    r"|databases?|db|tables?|rows?|users?|config\w*|settings?|env\w*|logged in|running|then|again"
    r"|locale|time\w*|zone|flags?|modes?|versions?|install\w*|assum\w*|suppos\w*|like|such)\b",
    re.IGNORECASE,
)
"""Of these those that say so in the text of a task, where every sentence has some of the others."""
_PARAGRAPH = regex(r"\n\s*\n|\n\s*(?=[-*|>]|\d+\.)")
_WORDS = {"true": True, "false": False, "null": None}
_LONGEST = 2000
_LAST_LETTER = 0x110000
_MOST = 40


def examples_of(task: Task) -> tuple[Example, ...]:
    """Those of a task, each once; none of a call of which the text says two things."""
    found: list[Example] = []
    for line in task.acceptance:
        found += _of_sentences(line) if len(line) <= _LONGEST else ()
    text = f"{task.title}\n{task.prose}"
    # The prose of a bugfix shows what comes out wrongly as readily as what should.
    if task.type not in ("bugfix", "refactor") and not ELSEWHERE.search(text):
        found += _of_tables(task.prose)
        found += _of_doctests(task.prose)
        found += _of_prose(task.prose)
    said: dict[str, set[str]] = {}
    for one in found:
        said.setdefault(_plain(one.call), set()).add(repr((one.value, one.raises)))
    unique = {_plain(one.call): one for one in found}
    return tuple(one for key, one in unique.items() if len(said[key]) == 1)[:_MOST]


def _plain(call: str) -> str:
    return re.sub(r"\s+", "", call).replace('"', "'")


_LOOSE = regex(
    r"`(?P<given>[\"']?\w[^`\n/\\()\[\]{}=]* [^`\n/\\()\[\]{}=]*)`(?P<between>[^`.;:,\n]{0,60}?)"
    r"\b(?:is|are|gives?|becomes?|returns?|yields?)\s+`(?P<wanted>[^`\n]+)`"
)
_DENIES = regex(
    r"\b(?:not|never|no|without|unless|except|unlike|than|if|when|where)\b", re.IGNORECASE
)
_MEASURES = regex(
    r"\b(?:\w*seconds?|ms|minutes?|hours?|days?|weeks?|months?|years?|percent"
    r"|\w*bytes?|[km]b|\w*met(?:er|re)s?|times?)\b",
    re.IGNORECASE,
)


def loose_examples(line: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Examples without a call, `` `one two three` in 9 letters is `one two…` ``: text and values.

    Only of texts of more than one word, which are no code. A number with a unit may stand in a
    test as another one, and is none of the values.
    """
    for match in _LOOSE.finditer(line):
        between = match["between"]
        if _DENIES.search(between):
            continue
        numbers = (
            () if _MEASURES.search(between) else re.findall(r"(?<![\w.])\d+(?![\w.])", between)
        )
        texts = (match[one].strip("\"'") for one in ("given", "wanted"))
        yield match[0].replace("`", ""), frozenset((*texts, *numbers))


def spell_out(texts: Iterable[str]) -> frozenset[str]:
    """Texts as they stand in code, and with their escapes as what they stand for."""
    plain = frozenset(texts)
    known = (re.sub(r"\\u\{?([0-9A-Fa-f]{4,6})\}?", _letter, one) for one in plain if "\\u" in one)
    return plain.union(known)


def _letter(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    return chr(number) if number < _LAST_LETTER else match[0]


# --- sentences ------------------------------------------------------------------------------


def _of_prose(prose: str) -> Iterator[Example]:
    """Those of whole sentences, in paragraphs and lists that speak of no other world."""
    for part in _PARAGRAPH.split(prose):
        paragraph = re.sub(r"\A(?:[-*]|\d+\.)\s+", "", " ".join(part.split()))
        if "`" in paragraph and len(paragraph) <= _LONGEST and not paragraph.startswith(("|", ">")):
            yield from (one._replace(prose=True) for one in _of_sentences(paragraph, _WORLD))


def _of_sentences(line: str, context: re.Pattern[str] = _CONTEXT) -> Iterator[Example]:
    """Those of a line that holds examples, and a word or two of what they show."""
    line = line.strip()
    if bare := _of_code(line, line):
        yield bare
        return
    for sentence in _sentences(line):
        if _START.fullmatch(sentence):
            continue
        found = _of_sentence(sentence)
        if not found and context.search(re.sub(r"`[^`]*`", "`", sentence)):
            return  # what follows may be so only then
        yield from found


def _sentences(line: str) -> Iterator[str]:
    """The sentences of a line, and what stands before a colon; code is not cut."""
    start, inside = 0, False
    for at, letter in enumerate(line):
        inside ^= letter == "`"
        if not inside and letter in ".:;" and line[at + 1 : at + 2] in (" ", ""):
            yield line[start : at + 1].strip()
            start = at + 1
    if line[start:].strip():
        yield line[start:].strip()


def _of_sentence(sentence: str) -> list[Example]:
    """All examples of a sentence that holds nothing else; else none."""
    head = _START.match(sentence)
    at = head.end() if head else 0
    found: list[Example] = []
    while at < len(sentence):
        pair = _PAIR.match(sentence, at)
        whole = None if pair else _WHOLE.match(sentence, at)
        match = pair or whole
        one = _of_pair(pair) if pair else _of_code(whole["whole"], "") if whole else None
        if match is None or one is None:
            break
        found.append(one)
        at = match.end()
        if _END.match(sentence, at):
            return found
        step = _STEP.match(sentence, at)
        at = step.end() if step else at
    return []


def _of_pair(match: re.Match[str]) -> Example | None:
    return _example(match["call"], match["value"] or match["plain"], error=_is_error(match["way"]))


def _is_error(way: str) -> bool:
    return not re.fullmatch(_GIVES, way)


def _of_code(code: str, whole: str) -> Example | None:
    """An example that one piece of code is: an equality, or a call, an arrow and a value."""
    code = code.strip().removeprefix(">>>").strip()
    if whole and "`" in whole:
        return None
    match = _BARE.match(code)
    # what stands alone in a line has to be code: "is" and "returns" may begin a sentence
    if match and (not whole or re.match(r"===?|=>|->|→|⇒", match["way"])):
        return _example(match["call"], match["value"], error=False)
    return None


def _example(call: str, wanted: str, *, error: bool) -> Example | None:
    call, wanted = call.strip().removeprefix(">>>").strip(), wanted.strip()
    if not _CALLED.match(call) or len(call) > _LONGEST or len(wanted) > _LONGEST:
        return None
    read = _read_call(call)
    if read is None:
        return None
    name, given, named = read
    if error:
        return (
            Example(name, call, wanted, given, named, None, raises=True)
            if _is_class(wanted)
            else None
        )
    known, value = _read(wanted)
    text = not known and _is_made_of(wanted, given)
    if text:
        known, value = True, wanted
    words = frozenset(re.findall(r"\b(?:true|false|null|True|False|None)\b", f"{call} {wanted}"))
    one = Example(name, call, wanted, given, named, value, words=words, text=text)
    return one if known else None


_UNQUOTED = regex(r"[^\s\"'`()\[\]{}=<>$.][^\n\"'`()\[\]{}=<>$]*")


def _is_made_of(wanted: str, given: tuple[object, ...]) -> bool:
    """Whether it is a text without quotes: its letters all come from the texts that are given."""
    letters = Counter(one for one in wanted.casefold() if one.isalnum())
    known = "".join(one for one in given if isinstance(one, str)).casefold()
    return bool(_UNQUOTED.fullmatch(wanted) and letters and letters <= Counter(known))


def _is_class(wanted: str) -> bool:
    return bool(re.fullmatch(_ERROR, wanted))


def _read_call(call: str) -> tuple[str, tuple[object, ...], tuple[tuple[str, object], ...]] | None:
    node = _parsed(call)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return None
    given = [_constant(one) for one in node.args]
    named = [(one.arg, _constant(one.value)) for one in node.keywords]
    if not all(known for known, _ in given):
        return None
    if not all(word and known for word, (known, _) in named):
        return None
    values = tuple(value for _, value in given)
    return node.func.id, values, tuple((word or "", value) for word, (_, value) in named)


def _read(text: str) -> tuple[bool, object]:
    node = _parsed(text)
    return (False, None) if node is None else _constant(node)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Named(ast.NodeTransformer):
    """Puts the constants of scripts in the place of their names."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """`true`, `false` and `null`; any other name stays one, and is no constant."""
        return ast.Constant(_WORDS[node.id]) if node.id in _WORDS else node


def _constant(node: ast.expr) -> tuple[bool, object]:
    """Whether an expression is a constant, and which."""
    try:
        value = ast.literal_eval(_Named().visit(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False, None
    return value is not Ellipsis, value


# --- tables and doctests --------------------------------------------------------------------


def _of_tables(prose: str) -> Iterator[Example]:
    """Rows of two columns: a call, and what it gives."""
    wanted = False
    last: list[str] = []
    for line in prose.splitlines():
        row = _ROW.match(line)
        if row is None:
            wanted, last = False, []
            continue
        cells = [one.strip() for one in re.split(r"(?<!\\)\|", row["cells"])]
        if _RULE.match(line):
            wanted = len(last) == 2 and bool(_RESULT_COLUMN.match(last[1]))  # noqa: PLR2004 - a pair
        elif wanted and len(cells) == 2 and (one := _of_row(*cells)):  # noqa: PLR2004 - as above
            yield one
        last = cells


def _of_row(call: str, wanted: str) -> Example | None:
    code = _WHOLE.fullmatch(call)
    value = _WHOLE.fullmatch(wanted)
    if code is None:
        return None
    return _example(code["whole"], value["whole"] if value else wanted, error=False)


def _of_doctests(prose: str) -> Iterator[Example]:
    """Calls behind `>>>` with a constant on the next line, where no other line comes before."""
    lines = [one.strip() for one in prose.splitlines()]
    session = False
    for at, line in enumerate(lines):
        if not line.startswith(">>> "):
            session = session and bool(line)
            continue
        call = line.removeprefix(">>> ").strip()
        after = lines[at + 1] if at + 1 < len(lines) else ""
        one = _example(call, after, error=False) if after and after[:3] != ">>>" else None
        if one is None:
            session = True  # it may have set something up
        elif not session:
            yield one
