"""JavaScript as if it kept nothing in names of its own: what tells how a program runs, in place.

`const { NODE_ENV: mode } = process.env; if (mode === 'x')` reads as `process.env.NODE_ENV === 'x'`.
Found by pattern, not by grammar; no line moves to another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.languages.c_like_lexer import find_closing, mask_literals, statement_end
from runner.languages.javascript import LITERALS
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLD = "\v"
"""A line end within a statement: blank to every pattern, and still counted."""
_GOES_ON = regex(r"(?![;{}])[.?:&|=+)\]]")
_NEEDS_MORE = regex(r"(?:[=(\[?&|+,]|=>)\Z")
_NAME = r"[A-Za-z_$][\w$]*"
_SOURCE = (
    r"(?:process\.(?:env(?:\.\w+)?|argv(?:\[\d+\]|\.(?:slice|at)\(\d+\))?|argv0|execArgv|title)"
    r"|import\.meta\.env(?:\.\w+)?|require\.(?:main|cache)(?:\.filename)?"
    r"|module\.parent(?:\.filename)?|globalThis|global|process|import\.meta)(?![\w$])(?!\.\w|\()"
)
"""A value that says how a program runs, as it is written once it is spelled in one way."""
_TEXT = r"(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|\[\]|\{\})"
_DEFAULT = rf"(?:\s*(?:\?\?|\|\|)\s*{_TEXT})?"
_VALUE = (
    r"\s*(?:(?:(?:path\.)?(?:basename|resolve|normalize|dirname)|realpathSync|String)?\(\s*)*"
    rf"(?P<{{}}>{_SOURCE}){_DEFAULT}(?:\s+as\s+[\w$<>, .]{{1,100}})?(?:\s*\))*"
    r"(?:\.(?:toLowerCase|toUpperCase|trim|toString|join|split|slice|concat)\([^()]*\))*"
    rf"{_DEFAULT}\s*(?=[;\n,)}}]|\Z)"
)
_TYPE = r"(?:\s*:\s*[\w$<>\[\]|. ,'\"]{1,100}?)?"
_LET = r"\b(?:const|let|var)\s+"


def _value(name: str) -> str:
    return _VALUE.replace("{}", name, 1)


_BINDS = regex(
    rf"{_LET}(?P<name>{_NAME}){_TYPE}\s*={_value('source')}"
    rf"|{_LET}(?P<parts>\{{[^{{}};]*\}}|\[[^\[\];]*\]){_TYPE}\s*={_value('whole')}"
    rf"|{_LET}(?P<arrow>{_NAME})\s*=\s*\(\s*\){_TYPE}\s*=>{_value('given')}"
    rf"|\bfunction\s+(?P<function>{_NAME})\s*\(\s*\){_TYPE}\s*\{{\s*return{_value('returned')}"
    rf"|\bfor\s*\(\s*(?:const|let|var)\s+\[?\s*(?P<each>{_NAME})[^()]*?\s(?:of|in)\s+(?P<all>"
    r"(?:Object\.(?:keys|entries)\(\s*)?process\.(?:env|argv|execArgv)(?:\.slice\(\d+\))?)\s*\)"
    rf"|\bimport\s+(?:\*\s*as\s+)?(?P<module>{_NAME}|\{{[^{{}}]*\}})\s+from\s+"
    r"['\"](?:node:)?process['\"]"
)
_PART = regex(
    rf"\s*(?:\.\.\.)?(?P<key>{_NAME}|['\"][\w-]+['\"])?"
    rf"(?:\s*:\s*(?P<as>{_NAME})|\s+as\s+(?P<other>{_NAME}))?"
)
_MOST = 200
_MOST_READ = 10_000_000
"""Letters that are gone through for all names of a file together."""
_CAST = regex(rf"\(\s*(?P<of>{_NAME}(?:\.{_NAME})*)\s+as\s+[^()]*?\)")
_KEYED = regex(rf"(?<=[\w$)\]])(?:\?\.)?\[\s*(?P<q>['\"`])(?P<key>{_NAME})(?P=q)\s*\]")
_NO_HEAD = regex(r"(?<![\w$.])(?:if|for|while|switch|with)\s*\Z")
_BODY = regex(r"\s*(?::[^={;]*)?(?:=>\s*|(?=\{))")


class _Alias(NamedTuple):
    """A name, what stands for it, and from where that holds."""

    name: str
    source: str
    since: int
    called: bool = False
    """Whether it is a function that gives the value."""


def follow_names(text: str) -> str:
    """The text with each statement on one line, and values in the place of the names they got.

    `text` is without comments.
    """
    text = _spell_once(_fold_statements(text))
    at = 0
    for _ in range(min(_MOST, _MOST_READ // (len(text) + 1))):
        bound = _BINDS.search(text, at)
        if bound is None:
            break
        for alias in _aliases(bound):
            text = _put_in(text, alias)
        at = bound.end()
    return text


def line_in(text: str, at: int) -> int:
    """The line of a place of such a text, from 1."""
    return text.count("\n", 0, at) + text.count(_FOLD, 0, at) + 1


def is_bound(text: str, name: str, at: int) -> bool:
    """Whether a name is the file's own at a place, and so not that of a global."""
    mask = mask_literals(text, LITERALS)
    return any(begin <= at < end for begin, end in _bindings(mask, re.escape(name)))


