"""Detect a task's kind and domain: two tables, and the rule that reads them."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import Task


class Extra(StrEnum):
    """A check that tasks of one type have beside those of every task."""

    RED_FIRST = "a failing test first"
    OLD_DATA = "old data still reads"
    TESTS_STAY = "tests unchanged"


class TaskType(Struct, frozen=True):
    """A row of the table."""

    name: str
    aliases: tuple[str, ...]
    """Other names for the type in a task's Type field."""
    template: str
    """How such work is done, in a few lines for the implementer."""
    words: str
    """Regular expression of whole words that identify it in a title or in prose."""
    files: str = ""
    """Regular expression of paths that identifies it if all Output files match."""
    prefers: tuple[str, ...] = ()
    """Globs of files to read first among equally close ones."""
    users_first: bool = False
    """Whether importers of a file come before the files it imports."""
    domains: tuple[str, ...] = ()
    """Domains of the pattern index for this type."""
    extra: tuple[Extra, ...] = ()
    """Checks in addition to those of every task."""

    def is_named(self, word: str) -> bool:
        """Return whether a task's Type names this row."""
        name = re.sub(r"[\s_]+", "-", word.strip().casefold())
        return name == self.name or name in self.aliases


BASE = """\
- Read the files below before you write; follow the names, the layout and the tests you find there.
- Make the smallest change that meets every acceptance item.
- Every check under Proof must pass: run them yourself before you end."""
"""Rules for every task, above its type's own lines."""

