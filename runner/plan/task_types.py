"""What kind of work a task is: one table of types, and the rule that tells a task's own."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import Task


class Extra(StrEnum):
    """A check that tasks of one type have beside those of every task."""

    RED_FIRST = "a failing test first"
    OLD_DATA = "old data still reads"
    TESTS_STAY = "tests unchanged"


@dataclass(frozen=True, slots=True)
class TaskType:
    """A row of the table."""

    name: str
    aliases: tuple[str, ...]
    """Other words that a task's Type may say."""
    template: str
    """How such work is done, in a few lines for whoever does it."""
    words: str
    """What tells it in a title or in prose: a regular expression of whole words."""
    files: str = ""
    """What tells it when all Output files are such: a regular expression of paths."""
    prefers: tuple[str, ...] = ()
    """Globs of files that are read first, among those that are equally near."""
    users_first: bool = False
    """Whether who imports a file comes before what that file imports."""
    domains: tuple[str, ...] = ()
    """Domains of the pattern index that belong to it."""
    extra: tuple[Extra, ...] = ()
    """Checks beside those of every task."""

    def is_named(self, word: str) -> bool:
        """Whether a task's Type means this row."""
        said = re.sub(r"[\s_]+", "-", word.strip().casefold())
        return said == self.name or said in self.aliases


BASE = """\
- Read the files below before you write; follow the names, the layout and the tests you find there.
- Make the smallest change that meets every line of the acceptance.
- Leave the tree so that every check under Proof passes; run them yourself before you end."""
"""What holds for every task, above its type's own lines."""

