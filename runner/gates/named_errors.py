"""Errors that a task's words name, and whether a test that ran waits for one: purely, over texts.

`ValueError for a negative length` says what a call must do as an example does. Read is a sentence
that says who raises what; one that tells how things are today, or what is not raised any more, may
mean anything. A test counts that could wait for it in any way: by a row, a helper, another class of
the same family.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.example_texts import ELSEWHERE
from runner.languages.c_like_lexer import mask_literals
from runner.languages.python.marks import name_of
from runner.languages.registry import code_language, is_written_in
from runner.lazy_pattern import regex
from runner.text.prose import CODE_SPAN, IDENTIFIER
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.model import Task


class NamedError(NamedTuple):
    """What the plan says must be raised, thrown or given as an error."""

    kind: str
    """Its class, as `ValueError`; empty where the plan says "an error"."""
    shown: str
    """The sentence."""
    words: frozenset[str]
    """The names in the code of the sentence."""


_KIND = r"(?:[A-Za-z_]\w*\.)*(?P<kind>[A-Z]\w*(?:Error|Exception)|Err[A-Z]\w*)\b"
_RAISES = (
    r"\b(?:raises?|raised|throws?|thrown|raise\s+an?|panics?\s+with|fails?\s+with|rejects?\s+with)"
)
_IS = r"\b(?:is|are|be|gives?|returns?|becomes?|means?)"
_TYPED = regex(
    rf"(?:(?:{_RAISES}|{_IS})\s+(?:an?\s+|the\s+)?|(?:->|=>|→|⇒)\s*)[`*]*{_KIND}"
    rf"|\A\W*(?:an?\s+)?{_KIND.replace('kind', 'first')}[`*]*"
    r"\s+(?:for|if|when|where|on|unless|whenever)\b"
    rf"|{_KIND.replace('kind', 'last')}[`*]*\s+(?:is|are|must\s+be|gets?)\s+(?:raised|thrown)\b"
)
_ANY = regex(
    r"\b(?:raises?|throws?|returns?|gives?|(?:is|are))\s+(?:an?|its|the)\s+(?:\w+\s+)?(?:error|exception)\b"
    r"|\berrors?\b[^.]{0,30}\b(?:is|are)\s+(?:handed|passed|returned|raised|thrown|given)\b|\bpanics\b"
)
_THROWN = regex(r"\b(?:raise|throw|panic)")
_NO = regex(r"(?:\b(?:not|never|no|without|nor|longer|cannot|neither|instead of|than)|n't)\s+\Z")
_ABOUT = regex(
    rf"{ELSEWHERE.pattern}|\b(?:catch\w*|caught|handl\w+|swallow\w*|ignor\w+|suppress\w*|wrap\w*|subclass\w*"
    r"|inherit\w*|deriv\w*|rather|without|never|log(?:s|ged)?|import\w*|rename\w*|renam\w*|remove\w*)\b",
    re.IGNORECASE,
)
"""Words of a sentence that is about errors in another way."""
_SENTENCE = regex(r"(?<=[.;!?])\s+|\n\s*\n|\n\s*(?:[-*|#]|\d+\.)")
_LONGEST = 600
_MOST = 20


def errors_of(task: Task) -> tuple[NamedError, ...]:
    """The errors that a task names; of its text only where that tells of no error of today."""
    texts = [*task.acceptance]
    # A message about a fault names the error that comes out now: two of 33 real commits were told
    # by that, or by one named in passing.
    if task.type not in ("bugfix", "refactor") and not ELSEWHERE.search(task.prose):
        texts.append(task.prose)
    found: dict[tuple[str, frozenset[str]], NamedError] = {}
    for text in texts:
        for sentence in _SENTENCE.split(text):
            one = error_in(" ".join(sentence.split()))
            if one:
                found.setdefault((one.kind, one.words), one)
    return tuple(found.values())[:_MOST]


def error_in(sentence: str) -> NamedError | None:
    """What a sentence says must be raised; None where it says nothing of the kind."""
    if len(sentence) > _LONGEST or _ABOUT.search(sentence):
        return None
    match = _TYPED.search(sentence) or _ANY.search(sentence)
    if match is None or _NO.search(sentence[: match.start()]):
        return None
    groups = match.groupdict()
    code = " ".join(CODE_SPAN.findall(sentence))
    kind = groups.get("kind") or groups.get("first") or groups.get("last") or ""
    return NamedError(kind, sentence.strip(" .;-"), frozenset(IDENTIFIER.findall(code)) - {kind})


# --- whether a test waits for it ------------------------------------------------------------


def is_waited_for(
    error: NamedError, names: frozenset[str], path: str, text: str, ran: frozenset[int]
) -> bool:
    """Whether a part of a test file that names one of the functions waits for the error.

    `ran` are the lines of the file that tests ran; empty where nobody measured them.
    """
    if error.kind and "Traceback" in text and error.kind in text:
        return True  # as a doctest has it
    if not error.kind and not _THROWN.search(error.shown) and not is_written_in(path, "go"):
        return True  # an answer that tells of an error looks like any other
    if is_written_in(path, "python"):
        tree = python_tree(text)
        if tree is None:
            return True
        callers = _python_callers(tree, names)
        about = (node for node in tree.body if _words(node) & callers)
        return any(_waits(node, error.kind, names, ran) for node in about)
    language = code_language(path)
    mask = mask_literals(text, language.literals) if language and language.literals else text
    if is_written_in(path, "javascript"):
        return bool(names & {*IDENTIFIER.findall(mask)}) and _script_waits(mask, error.kind)
    if not is_written_in(path, "go"):
        return not is_written_in(path, "rust") or bool(_RUST_WAITS.search(mask))
    parts = re.split(r"^(?=func |var |type )", mask, flags=re.MULTILINE)
    callers = _go_callers(parts, names)
    return any(_GO_WAITS.search(one) for one in parts if callers & {*IDENTIFIER.findall(one)})


def _python_callers(tree: ast.Module, names: frozenset[str]) -> frozenset[str]:
    """These functions, and what of the file calls them for its tests."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    own = [({one.name}, _words(one)) for one in ast.walk(tree) if isinstance(one, functions)]
    own += [
        ({at.id for at in one.targets if isinstance(at, ast.Name)}, _words(one))
        for one in tree.body
        if isinstance(one, ast.Assign)
    ]
    return _with_callers(names, own)


