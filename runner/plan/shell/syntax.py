"""Parse the commands of a shell line into a flat list with operators and depths.

Shell Command Language of POSIX.1-2017. Nothing here decides how a line ends: a real shell does
(`exit_status`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from runner.lazy_pattern import regex

LONGEST = 64 << 10
"""Maximum characters of a line or script."""
_DEEPEST = 40
_BLANK = regex(r"(?:[ \t\r]|\\\n)+")
_PLAIN = regex(r"[^\s;&|()<>'\"`\\$]+")
_OPERATOR = regex(r"&&|\|\||;;&|;;|;&|\|&|[;|&()\n]")
_REDIRECTION = regex(r"\d*(?:<<<|<<-?|<>|>\||>>|[<>]&|&>>?|[<>])(?!\()")
_ASSIGNMENT = regex(r"[A-Za-z_]\w*\+?=")
_OPENS = frozenset({"if", "while", "until", "for", "select", "case", "{"})
_CLOSES = {"fi": "if", "esac": "case", "}": "{", "done": "do"}
_LOOPS = frozenset({"while", "until", "for", "select"})
_GOES_ON = frozenset({"then", "elif", "else", "do", "!", "time", "coproc"})
_ENDS_WORD = frozenset(" \t\r\n;&|()<>")


class ShellSyntaxError(ValueError):
    """This is no shell line, or one that is nested too deeply to be read."""


class ShellWord(NamedTuple):
    """One word as written, and without its quotes."""

    text: str
    value: str


class Simple(NamedTuple):
    """One command with its assignments, without its redirections."""

    assignments: tuple[ShellWord, ...]
    words: tuple[ShellWord, ...]
    start: int
    end: int
    text: str
    before: str = ""
    """Operator or keyword before it; empty for the first command."""
    depth: int = 0
    """Number of open groups, conditions and substitutions around it."""
    documents: tuple[str, ...] = ()
    """Texts that it reads from the line itself, such as here documents."""

    @property
    def values(self) -> tuple[str, ...]:
        """Its words without quotes."""
        return tuple(word.value for word in self.words)


class _Draft:
    """A command that is being read."""

    def __init__(self, before: str) -> None:
        self.before = before
        self.start = self.end = -1
        self.assignments: list[ShellWord] = []
        self.words: list[ShellWord] = []
        self.documents: list[str] = []

    def take(self, start: int, end: int) -> None:
        self.start = start if self.start < 0 else self.start
        self.end = end


@lru_cache(maxsize=1024)
def read_commands(line: str) -> tuple[Simple, ...]:
    """Return every simple command of a line in its order. Raises ShellSyntaxError."""
    if len(line) > LONGEST:
        raise ShellSyntaxError("too long")
    reader = _Reader(line, 0)
    reader.read_list("")
    ordered = sorted(reader.found, key=lambda one: one.start)
    return tuple(one._replace(documents=tuple(one.documents)) for one in ordered)


class _Reader:
    """One pass over a text; commands are collected where they end."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self.nested = 0
        self.found: list[Simple] = []
        self.documents: list[tuple[str, bool, list[str]]] = []
        """Here documents that start on the next line: their end, whether they expand."""

    def read_list(self, end: str) -> None:
        """Read commands up to `end`, which is `)` or the end of the text, and past it."""
        self.nested += 1
        if self.nested > _DEEPEST:
            raise ShellSyntaxError("nested too deeply")
        opened: list[str] = []
        draft = _Draft("")
        while True:
            self._skip_blanks()
            operator = self._find_operator()
            if self.at >= len(self.text) or (operator == ")" and opened[-1:] != ["("]):
                break
            if operator == "(" and len(draft.words) == 1 and self.text.startswith("()", self.at):
                self.at += 2  # the head of a function: its body follows as any group
                draft = _Draft("()")
            elif operator:
                self._finish(draft)
                draft = _Draft(operator)
                self._pass_operator(operator, opened)
            elif not self._read_redirection(draft):
                draft = self._read_word(draft, opened)
        self._finish(draft)
        if opened or operator != end:
            raise ShellSyntaxError(f"unclosed or unexpected {(opened or [operator or end])[-1]!r}")
        self.at += len(end)
        self.nested -= 1

    def _read_word(self, draft: _Draft, opened: list[str]) -> _Draft:
        start = self.at
        word = self._take_word()
        if not draft.words and not draft.assignments:
            if word.text in _CLOSES:
                self._close(_CLOSES[word.text], opened)
                return _Draft(draft.before)
            if word.text in _OPENS or word.text in _GOES_ON or word.text == "function":
                return self._read_keyword(word.text, draft, opened)
            if word.text == "[[" and (end := self.text.find("]]", self.at)) >= 0:
                draft.words.append(word)
                word = ShellWord(self.text[self.at : end + 2], self.text[self.at : end + 2])
                self.at = end + 2
        assigns = not draft.words and _ASSIGNMENT.match(word.text)
        (draft.assignments if assigns else draft.words).append(word)
        draft.take(start, self.at)
        return draft

    def _read_keyword(self, word: str, draft: _Draft, opened: list[str]) -> _Draft:
        if word == "function":
            self._skip_blanks()
            self._take_word()
            self.at += 2 * self.text.startswith("()", self.at)
        elif word == "do":
            if opened[-1:] and opened[-1] in _LOOPS:
                opened[-1] = "do"
        elif word in _OPENS:
            opened.append(word)
            self.depth += 1
            if word in ("for", "select"):
                self._skip_words_until("do")
            elif word == "case":
                self._skip_words_until("in")
                self._take_word()
                self._skip_pattern()
        return _Draft(draft.before if word in ("!", "time") else word)

    def _close(self, wanted: str, opened: list[str]) -> None:
        if opened[-1:] != [wanted]:
            raise ShellSyntaxError(f"unexpected end of {wanted!r}")
        opened.pop()
        self.depth -= 1

    def _pass_operator(self, operator: str, opened: list[str]) -> None:
        self.at += len(operator)
        if operator == "\n":
            self._read_documents()
        elif operator == "(":
            opened.append("(")
            self.depth += 1
        elif operator == ")":
            self._close("(", opened)
        elif operator in (";;", ";&", ";;&") and opened[-1:] == ["case"]:
            self._skip_pattern()

    def _finish(self, draft: _Draft) -> None:
        if draft.words or draft.assignments or draft.documents:
            text = self.text[draft.start : draft.end]
            words = tuple(draft.assignments), tuple(draft.words)
            one = Simple(*words, draft.start, draft.end, text, draft.before, self.depth)
            # A here document is only complete after its line has ended.
            self.found.append(one._replace(documents=draft.documents))  # type: ignore[arg-type]

    def _skip_blanks(self) -> None:
        if found := _BLANK.match(self.text, self.at):
            self.at = found.end()
        if self.text.startswith("#", self.at) and self.text[self.at - 1 : self.at] in {
            "",
            *_ENDS_WORD,
        }:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def _skip_newlines(self) -> None:
        self._skip_blanks()
        while self.text.startswith("\n", self.at):
            self.at += 1
            self._skip_blanks()

    def _skip_words_until(self, word: str) -> None:
        """Skip the head of a `for` or `case` up to a word, `;` or the end of the line."""
        self._skip_blanks()
        while self.at < len(self.text) and not self._find_operator():
            if re.compile(rf"{word}(?![^\s;&|()<>])").match(self.text, self.at):
                return
            self._take_word()
            self._skip_newlines() if word == "in" else self._skip_blanks()

    def _skip_pattern(self) -> None:
        """Skip the pattern of a `case` branch, or stop at its `esac`."""
        self._skip_newlines()
        self.at += self.text.startswith("(", self.at)
        if re.compile(r"esac(?!\w)").match(self.text, self.at):
            return
        while self._find_operator() != ")":
            if self.at >= len(self.text):
                raise ShellSyntaxError("a case is open")
            if self._find_operator():
                self.at += 1
            else:
                self._take_word()
            self._skip_blanks()
        self.at += 1

    def _find_operator(self) -> str:
        if self.text.startswith("((", self.at) or _REDIRECTION.match(self.text, self.at):
            return ""
        found = _OPERATOR.match(self.text, self.at)
        return found[0] if found else ""

    def _read_redirection(self, draft: _Draft) -> bool:
        match = _REDIRECTION.match(self.text, self.at)
        if match is None:
            return False
        start, self.at = self.at, match.end()
        self._skip_blanks()
        target = self._take_word()
        kind = match[0].lstrip("0123456789")
        if kind == "<<<":
            draft.documents.append(target.value)
        elif kind in ("<<", "<<-"):
            # `<<-` strips tabs before the end, and a quoted end keeps `$` literal (2.7.4).
            tabs = r"\t*" if kind == "<<-" else ""
            end = f"^{tabs}{re.escape(target.value)}$"
            self.documents.append((end, target.text == target.value, draft.documents))
        draft.take(start, self.at)
        return True

    def _read_documents(self) -> None:
        for end, expands, documents in self.documents:
            found = re.compile(end, re.MULTILINE).search(self.text, self.at)
            stop = found.start() if found else len(self.text)
            documents.append(self.text[self.at : stop])
            while expands and (match := re.compile(r"\$\(|`").search(self.text, self.at, stop)):
                self.at = match.start()
                self._take_dollar()
            self.at = min(found.end() + 1 if found else stop, len(self.text))
        self.documents.clear()

    def _take_word(self) -> ShellWord:
        """Read the next word; raises an error if there is none."""
        start, text = self.at, self.text
        value: list[str] = []
        if text.startswith("((", start):
            self.at = self._find_arithmetic_end(start)
            return ShellWord(text[start : self.at], text[start : self.at])
        while self.at < len(text):
            letter = text[self.at]
            if letter in "<>" and text.startswith("(", self.at + 1):
                value.append(self._take_list())  # process substitution
            elif letter in _ENDS_WORD:
                break
            elif letter == "\\":
                value.append(text[self.at + 1 : self.at + 2].replace("\n", ""))
                self.at += 2
            elif letter == "'":
                value.append(self._take_until("'"))
            elif letter == '"':
                value.append(self._take_double())
            elif letter in "$`":
                value.append(self._take_dollar())
            else:
                found = _PLAIN.match(text, self.at)
                value.append(found[0] if found else letter)
                self.at += len(value[-1])
        if self.at == start:
            raise ShellSyntaxError("a word is missing")
        return ShellWord(text[start : self.at], "".join(value))

    def _take_until(self, mark: str) -> str:
        end = self.text.find(mark, self.at + 1)
        if end < 0:
            raise ShellSyntaxError(f"{mark} is open")
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def _take_double(self) -> str:
        self.at += 1
        value: list[str] = []
        while self.at < len(self.text) and (letter := self.text[self.at]) != '"':
            if letter in "$`":
                value.append(self._take_dollar())
                continue
            # In double quotes a backslash is literal before all other characters (2.2.3).
            escaped = self.text[self.at + 1 : self.at + 2] if letter == "\\" else ""
            value.append(escaped if escaped and escaped in '$`"\\\n' else letter + escaped)
            self.at += 1 + len(escaped)
        if self.at >= len(self.text):
            raise ShellSyntaxError('" is open')
        self.at += 1
        return "".join(value)

    def _take_dollar(self) -> str:
        """Read `$(…)` and backticks as lists of their own; all else stays as it is written."""
        start, text = self.at, self.text
        if text.startswith("$((", start):
            self.at = self._find_arithmetic_end(start + 1)
        elif text.startswith("$(", start):
            return self._take_list()
        elif text.startswith("${", start):
            end = text.find("}", start)
            self.at = len(text) if end < 0 else end + 1
        elif text[start] == "`":
            inner = _Reader(self._take_until("`"), self.depth + 1)
            inner.nested = self.nested
            inner.read_list("")
            moved = (one.start + start + 1 for one in inner.found)
            self.found += [
                one._replace(start=at, end=at + len(one.text))
                for one, at in zip(inner.found, moved, strict=True)
            ]
        else:
            self.at += 1
        return text[start : self.at]

    def _take_list(self) -> str:
        start = self.at
        self.at += 2  # `$(` or `<(`
        self.depth += 1
        self.read_list(")")
        self.depth -= 1
        return self.text[start : self.at]

    def _find_arithmetic_end(self, start: int) -> int:
        depth = 0
        for at in range(start, len(self.text)):
            depth += (self.text[at] == "(") - (self.text[at] == ")")
            if not depth:
                return at + 1
        return len(self.text)