TABLE = (
    TaskType(
        "bugfix",
        ("bug", "fix", "hotfix", "defect", "regression"),
        """\
- Write a test that shows the bug first: it must fail on the code as it is.
- Find the cause, and mend it where it is; a check around the symptom is no fix.
- Look for the same mistake beside it, and say so if you leave one.""",
        r"fix(?:es|ed)?|bugs?|hotfix|defects?|crash(?:es|ed)?|wrong(?:ly)?|broken|incorrect(?:ly)?",
        prefers=("tests/**", "**/*test*"),
        users_first=True,
        extra=(Extra.RED_FIRST,),
    ),
    TaskType(
        "refactor",
        ("refactoring", "cleanup", "clean-up", "restructure"),
        """\
- Behaviour stays as it is: the tests that are there pass unchanged, so do not edit them.
- Move in small steps; change every place that uses what you move.
- Add no feature on the way; write down what you found as a decision.""",
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
- Test what the code promises to its users, with the bounds and the failures, not its inside.
- Each test says in its name what must hold, and can fail.
- Change no code to make it testable without saying so as a decision.""",
        r"(?:add|write|more|missing|unit|integration|e2e) tests?|tests? for|test coverage"
        r"|raise (?:the )?coverage",
        files=r"(?:^|/)(?:tests?|__tests__|specs?|e2e)/|(?:^|/)test_[^/]*$|[._](?:test|spec)\.\w+$",
        prefers=("tests/**", "**/*test*", "**/conftest.py"),
    ),
    TaskType(
        "doc-gen",
        ("docs", "doc", "documentation"),
        """\
- Say what the code does now: read it, and try every command that you write down.
- Begin with what the reader wants to do; keep the words of the documents that are there.
- Change no code.""",
        r"document(?:s|ation)?|docs?|readme|changelog|docstrings?|tutorial|user guide",
        files=r"\.(?:md|rst|adoc)$|(?:^|/)docs?/",
        prefers=("**/*.md", "docs/**"),
    ),
    TaskType(
        "auth",
        ("authentication", "authorization", "authorisation", "security", "login"),
        """\
- Deny by default: what is not allowed expressly is refused, and a test says so.
- Use the libraries and patterns that are here for passwords, tokens and sessions; invent none.
- Never log a credential or a token, nor put one into a test as a literal.""",
        r"auth(?:entication|ori[sz]ation|enticate|ori[sz]e)?|log ?in|log ?out|sign[ -]?(?:in|up)"
        r"|passwords?|oauth\w*|jwt|tokens?|sessions?|permissions?|roles?|rbac|sso|2fa|mfa",
        prefers=("**/*auth*", "**/*session*", "**/*middleware*", "**/*permission*"),
        domains=("auth", "authentication", "authorization", "security"),
    ),
    TaskType(
        "data",
        ("migration", "migrations", "database", "db", "schema", "model", "data-migration"),
        """\
- Data that is there must still be readable afterwards: a test reads rows of the old shape.
- A migration goes forward and back, may be stopped half-way, and may be run twice.
- Keep in one place what must change together: schema, models, and what reads and writes them.""",
        r"migrat(?:e|es|ion|ions|ing)|databases?|schemas?|tables?|columns?|(?:data ?)?models?"
        r"|backfill|sql|orm|alembic|index(?:es)? on",
        files=r"(?:^|/)(?:migrations?|alembic|models?|schemas?)/|\.sql$|(?:^|/)models?\.\w+$",
        prefers=("**/migrations/**", "**/*model*", "**/*schema*", "**/*.sql"),
        domains=("data", "database", "db", "migration", "storage", "persistence"),
        extra=(Extra.OLD_DATA,),
    ),
    TaskType(
        "ui",
        ("frontend", "front-end", "component", "view", "page"),
        """\
- Use the components and styles that are here; what a person sees is tested as a person uses it.
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
- What you set up must work on a machine that has nothing of it: pin what you depend on.
- Put no credential into a file: name the variable that holds it.
- A script may be run twice, ends at the first failure, and says what it does.""",
        r"ci|docker\w*|deploy(?:s|ment|ments)?|pipelines?|terraform|kubernetes|helm|makefile"
        r"|infrastructure|packaging|monitoring|tooling|scaffold\w*|dependencies|lint(?:er|ing)?",
        files=r"(?:^|/)(?:Dockerfile|Makefile|docker-compose\.ya?ml|compose\.ya?ml|pyproject\.toml"
        r"|package\.json|Jenkinsfile)$|^\.github/|\.tf$|(?:^|/)(?:deploy|infra|ops|ci)/",
        prefers=("Makefile", "Dockerfile*", "pyproject.toml", "package.json", ".github/**"),
        domains=("infra", "infrastructure", "ops"),
    ),
    TaskType(
        "new-resource",
        ("api", "endpoint", "resource", "feature", "service", "backend", "rest", "graphql"),
        """\
- Begin with the contract: what goes in, what comes out, and every way in which it is refused.
- Look how a neighbouring resource is built, and build this one the same way, in the same layers.
- Test the good case, each refusal, and the bounds of each value.""",
        r"apis?|endpoints?|rest|graphql|routes?|resources?|crud|services?|handlers?|controllers?"
        r"|(?:get|post|put|patch|delete) /\S*",
        files=r"(?:^|/)(?:api|routes?|routers?|controllers?|handlers?|endpoints?)/",
        prefers=("**/api/**", "**/routes/**", "**/*router*", "**/*controller*"),
        domains=("api", "resource", "backend"),
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
_MIGRATES = regex(r"\b(?:migrat\w+|backfill|alembic|schema change|upgrade of)\b", re.IGNORECASE)
_MIGRATION_FILE = regex(r"(?:^|/)(?:migrations?|alembic)/|\.sql$")
_PROSE = 500
"""Letters of the prose that are looked at: what a task is stands in its beginning."""
_IN_TITLE, _IN_KEYWORDS, _IN_FILES, _IN_PROSE, _FIRST_WORD = 3, 2, 4, 1, 2


@dataclass(frozen=True, slots=True)
class Kind:
    """What a task is taken for, and by what; no type where nothing tells."""

    type: TaskType | None = None
    by: str = ""
    """`Type`, `title`, `keywords`, `files`, or `plan` for whoever planned it."""
    word: str = ""
    """What was read there: `fix` of a title."""

    def __str__(self) -> str:
        """As it is recorded: `bugfix (title: fix)`; empty for none."""
        return f"{self.type.name} ({self.by}: {self.word})" if self.type else ""

    @property
    def template(self) -> str:
        """How such work is done: what holds for every task, and the type's own lines."""
        return f"{BASE}\n{self.type.template}" if self.type else BASE

    def wants(self, extra: Extra) -> bool:
        """Whether the type has this check."""
        return self.type is not None and extra in self.type.extra


@lru_cache(maxsize=2048)
def kind_of(task: Task, planned: str = "") -> Kind:
    """The type that a task gives itself; else what its text tells; else what was `planned`.

    By rule: words of the title, the keywords and the prose, and Output files that are all of one
    kind. Who plans the task may only choose where the rule cannot.
    """
    for row in TABLE if task.type else ():
        if row.is_named(task.type):
            return Kind(row, "Type", task.type)
    said = "\n".join((task.title, " ".join(task.keywords)))
    silent = not task.outputs and not _words_of_all().search(said)
    told = (
        (0, Kind())
        if silent
        else max((_score_row(row, task) for row in TABLE), key=lambda one: one[0])
    )
    if told[0]:
        return told[1]
    if found := _CREATES.match(task.title):
        return Kind(TABLE[-1], "title", found[0].casefold())
    chosen = next((row for row in TABLE if row.is_named(planned)), None)
    return Kind(chosen, "plan", planned) if chosen else Kind()


def _score_row(row: TaskType, task: Task) -> tuple[int, Kind]:
    """How much a task's text speaks for a row, and by what most.

    A word somewhere in the prose alone tells nothing; it speaks for one of two.
    """
    signs = sorted(_signs(row, task), key=lambda sign: -sign[0])
    if not signs:
        return 0, Kind()
    _, by, word = signs[0]
    in_prose = _IN_PROSE if _words(row).search(task.prose[:_PROSE]) else 0
    return sum(points for points, _, _ in signs) + in_prose, Kind(row, by, word)


@cache
def _words_of_all() -> re.Pattern[str]:
    """What every row looks for, at once: most titles hold nothing of it."""
    return regex("|".join(_words(row).pattern for row in TABLE), re.IGNORECASE)


@cache
def _words(row: TaskType) -> re.Pattern[str]:
    return regex(rf"\b(?:{row.words})\b", re.IGNORECASE)


def _signs(row: TaskType, task: Task) -> Iterator[tuple[int, str, str]]:
    words = _words(row)
    if found := words.search(task.title):
        first = _FIRST_WORD if found.start() == 0 else 0
        yield _IN_TITLE + first, "title", found[0].casefold()
    if found := words.search(" ".join(task.keywords)):
        yield _IN_KEYWORDS, "keywords", found[0].casefold()
    if row.files and task.outputs and all(re.search(row.files, path) for path in task.outputs):
        yield _IN_FILES, "files", task.outputs[0]


def moves_data(task: Task, kind: Kind) -> bool:
    """Whether data that is there must be readable after a task: a migration, not a new model."""
    if not kind.wants(Extra.OLD_DATA):
        return False
    text = " ".join((task.type, task.title, *task.keywords))
    return bool(_MIGRATES.search(text)) or any(map(_MIGRATION_FILE.search, task.outputs))


def domains_of(task: Task, kind: Kind) -> tuple[str, ...]:
    """Under which domains of the pattern index a task is searched, its own Type first."""
    own = (task.type.casefold(),) if task.type else ()
    row = (*kind.type.domains, kind.type.name) if kind.type else ()
    return tuple(dict.fromkeys((*own, *row, *topics_of(task, kind))))


def topics_of(task: Task, kind: Kind) -> tuple[str, ...]:
    """Which of `SEARCHED` a task is about."""
    text = " ".join((task.type, task.title, *task.keywords, *task.acceptance))
    return tuple(
        topic
        for topic, words in SEARCHED.items()
        if words.search(text) or (kind.type is not None and topic in kind.type.domains)
    )