def _go_callers(parts: Iterable[str], names: frozenset[str]) -> frozenset[str]:
    called = ((_GO_FUNCTION.match(one), one) for one in parts)
    return _with_callers(names, [({at[1]}, {*IDENTIFIER.findall(one)}) for at, one in called if at])


_GO_FUNCTION = regex(r"func (?:\([^)]*\) *)?(\w+)")
_DEEPEST = 4
"""Helpers that call one another."""


def _with_callers(
    names: frozenset[str], own: Sequence[tuple[set[str], set[str]]]
) -> frozenset[str]:
    for _ in range(_DEEPEST):
        names = names.union(*(said for said, words in own if words & names))
    return names


_GO_WAITS = regex(
    r"\b[eE]rr\w*\s*(?:==\s*nil\b|[!=]=(?!\s*nil\b))|(?<!\bt)\.Error\(\)|\berrors\.(?:Is|As)\(|\brecover\(\)"
    r"|\b(?:require|assert|is|qt|must)\.(?!No|Not)\w*(?:Err|Panic)\w*|\b(?!No)\w+Error\b|\bErr[A-Z]"
    r"|\b(?:want|exp|should|has|is)\w*(?:[eE]rr|[fF]ail|[pP]anic)\w*|\b[eE]rr\w*(?:[wW]ant|[eE]xp)\w*"
    r"|\b(?:bad|invalid|fails?|ok|valid)\b"
    r"|(?<!func )\b(?!no|not|No|Not)\w+[pP]anics?\w*\(|(?<!func )\bpanics\w*\("
)
_RUST_WAITS = regex(r"\bshould_panic\b|\bis_err\w*\(|\b(?:unwrap|expect)_err\(|\bErr\(|\bmatches!")
_SCRIPT_THROWS = regex(
    r"\b(?:toThrow\w*|throwsAsync|throws|throw|rejects?\w*|rejectedWith|raises)\b\s*(?P<given>\([^;\n]*)?|\bcatch\b"
)
_SCRIPT_KINDS = frozenset(
    {"TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError"}
)