KINDS = (
    TaskType(
        "bugfix",
        ("bug", "fix", "hotfix", "defect", "regression"),
        """\
- Write a test that shows the bug first: it must fail on the code as it is.
- Find the cause and fix it there; a check around the symptom is not a fix.
- Look for the same mistake nearby, and report any that you leave.""",
        r"fix(?:es|ed)?|bugs?|hotfix|defects?|crash(?:es|ed)?|wrong(?:ly)?|broken|incorrect(?:ly)?",
        prefers=("tests/**", "**/*test*"),
        users_first=True,
        extra=(Extra.RED_FIRST,),
    ),
    TaskType(
        "schema-migration",
        ("migration", "migrations", "data-migration"),
        """\
- Existing data must still be readable afterwards: a test reads rows of the old shape.
- A migration can run forward and back, be stopped half-way, and run twice.""",
        r"migrat\w+|backfill|alembic|schema change|upgrade of|alter table"
        r"|(?:add|drop|remove|rename|alter|split|merge)\b[^.;]{0,60}\b(?:columns?|indexes)",
        files=r"(?:^|/)(?:migrations?|alembic)/|\.sql$",
        prefers=("**/migrations/**", "**/*model*", "**/*schema*", "**/*.sql"),
        domains=("migration",),
        extra=(Extra.OLD_DATA,),
    ),
    TaskType(
        "refactor",
        ("refactoring", "cleanup", "clean-up", "restructure"),
        """\
- Keep the behaviour: existing tests pass unchanged, so do not edit them.
- Move in small steps; update every use of what you move.
- Add no features; record what you found as a decision.""",
        r"refactor(?:s|ed|ing)?|restructure|renames?|extract|simplify|clean[ -]?up|deduplicate"
        r"|inline|split up",
        prefers=("tests/**", "**/*test*"),
        users_first=True,
        extra=(Extra.TESTS_STAY,),
    ),
    TaskType(
        "test-gen",
        ("test", "tests", "testing", "coverage"),
        """\
- Test the public behaviour of the code, with limits and failures, not its internals.
- The name of each test states what must hold. Each test can fail.
- If you change code to make it testable, record that as a decision.""",
        r"(?:add|write|more|missing|unit|integration|e2e) tests?|tests? for|test coverage"
        r"|raise (?:the )?coverage",
        files=r"(?:^|/)(?:tests?|__tests__|specs?|e2e)/|(?:^|/)test_[^/]*$|[._](?:test|spec)\.\w+$",
        prefers=("tests/**", "**/*test*", "**/conftest.py"),
    ),
    TaskType(
        "doc-gen",
        ("docs", "doc", "documentation"),
        """\
- Describe what the code does now: read it, and try every command that you document.
- Begin with what the reader wants to do; use the terms of the existing documents.
- Change no code.""",
        r"document(?:s|ation)?|docs?|readme|changelog|docstrings?|tutorial|user guide",
        files=r"\.(?:md|rst|adoc)$|(?:^|/)docs?/",
        prefers=("**/*.md", "docs/**"),
    ),
    TaskType(
        "new-resource",
        ("resource", "feature"),
        """\
- Read how a similar resource is built, and build this one the same way, in the same layers.
- Test the good case, each rejection, and the limits of each value.""",
        r"crud|resources?|apis?|endpoints?|services?|handlers?|controllers?",
        domains=("resource",),
    ),
)
DOMAINS = (
    TaskType(
        "auth",
        ("authentication", "authorization", "authorisation", "security", "login"),
        """\
- Deny by default: reject what is not explicitly allowed, and test that.
- Use the existing libraries and patterns for passwords, tokens and sessions; invent none.
- Never log a credential or a token, nor put one into a test as a literal.""",
        r"auth(?:entication|ori[sz]ation|enticate|ori[sz]e)?|log ?in|log ?out|sign[ -]?(?:in|up)"
        r"|passwords?|oauth\w*|jwt|tokens?|sessions?|permissions?|roles?|rbac|sso|2fa|mfa",
        prefers=("**/*auth*", "**/*session*", "**/*middleware*", "**/*permission*"),
        domains=("auth", "authentication", "authorization", "security"),
    ),
    TaskType(
        "data",
        ("database", "db", "schema", "model"),
        """\
- Keep together what must change together: schema, models, and the code that uses them.""",
        r"migrat(?:e|es|ion|ions|ing)|databases?|schemas?|tables?|columns?|(?:data ?)?models?"
        r"|backfill|sql|orm|alembic|index(?:es)? on",
        files=r"(?:^|/)(?:migrations?|alembic|models?|schemas?)/|\.sql$|(?:^|/)models?\.\w+$",
        prefers=("**/migrations/**", "**/*model*", "**/*schema*", "**/*.sql"),
        domains=("data", "database", "db", "storage", "persistence"),
    ),
    TaskType(
        "ui",
        ("frontend", "front-end", "component", "view", "page"),
        """\
- Use the existing components and styles; test the interface as a person uses it.
- Show what is loading, what is empty and what failed.
- Everything works with the keyboard and has a name for a screen reader.""",
        r"ui|ux|front[ -]?end|components?|pages?|screens?|buttons?|forms?|css|layout|dialogs?"
        r"|modals?|themes?|widgets?",
        files=r"\.(?:tsx|jsx|vue|svelte|css|scss|less|html)$",
        prefers=("**/components/**", "**/*.css", "**/*.tsx", "**/*.vue"),
        domains=("ui", "frontend"),
    ),
    TaskType(
        "infra",
        ("infrastructure", "ops", "ci", "build", "deploy", "devops", "tooling", "setup", "chore"),
        """\
- The setup must work on a clean machine: pin your dependencies.
- Put no credentials into files: name the variable that holds each.
- A script can run twice, stops at the first failure, and prints what it does.""",
        r"ci|docker\w*|deploy(?:s|ment|ments)?|pipelines?|terraform|kubernetes|helm|makefile"
        r"|infrastructure|packaging|monitoring|tooling|scaffold\w*|dependencies|lint(?:er|ing)?",
        files=r"(?:^|/)(?:Dockerfile|Makefile|docker-compose\.ya?ml|compose\.ya?ml|pyproject\.toml"
        r"|package\.json|Jenkinsfile)$|^\.github/|\.tf$|(?:^|/)(?:deploy|infra|ops|ci)/",
        prefers=("Makefile", "Dockerfile*", "pyproject.toml", "package.json", ".github/**"),
        domains=("infra", "infrastructure", "ops"),
    ),
    TaskType(
        "api",
        ("endpoint", "service", "backend", "rest", "graphql"),
        """\
- Begin with the contract: inputs, outputs, and every reason for a rejection.""",
        r"apis?|endpoints?|rest|graphql|routes?|crud|services?|handlers?|controllers?"
        r"|(?:get|post|put|patch|delete) /\S*",
        files=r"(?:^|/)(?:api|routes?|routers?|controllers?|handlers?|endpoints?)/",
        prefers=("**/api/**", "**/routes/**", "**/*router*", "**/*controller*"),
        domains=("api", "backend"),
    ),
)

SEARCHED = {
    "auth": regex(
        r"\b(?:auth\w*|log ?in|passwords?|oauth\w*|jwt|sessions?|permissions?|rbac|sso|2fa|mfa)\b",
        re.IGNORECASE,
    ),
    "database": regex(
        r"\b(?:migrat\w+|databases?|sql|sqlite|postgres\w*|mysql|orm|alembic|schemas?)\b",
        re.IGNORECASE,
    ),
    "payment": regex(
        r"\b(?:payments?|pay(?:s|ing)?|billing|invoic(?:e|es|ing)|checkout|refunds?|stripe|paypal"
        r"|subscriptions?)\b",
        re.IGNORECASE,
    ),
}
"""Domains under which the patterns must have been searched before a task that is about them, of
whatever type it is, and what tells that."""
_CREATES = regex(r"(?:add|build|create|implement|introduce|new|provide|support)\b", re.IGNORECASE)
_FAILS = regex(
    r"Traceback \(most recent call last\)|^panic: |\bpanicked at |^ +at .+:\d+(?::\d+)?\)?$"
    r"|\bcrash(?:es|ed)\b",
    re.MULTILINE,
)
"""Words that show a defect, whatever else is in the title."""
_LONGEST_TRACEBACK = 20_000


