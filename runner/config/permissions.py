"""Permission rules of a person for tools: wildcard patterns, of which the last match wins."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.config.shell_rules import (
    SHELL,
    Permission,
    PermissionAnswer,
    Permit,
    Word,
    strictest_word,
)
from runner.model import Finding, digest_of
from runner.secrets.redact import redact
from runner.text.ignore_rules import ignore_rules, is_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CHECK = "permission"
"""Check name of a write that a rule denies."""
FILE_TOOLS = frozenset({"list_files", "read_file", "search", "write_file", "modify_file"})
"""Tools whose subject is a path: their patterns are globs as in gitignore(5)."""
WRITE_TOOLS = ("write_file", "modify_file")
ALIASES = {"write": WRITE_TOOLS, "edit": WRITE_TOOLS}
"""Aliases of tools in rules: each covers new and changed files."""
TOOLS = (*sorted(FILE_TOOLS), "record_decision", "run_gate", SHELL)
"""All built-in tools; those of MCP servers are called `mcp__SERVER__TOOL`."""
_SERVERS = "mcp__"
_SIGNS = "*?["
_ALL = frozenset({"*", "**", "**/*", "/", ".", "./"})
_LONGEST_SUBJECT = 600
"""Characters of a subject shown in a prompt; a digest replaces the rest."""


class Rulebook(Struct, frozen=True):
    """All that decides on a call: a person's rules, a repository's, and a person's answers."""

    rules: tuple[Permission, ...] = ()
    floor: tuple[Permission, ...] = ()
    """Rules of the repository, which only tighten."""
    answers: tuple[PermissionAnswer, ...] = ()
    known_secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Rulebook({self.rules!r}, {self.floor!r}, {self.answers!r})"

    def word(self, tool: str, subject: str) -> Word:
        """Return the decision on a call; a person's answer replaces only an `ask`."""
        word = _tighter(_last(tool, subject, self.rules), _last(tool, subject, self.floor))
        if word.permit is not Permit.ASK or not self.answers:
            return word
        return _apply_answers(
            word, tool, format_subject(tool, subject, self.known_secrets), self.answers
        )


def names_a_tool(name: str) -> bool:
    """Return whether a rule for this tool name can match any tool."""
    if name in ALIASES or any(_fits(tool, name, tight=False) for tool in TOOLS):
        return True
    sure = name[: min((at for sign in _SIGNS if (at := name.find(sign)) >= 0), default=len(name))]
    if sure == name:
        return name.startswith(_SERVERS)
    return sure.startswith(_SERVERS) or _SERVERS.startswith(sure)


def evaluate_permission(
    tool: str,
    subject: str,
    rules: Iterable[Permission],
    floor: Iterable[Permission] = (),
) -> Permit:
    """Return the permission by the person's rules, limited by the repository's `floor`.

    The last rule that matches wins, each list by itself; where none does, the call is allowed.
    `subject` is a path for tools of files, a check's name for `run_gate`, a line of shell for
    `bash`, and the arguments as JSON for tools of MCP servers.
    """
    return _tighter(_last(tool, subject, rules), _last(tool, subject, floor)).permit


def write_tool(*, is_new: bool) -> str:
    """Return the tool name whose rules apply to a write: `write_file` or `modify_file`."""
    return "write_file" if is_new else "modify_file"


def write_finding(
    path: str,
    rules: Iterable[Permission],
    floor: Iterable[Permission] = (),
    *,
    answers: Iterable[PermissionAnswer] = (),
    is_new: bool = False,
    reviewed: bool = False,
) -> Finding | None:
    """Return the finding that forbids writing a file under these rules; None if it is allowed.

    A new file is the subject of `write_file`, a change of one that of `modify_file`. What is to
    be asked about is let through where a person reviews the change.
    """
    book = Rulebook(tuple(rules), tuple(floor), tuple(answers))
    word = book.word(write_tool(is_new=is_new), path)
    if word.permit is Permit.ALLOW or (word.permit is Permit.ASK and reviewed):
        return None
    if word.permit is Permit.ASK:
        message = f"{word} requires approval for this file"
        return Finding(
            CHECK, message, path=path, hint="leave this file unchanged until it is approved"
        )
    message = f"{word} forbids writing this file"
    if word.reason:
        message = f"a person denied writing this file: {word.reason}"
    return Finding(CHECK, message, path=path, hint="leave this file unchanged")


