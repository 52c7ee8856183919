"""A POSIX shell line as a tree, as far as it decides who runs and whose exit counts.

Shell Command Language of POSIX.1-2017, with the few words of bash that plans use (`|&`, `[[`, here
strings). Nothing is expanded. Time is linear in the length, and nesting is bounded.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.cursor import BREAKS, PLAIN, Cursor
from runner.plan.shell.shell_nodes import (
    AndOr,
    Case,
    Function,
    Group,
    HereDocument,
    If,
    Loop,
    Pipeline,
    Script,
    Simple,
    Word,
    feed,
    split_redirections,
)

if TYPE_CHECKING:
    from runner.plan.shell.shell_nodes import Node

LONGEST = 64 << 10
"""Letters of a line or script that are read."""
_DEEPEST = 40
_ASSIGNMENT = regex(r"[A-Za-z_]\w*\+?=")
_REDIRECTION = regex(r"\d*(?:<<<|<<-?|<>|>\||>>|[<>]&|[<>])")
# To sh, `a &> b` puts `a` into the background and empties `b` (POSIX.1-2017, 2.10.1, rule of the
# longest operator): so does dash, which is /bin/sh of Debian and its like.
_REDIRECTION_OF_BASH = regex(rf"{_REDIRECTION.pattern}|&>>?")
_SUBSTITUTED = regex(r"[<>]?\(")
"""Process substitution, as a word of its own or behind a redirection."""
_OPENS = frozenset({"if", "while", "until", "for", "case", "{", "select"})
_CLOSES = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


class ShellSyntaxError(ValueError):
    """This is no shell line, or one that is nested too deeply to be read."""


@lru_cache(maxsize=512)
def parse(line: str, *, bash: bool = False) -> Script:
    """The tree of a line or script, for sh or for bash. Raises ShellSyntaxError."""
    if len(line) > LONGEST:
        raise ShellSyntaxError("too long")
    reader = _Reader(line, 0, redirection=_REDIRECTION_OF_BASH if bash else _REDIRECTION)
    found = reader.script(())
    if reader.at < len(line):
        raise ShellSyntaxError(f"unexpected {line[reader.at]!r}")
    return found


class _Reader(Cursor):
    """Recursive descent over one text."""

    def __init__(
        self, text: str, depth: int, offset: int = 0, *, redirection: re.Pattern[str]
    ) -> None:
        if depth > _DEEPEST:
            raise ShellSyntaxError("nested too deeply")
        super().__init__(text, redirection)
        self.depth = depth
        self.offset = offset
        """Where the text begins in the line."""

    # --- lists ------------------------------------------------------------------------

    def script(self, ends: tuple[str, ...]) -> Script:
        """Lists up to one of these words or operators, which is left where it stands."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ShellSyntaxError("nested too deeply")
        items: list[AndOr] = []
        while True:
            self.newlines()
            if self.at >= len(self.text) or self.sees(ends):
                break
            items.append(self.and_or())
        self.depth -= 1
        return Script(tuple(items))

    def and_or(self) -> AndOr:
        parts = [("", self.pipeline())]
        while (operator := self.operator()) in ("&&", "||"):
            self.at += 2
            self.newlines()
            parts.append((operator, self.pipeline()))
        if operator in (";", "&", "\n"):
            self.newline() if operator == "\n" else self.skip(1)
            return AndOr(tuple(parts), operator)
        if operator not in ("", ")", ";;", ";&", ";;&"):
            raise ShellSyntaxError(f"unexpected {operator!r}")
        return AndOr(tuple(parts))

    def pipeline(self) -> Pipeline:
        self.blanks()
        start, negated = self.at, False
        while self.keyword() in ("!", "time"):
            negated ^= self.keyword() == "!"
            self.word()
        parts = [self.command()]
        end = self.at
        while self.operator() in ("|", "|&"):
            self.skip(len(self.operator()))
            self.newlines()
            parts.append(self.command())
            end = self.at
        return Pipeline(feed(parts), negated, start + self.offset, end + self.offset)

    # --- commands ---------------------------------------------------------------------

    def command(self) -> Node:
        self.blanks()
        if self.operator() == "(" and not self.text.startswith("((", self.at):
            self.skip(1)
            body = self.script((")",))
            self.expect(")")
            return self.read_redirections(Group(body, subshell=True))
        word = self.keyword()
        if word in _OPENS:
            self.word()
            return self.read_redirections(self.compound(word))
        if word in _CLOSES:
            raise ShellSyntaxError(f"unexpected {word!r}")
        if word == "function":
            self.word()
        return self.simple()

    def deeper(self) -> Node:
        """A command within another that is no list: the body of a function."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ShellSyntaxError("nested too deeply")
        found = self.command()
        self.depth -= 1
        return found

    def compound(self, word: str) -> Node:
        match word:
            case "{":
                body = self.script(("}",))
                self.expect("}")
                return Group(body, subshell=False)
            case "if":
                return self.condition()
            case "while" | "until":
                asked = self.script(("do",))
                return Loop(word, asked, self.finish())
            case "case":
                return self.case()
        self.blanks()
        variable = self.word().value
        words: list[Word] = []
        while self.at < len(self.text) and self.operator() not in (";", "\n"):
            if self.sees(("do",)):
                break
            words.append(self.word())
            self.blanks()
        if self.operator() == ";":
            self.skip(1)
        self.newlines()
        return Loop("for", None, self.finish(), variable, tuple(words))

    def condition(self) -> If:
        branches = []
        otherwise = None
        while True:
            asked = self.script(("then",))
            self.expect("then")
            branches.append((asked, self.script(("elif", "else", "fi"))))
            word = self.word().value
            if word == "else":
                otherwise = self.script(("fi",))
                self.expect("fi")
            if word != "elif":
                return If(tuple(branches), otherwise)

    def finish(self) -> Script:
        self.expect("do")
        body = self.script(("done",))
        self.expect("done")
        return body

    def case(self) -> Case:
        self.blanks()
        subject = self.word()
        self.newlines()
        self.expect("in")
        bodies: list[Script] = []
        patterns: list[tuple[str, ...]] = []
        while True:
            self.newlines()
            if self.keyword() == "esac":
                self.word()
                return Case(tuple(bodies), subject, tuple(patterns))
            words: list[str] = []
            while self.operator() != ")":
                if self.at >= len(self.text):
                    raise ShellSyntaxError("a case without end")
                self.skip(1) if self.operator() else words.append(self.word().value)
                self.blanks()
            self.skip(1)
            patterns.append(tuple(words))
            bodies.append(self.script((";;", ";&", ";;&", "esac")))
            self.skip(len(self.operator()))

    def read_redirections(self, node: Node) -> Node:
        """Redirections change no exit; what is substituted in them runs before the command."""
        self.blanks()
        start = self.at
        led: list[Word | HereDocument] = []
        while (target := self.redirection()) is not None:
            led.append(target)
        kept = split_redirections(led)
        if not any(kept):
            return node
        place = start + self.offset, self.at + self.offset
        idle = (Word(":", ":"),)
        first = Simple((), idle, *place, self.text[start : self.at], *kept)
        items = (
            Pipeline((one,), negated=False, start=place[0], end=place[1]) for one in (first, node)
        )
        return Group(Script(tuple(AndOr((("", one),), ";") for one in items)), subshell=False)

    def simple(self) -> Node:
        self.blanks()
        start = end = self.at
        assignments: list[Word] = []
        words: list[Word] = []
        led: list[Word | HereDocument] = []
        while True:
            self.blanks()
            if (target := self.redirection()) is not None:
                led.append(target)
                end = self.at
                continue
            if self.at >= len(self.text) or (self.operator() and not self.arithmetic(words)):
                break
            word = self.word()
            end = self.at
            known = not words and _ASSIGNMENT.match(word.text)
            (assignments if known else words).append(word)
        if len(words) == 1 and not assignments and self.text.startswith("()", self.at):
            self.skip(2)
            self.newlines()
            return Function(words[0].value, self.deeper())
        if not words and not assignments and end == start:
            raise ShellSyntaxError("a command is missing")
        place = start + self.offset, end + self.offset
        text = self.text[start:end]
        return Simple(tuple(assignments), tuple(words), *place, text, *split_redirections(led))

    def arithmetic(self, words: list[Word]) -> bool:
        """Whether `(( … ))` or an array `a=( … )` begins here: then it is passed over as a word."""
        return not words and self.text.startswith("((", self.at)

    def redirection(self) -> Word | HereDocument | None:
        """Take one redirection, if there is one, with where it leads to."""
        self.blanks()
        start = self.at
        match = self.redirects.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        self.blanks()
        if match[0][-1] in "<>" and (inner := _SUBSTITUTED.match(self.text, self.at)):
            self.skip(len(inner[0]))
            script = self.script((")",))
            self.expect(")")
            return Word(self.text[start : self.at], "", (script,))
        target = self.word()
        kind = match[0].lstrip("0123456789")
        if kind == "<<<":
            document = HereDocument(target.value, expands=False)
            document.scripts = target.scripts
            return document
        if kind in ("<<", "<<-"):
            # Tabs before the end go with `<<-` alone, and what is substituted is put in where no
            # part of the word is quoted (POSIX.1-2017, 2.7.4).
            tabs = r"\t*" if kind == "<<-" else ""
            document = HereDocument(expands=target.text == target.value)
            self.waiting.append((f"^{tabs}{re.escape(target.value)}$", document))
            return document
        return target

    def expand(self, document: HereDocument) -> None:
        """Read what is substituted in a here document, where quotes are signs like others."""
        inner = _Reader(document.text, self.depth + 1, self.at, redirection=self.redirects)
        scripts: list[Script] = []
        known: list[str] = []
        while (start := inner.at) < len(inner.text):
            before = len(scripts)
            if inner.text[start] in "$`":
                inner.dollar([], scripts)
            else:
                inner.skip(2 if inner.text[start] == "\\" else 1)
            known.append(inner.text[start : inner.at] if len(scripts) == before else "")
        document.scripts, document.read = tuple(scripts), "".join(known)

    # --- words ------------------------------------------------------------------------

    def word(self) -> Word:
        """The next word; raises where there is none."""
        self.blanks()
        start, quoted = self.at, False
        value: list[str] = []
        scripts: list[Script] = []
        text = self.text
        if text.startswith("((", start):
            self.at = self.find_arithmetic_end(start)
            return Word(text[start : self.at], text[start : self.at])
        while self.at < len(text) and text[self.at] not in BREAKS:
            letter = text[self.at]
            if letter == "\\":
                value.append(text[self.at + 1 : self.at + 2].replace("\n", ""))
                self.at += 2
            elif letter == "'":
                value.append(self.until("'"))
                quoted = True
            elif letter == '"':
                quoted = True
                self.double(value, scripts)
            elif letter in "$`":
                self.dollar(value, scripts)
            else:
                found = PLAIN.match(text, self.at)
                value.append(found[0] if found else letter)
                self.at += len(value[-1])
        if self.at == start:
            raise ShellSyntaxError("a word is missing")
        return Word(text[start : self.at], "".join(value), tuple(scripts), quoted)

    def until(self, mark: str) -> str:
        """What stands between here and the next such mark."""
        end = self.text.find(mark, self.at + 1)
        if end < 0:
            raise ShellSyntaxError(f"{mark} is open")
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def double(self, value: list[str], scripts: list[Script]) -> None:
        self.at += 1
        text = self.text
        while self.at < len(text) and text[self.at] != '"':
            if text[self.at] == "\\":
                # In double quotes a backslash stays before any sign but these (POSIX, 2.2.3).
                escaped = text[self.at + 1 : self.at + 2]
                value.append(escaped if escaped in '$`"\\' else "\\" + escaped)
                self.at += 2
            elif text[self.at] in "$`":
                self.dollar(value, scripts)
            else:
                value.append(text[self.at])
                self.at += 1
        if self.at >= len(text):
            raise ShellSyntaxError('" is open')
        self.at += 1

    def dollar(self, value: list[str], scripts: list[Script]) -> None:
        """`$(…)` and backticks are scripts of their own; all else stays as it is written."""
        start = self.at
        if self.text.startswith("$((", start):
            self.at = self.find_arithmetic_end(start + 1)
        elif self.text.startswith("$(", start):
            self.at += 2
            scripts.append(self.script((")",)))
            self.expect(")")
        elif self.text.startswith("${", start):
            end = self.text.find("}", start)
            self.at = len(self.text) if end < 0 else end + 1
        elif self.text[start] == "`":
            text, place = self.until("`"), self.offset + start + 1
            inner = _Reader(text, self.depth + 1, place, redirection=self.redirects)
            scripts.append(inner.script(()))
        else:
            self.at += 1
        value.append(self.text[start : self.at])

    def expect(self, mark: str) -> None:
        """Take a word or operator that must stand here."""
        self.newlines()
        if mark == ")" and self.text.startswith(")", self.at):
            self.at += 1
        elif self.keyword() == mark:
            self.at += len(mark)
        else:
            raise ShellSyntaxError(f"{mark} is missing")