class TypeReading(Struct, frozen=True):
    """One row that a task is taken for, and by what; no type where nothing tells."""

    type: TaskType | None = None
    by: str = ""
    """`Type`, `title`, `keywords`, `files`, `prose`, or `plan` for the planner's choice."""
    word: str = ""
    """Matched word, such as `fix` in a title."""

    def __str__(self) -> str:
        """As it is recorded: `bugfix (title: fix)`; empty for none."""
        return f"{self.type.name} ({self.by}: {self.word})" if self.type else ""


class WorkType(Struct, frozen=True):
    """The kind and the domain of a task."""

    kind: TypeReading = TypeReading()
    domain: TypeReading = TypeReading()

    def __str__(self) -> str:
        """As it is recorded: `bugfix (title: fix), auth (title: login)`."""
        return ", ".join(filter(None, map(str, self)))

    def __iter__(self) -> Iterator[TypeReading]:
        yield from (self.kind, self.domain)

    @property
    def rows(self) -> tuple[TaskType, ...]:
        """The rows of both tables that are known."""
        return tuple(one.type for one in self if one.type)

    @property
    def template(self) -> str:
        """Instructions for this type of work: those for every task, then those of both rows."""
        return "\n".join((BASE, *(row.template for row in self.rows)))

    def wants(self, extra: Extra) -> bool:
        """Return whether the type has this check."""
        return any(extra in row.extra for row in self.rows)


@lru_cache(maxsize=2048)
def classify(task: Task, planned: str = "") -> WorkType:
    """Return kind and domain: what `Type` names, else what the text shows, else what was `planned`.

    A traceback in the prose outranks the title. `planned` counts only where the rule finds nothing.
    """
    kind, domain = (
        _find_named(table, task.type, "Type")
        or (_find_defect(task) if table is KINDS else None)
        or _read(table, task)
        or _find_named(table, planned, "plan")
        or TypeReading()
        for table in (KINDS, DOMAINS)
    )
    return WorkType(kind, domain)


def _find_named(table: tuple[TaskType, ...], word: str, by: str) -> TypeReading | None:
    return next((TypeReading(row, by, word) for row in table if word and row.is_named(word)), None)


def _find_defect(task: Task) -> TypeReading | None:
    for by, text in (("title", task.title), ("prose", task.prose[:_LONGEST_TRACEBACK])):
        if found := _FAILS.search(text):
            return TypeReading(KINDS[0], by, found[0].strip(" :(").partition(" (")[0].casefold())
    return None


def _read(table: tuple[TaskType, ...], task: Task) -> TypeReading | None:
    """Return the type of a task by the strongest sign in its title and files, or None."""
    signs = [sign for row in table for sign in _find_signs(row, task)]
    if signs:
        return min(signs, key=lambda sign: sign[0])[1]
    found = _CREATES.match(task.title) if table is KINDS else None
    return TypeReading(KINDS[-1], "title", found[0].casefold()) if found else None


def _find_signs(row: TaskType, task: Task) -> Iterator[tuple[int, TypeReading]]:
    """Yield the matches of a row with their rank; a lower number is stronger."""
    words = re.compile(rf"\b(?:{row.words})\b", re.IGNORECASE)
    if found := words.search(task.title):
        yield found.start() + bool(found.start()), TypeReading(row, "title", found[0].casefold())
    if row.files and task.outputs and all(re.search(row.files, path) for path in task.outputs):
        yield 1, TypeReading(row, "files", task.outputs[0])
    if found := words.search(" ".join(task.keywords)):
        yield len(task.title) + 1, TypeReading(row, "keywords", found[0].casefold())


def describe_type(given: str, work: WorkType) -> str:
    """Return the Type as written and the other detected ones: `api, bugfix (title: fix)`."""
    read = [one.type.name if one.by == "Type" else str(one) for one in work if one.type]
    is_name = given.casefold() in read
    others = ", ".join(one for one in read if one != given.casefold())
    return (", " if is_name else ", taken for ").join(filter(None, (given, others)))


def domains_of(task: Task, work: WorkType) -> tuple[str, ...]:
    """Return the pattern domains to search for a task, its own Type first."""
    own = (task.type.casefold(),) if task.type else ()
    rows = (name for row in work.rows for name in (*row.domains, row.name))
    return tuple(dict.fromkeys((*own, *rows, *topics_of(task, work))))


def topics_of(task: Task, work: WorkType) -> tuple[str, ...]:
    """Return the topics of `SEARCHED` that a task is about."""
    text = " ".join((task.type, task.title, *task.keywords, *task.acceptance))
    known = {name for row in work.rows for name in row.domains}
    return tuple(topic for topic, words in SEARCHED.items() if topic in known or words.search(text))