def format_subject(tool: str, subject: str, known_secrets: tuple[str, ...] = ()) -> str:
    """Return a subject for prompts and records: redacted, and cut with a digest if it is long."""
    shown = redact(plain_path(subject) if tool in FILE_TOOLS else subject, known_secrets)
    if len(shown) <= _LONGEST_SUBJECT:
        return shown
    digest = digest_of(shown.encode("utf-8", "surrogateescape"))
    return f"{shown[:_LONGEST_SUBJECT]}… ({len(shown)} characters, {digest})"


def plain_path(path: str) -> str:
    """Normalise a path for rules: `./a`, `a//b` and `x/../a` become `a`, `a/b` and `a`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


def _tighter(mine: Word, theirs: Word) -> Word:
    order = tuple(Permit).index
    if order(theirs.permit) <= order(mine.permit):
        return mine
    return Word(theirs.permit, theirs.rule, of_repository=True)


def _apply_answers(
    word: Word, tool: str, subject: str, answers: tuple[PermissionAnswer, ...]
) -> Word:
    given = [one for one in answers if (one.tool, one.subject) == (tool, subject)]
    if not given:
        return word
    if given[-1].allowed:
        return Word(Permit.ALLOW, word.rule, word.of_repository)
    return Word(Permit.DENY, word.rule, word.of_repository, given[-1].reason or "no reason given")


def _last(tool: str, subject: str, rules: Iterable[Permission]) -> Word:
    """Return the decision of the last matching rule; the strictest command of a shell line."""
    if tool != SHELL:
        matching = [rule for rule in rules if _matches(rule, tool, subject)]
        return Word(matching[-1].action, matching[-1]) if matching else Word(Permit.ALLOW)
    known = tuple(rules)
    if not names_shell(known):
        return Word(Permit.ALLOW)
    return strictest_word(subject, known)


def names_shell(rules: Iterable[Permission]) -> bool:
    """Return whether any rule applies to shell commands."""
    return any(_fits(SHELL, rule.tool, tight=True) for rule in rules)


def shell_finding(command: str, book: Rulebook) -> Finding | None:
    """Return the finding that forbids a shell line under these rules; None if it is allowed."""
    word = book.word(SHELL, command)
    if word.permit is Permit.ALLOW:
        return None
    if word.permit is Permit.ASK:
        message = f"{word} requires approval for this command"
        return Finding(CHECK, message, hint="do not run this command until it is approved")
    message = f"{word} forbids running this command"
    if word.reason:
        message = f"a person denied running this command: {word.reason}"
    return Finding(CHECK, message, hint="continue without this command")


def _matches(rule: Permission, tool: str, subject: str) -> bool:
    """Return whether a rule matches a call; rules that do not allow also ignore case."""
    tight = rule.action is not Permit.ALLOW
    if not _fits(tool, rule.tool, tight=tight):
        return False
    if rule.pattern in _ALL:
        return True
    if tool not in FILE_TOOLS:
        return _fits(subject, rule.pattern, tight=tight)
    path = plain_path(subject)
    # On case-insensitive file systems (APFS, NTFS) `.ENV` is `.env`: another spelling must not
    # bypass a deny rule.
    if tight and _glob(rule.pattern.casefold())(path.casefold()):
        return True
    return _glob(rule.pattern)(path)


def _fits(name: str, pattern: str, *, tight: bool) -> bool:
    if tight and fnmatchcase(name.casefold(), pattern.casefold()):
        return True
    return fnmatchcase(name, pattern)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> Callable[[str], bool]:
    return ignore_rules((_glob_text(pattern),))


def is_pattern(tool: str, pattern: str) -> bool:
    """Return whether a rule's pattern is valid; an invalid one would never match."""
    is_glob = tool in FILE_TOOLS and pattern not in _ALL
    return not is_glob or is_rule(_glob_text(pattern))


def _glob_text(pattern: str) -> str:
    """Normalise a pattern for gitignore(5): remove `./` and `//`, and escape a leading `#`."""
    while "//" in pattern or "/./" in pattern:
        pattern = pattern.replace("//", "/").replace("/./", "/")
    anchored = pattern.startswith("./")
    pattern = pattern.removeprefix("./")
    if anchored and not pattern.startswith("/"):
        return f"/{pattern}"
    return f"\\{pattern}" if pattern.startswith("#") else pattern