def _fold_statements(text: str) -> str:
    """The text with other blanks in the place of line ends that end no statement."""
    mask = mask_literals(text, LITERALS)
    letters, open_, line = list(text), [""], 0
    for at, letter in enumerate(mask):
        if letter in "([{":
            open_.append(letter)
        elif letter in ")]}" and len(open_) > 1:
            open_.pop()
        elif letter == "\n":
            inside = open_[-1] in ("(", "[")
            after = _GOES_ON.match(mask[at : at + 200].lstrip())
            if inside or after or _NEEDS_MORE.search(mask[line:at].rstrip()):
                letters[at] = _FOLD
            line = at + 1
    return "".join(letters)


def _spell_once(text: str) -> str:
    """Casts, keys in brackets and optional chains as what they mean."""
    text = _CAST.sub(lambda found: _in_place(found[0], found["of"]), text)
    text = _KEYED.sub(lambda found: _in_place(found[0], f".{found['key']}"), text)
    text = re.sub(r"\?\.(?=[\[(])", "", text)
    text = re.sub(r"\?\.(?=[A-Za-z_$])", ".", text)
    text = re.sub(
        rf"(?<![ \t{_FOLD}])[ \t{_FOLD}]+(?=\.[A-Za-z_$])",
        lambda found: _in_place(found[0], ""),
        text,
    )
    return re.sub(r"\b(?:globalThis|global|window)\.(?=process\b)", "", text)


def _in_place(old: str, new: str) -> str:
    """A text for another, behind as many line ends as that one had."""
    return "".join(one for one in old if one in ("\n", _FOLD)) + new


def _aliases(bound: re.Match[str]) -> Iterator[_Alias]:
    since = bound.end()
    if module := bound["module"]:
        for key, name in _parts(module):
            yield _Alias(name, f"process.{key}" if module[0] == "{" else "process", since)
    elif parts := bound["parts"]:
        for number, (key, name) in enumerate(_parts(parts)):
            inner = f"[{number}]" if parts[0] == "[" else f".{key}"
            yield _Alias(name, f"{bound['whole']}{inner}", since)
    elif each := bound["each"]:
        of = bound["all"]
        yield _Alias(each, f"Object.keys({of})" if of == "process.env" else of, since)
    elif called := bound["arrow"] or bound["function"]:
        yield _Alias(called, bound["given"] or bound["returned"], since, called=True)
    else:
        yield _Alias(bound["name"], bound["source"], since)


def _parts(pattern: str) -> Iterator[tuple[str, str]]:
    """Key and name of each part that is taken out of a value."""
    for one in pattern.strip(f"{{}}[] \n{_FOLD}").split(","):
        found = _PART.match(one)
        key = (found["key"] or "").strip("'\"") if found else ""
        yield key, (found["as"] or found["other"] or key) if found else ""


def _put_in(text: str, alias: _Alias) -> str:
    """The text with the source in the place of a name, where that is bound to it."""
    if not alias.name or alias.name == alias.source:
        return text
    name, mask = re.escape(alias.name), mask_literals(text, LITERALS)
    # a function may be called above the line that makes it
    begin = 0 if alias.called else alias.since
    end = len(text) if alias.called else _end_of_block(mask, alias.since)
    call = r"\s*\(\s*\)" if alias.called else r"(?![\w$])(?!\s*:(?!:))"
    used = [*re.compile(rf"(?<![\w$.])(?<!function ){name}{call}").finditer(mask, begin, end)]
    again = [one for one in _bindings(mask, name) if one[0] >= alias.since] if used else []
    for one in reversed(used):
        if not any(first <= one.start() < last for first, last in again):
            text = text[: one.start()] + alias.source + text[one.end() :]
    return text


def _end_of_block(mask: str, at: int) -> int:
    depth = 0
    for place in range(at, len(mask)):
        if mask[place] == "{":
            depth += 1
        elif mask[place] == "}":
            depth -= 1
            if depth < 0:
                return place
    return len(mask)


def _bindings(mask: str, name: str) -> Iterator[tuple[int, int]]:
    """Where a name is bound: from there to the end of what it holds in."""
    word = rf"(?<![\w$.]){name}(?![\w$])"
    for one in re.finditer(rf"{_LET}(?:[\[{{][^=;]*?)?{word}", mask):
        # behind what is taken out: its closing brace ends no block
        yield one.start(), _end_of_block(mask, max(one.end(), mask.find("=", one.end())))
    if re.search(rf"\b(?:import\s[^;'\"]*?|function\s+|class\s+){word}", mask):
        yield 0, len(mask)
    for one in re.finditer(rf"{word}\s*=>", mask):
        yield one.start(), _end_of_body(mask, one.end())
    for one in re.finditer(rf"\([^()]*?{word}[^()]*\)", mask):
        after = _BODY.match(mask, one.end())
        if after and not _NO_HEAD.search(mask[max(0, one.start() - 12) : one.start()]):
            yield one.start(), _end_of_body(mask, after.end())


def _end_of_body(mask: str, at: int) -> int:
    at += len(mask[at:]) - len(mask[at:].lstrip())
    return find_closing(mask, at) if mask[at : at + 1] == "{" else statement_end(mask, at)