def _script_waits(mask: str, kind: str) -> bool:
    others = _SCRIPT_KINDS - {kind}
    if kind in _SCRIPT_KINDS and kind in {*IDENTIFIER.findall(mask)}:
        return True
    return any(
        kind not in _SCRIPT_KINDS or not others & {*IDENTIFIER.findall(match["given"] or "")}
        for match in _SCRIPT_THROWS.finditer(mask)
    )


def _words(node: ast.stmt) -> set[str]:
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }


_WAITING = regex(r"rais|throw|error|exception|fail|reject|refus|invalid|bad", re.IGNORECASE)
_NO_HELPER = regex(r"\A(?:fail|raise_for_status)\Z|(?:Error|Exception)\Z")
_UNITTEST = frozenset({"assertRaises", "assertRaisesRegex", "raises"})
_KINDS = frozenset({"isinstance", "assertIsInstance"})


def _waits(unit: ast.stmt, kind: str, names: frozenset[str], ran: frozenset[int]) -> bool:
    """Whether a test, or a class of them, could wait for an error of this class."""
    for node in ast.walk(unit):
        if isinstance(node, ast.Try | ast.TryStar):
            found = bool(node.handlers) and _speaks_up(node) and _may_be(node.handlers, kind)
        elif isinstance(node, ast.Call):
            found = name_of(node).rpartition(".")[2] not in names and _calls_for(node, kind)
        elif isinstance(node, ast.List | ast.Tuple | ast.Dict):
            found = kind in {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        else:
            continue
        if found and (not ran or not ran.isdisjoint(_lines(node))):
            return True
    return False


def _lines(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _calls_for(call: ast.Call, kind: str) -> bool:
    name = name_of(call).rpartition(".")[2]
    if name in _KINDS and kind:  # an error may be given, too, and not raised
        return kind in [one for given in call.args[1:] for one in _classes(given)]
    if name not in _UNITTEST:
        is_helper = bool(_WAITING.search(name)) and not _NO_HELPER.search(name)
        return is_helper and bool(call.args)
    given = [
        *call.args[:1],
        *(one.value for one in call.keywords if one.arg == "expected_exception"),
    ]
    return not given or any(_is_kin(one, kind) for one in _classes(given[0]))


def _classes(node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return [ast.unparse(one).rpartition(".")[2] for one in parts]


def _is_kin(name: str, kind: str) -> bool:
    """Whether one of two classes may be made from the other: of builtins that is known."""
    one, other = getattr(builtins, name, None), getattr(builtins, kind, None)
    if not (isinstance(one, type) and isinstance(other, type)):
        return True
    return issubclass(one, other) or issubclass(other, one)


def _may_be(handlers: list[ast.ExceptHandler], kind: str) -> bool:
    return any(
        one.type is None or any(_is_kin(name, kind) for name in _classes(one.type))
        for one in handlers
    )


def _speaks_up(node: ast.Try | ast.TryStar) -> bool:
    """Whether a test with `try` fails where nothing is raised, or looks at what was."""
    inside = [one for handler in node.handlers for one in handler.body]
    looks = any(isinstance(one, ast.Assert | ast.Expr) for one in inside if not _is_text(one))
    return looks or any(map(_fails, (*node.body[-1:], *node.orelse)))


def _fails(node: ast.stmt) -> bool:
    called = node.value if isinstance(node, ast.Expr) else None
    named_so = isinstance(called, ast.Call) and "fail" in name_of(called)
    return named_so or isinstance(node, ast.Assert | ast.Raise)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# --- what the change has --------------------------------------------------------------------

_DEFINED = regex(
    r"\b(?:class|def|function|func|fn|type|struct|const|let|var)\s+(?:\([^)]*\)\s*)?\*?(\w+)"
)


def definitions_in(text: str) -> Iterator[tuple[str, int]]:
    """The names that a text of code binds to functions, classes and the like, and their lines."""
    for match in _DEFINED.finditer(text):
        yield match[1], text.count("\n", 0, match.start()) + 1
