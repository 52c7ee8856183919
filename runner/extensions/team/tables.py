"""The tables of the store after the newest of `migrations`.

`repositories`, `builds`, `build_tags`, `answers` and the events of a build itself are the store's
own: the only copy; so are `people`, `tokens` (as digests), `acts`, `budgets` and `claims`. `events`
that come from a clone's journal, `tasks` and `shown` are projections.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    text,
)

REVISION = "r0006"
"""Schema revision that this runner reads and writes."""
RUNNING = ("ANALYZING", "PLANNING", "EXECUTING", "VERIFYING")
"""States in which a build is being worked on."""
IS_RUNNING = "state IN ('ANALYZING', 'PLANNING', 'EXECUTING', 'VERIFYING')"

metadata = MetaData()

repositories = Table(
    "repositories",
    metadata,
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("branch", Text, nullable=False),  # what builds begin on
    Column("plan", Text, nullable=False),  # empty: where plans usually are
    Column("credential", Text, nullable=False),  # a name of the worker's own, never a value
    Column("added", Text, nullable=False),
    Column("by", Text, nullable=False),
)

builds = Table(
    "builds",
    metadata,
    Column("id", Text, primary_key=True),  # UUIDv7: in the order in which they were queued
    Column("repository", Text, nullable=False),  # its name, address and login as they were then
    Column("url", Text, nullable=False),
    Column("credential", Text, nullable=False),
    Column("branch", Text, nullable=False),  # what it lands on
    Column("base", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("tasks", Text, nullable=False),  # JSON list; empty: all of the plan
    Column("tags", Text, nullable=False),  # JSON list
    Column("spec", Text, nullable=False),  # digest of what is asked for
    Column("state", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("timeout", Float(53), nullable=False),  # seconds; 0: none
    Column("by", Text, nullable=False),
    Column("queued", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    # 53 bits: at the current seconds since 1970 a 24-bit float has steps of two minutes.
    Column("lease_until", Float(53), nullable=False),  # seconds since 1970 by the store's clock
    Column("host", Text, nullable=False),  # whose folder has its work
    Column("free_at", Float(53), nullable=False),  # until then only that host may claim it
    Column("waits", Text, nullable=False),  # what a person is to say; empty: nothing
    Column("cancelled_by", Text, nullable=False),  # who wants it ended; empty: nobody
    Column("place", Text, nullable=False),  # the clone, on that host
    Column("head", Text, nullable=False),  # the commit that it ended on
    Column("note", Text, nullable=False),  # why it ended so
    Column("wish", Text, nullable=False),  # in words; empty: what the plan has
    Column("spent", Float(53), nullable=False),  # seconds that workers had it, until the last claim
    Column("claimed_at", Float(53), nullable=False),  # by the store's clock
)
Index(
    "one_running",
    builds.c.repository,
    builds.c.branch,
    unique=True,
    sqlite_where=text(IS_RUNNING),
    postgresql_where=text(IS_RUNNING),
)
Index(
    "to_claim",
    builds.c.priority.desc(),
    builds.c.id,
    sqlite_where=text("state = 'PENDING'"),
    postgresql_where=text("state = 'PENDING'"),
)
Index("of_state", builds.c.state, builds.c.lease_until)

build_tags = Table(
    "build_tags",
    metadata,
    Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True),
)

events = Table(
    "events",
    metadata,
    Column("journal", Text, primary_key=True),  # id of the journal's first record, or the build's
    Column("seq", BigInteger, primary_key=True),
    Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), nullable=False),
    Column("id", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("causation", Text, nullable=False),
    Column("correlation", Text, nullable=False),
    Column("producer", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("tags", Text, nullable=False),
    Column("line", Text, nullable=False),  # the record as the journal has it
)
Index("events_of_build", events.c.build, events.c.journal, events.c.seq)

tasks = Table(
    "tasks",
    metadata,
    Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
    Column("task", Text, primary_key=True),
    Column("status", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("commit", Text, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), nullable=False),
    Column("word", Text, nullable=False),  # approve, reject, retry
    Column("task", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("given", Text, nullable=False),
    Column("taken", Text, nullable=False),  # when it was taken; empty: not yet
    Column("outcome", Text, nullable=False),
    Column("via", Text, nullable=False),  # terminal, page
    Column("seen", Text, nullable=False),  # digest of what was shown; empty: nothing was asked
)
Index("answers_of_build", answers.c.build, answers.c.taken)

shown = Table(
    "shown",
    metadata,
    Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
    Column("item", Text, primary_key=True),  # what waits: TASK-003, DRAFT-1
    Column("place", Integer, nullable=False),  # in the order of the plan
    Column("seen", Text, nullable=False),  # digest of it, as the clone says it
    Column("document", Text, nullable=False),  # JSON: what a person is shown of it
    Column("answered", Text, nullable=False),  # by whom; empty: nobody yet
)

people = Table(
    "people",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("added", Text, nullable=False),
    Column("by", Text, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, ForeignKey("people.name", ondelete="CASCADE"), nullable=False),
    Column("digest", Text, nullable=False, unique=True),  # SHA-256; the token is nowhere
    Column("label", Text, nullable=False),
    Column("made", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("ends", Text, nullable=False),  # from when on it opens nothing; empty: never
    Column("used", Text, nullable=False),  # the last time that somebody signed in with it
    Column("revoked", Text, nullable=False),  # when; empty: not yet
    Column("revoked_by", Text, nullable=False),
)

acts = Table(
    "acts",
    metadata,
    Column("id", Text, primary_key=True),  # UUIDv7: in their order
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),  # person.added, token.made, …
    Column("by", Text, nullable=False),
    Column("via", Text, nullable=False),
    Column("about", Text, nullable=False),  # the person
    Column("note", Text, nullable=False),
)

budgets = Table(
    "budgets",
    metadata,
    Column("scope", Text, primary_key=True),  # a repository; empty: the whole team
    Column("dollars", Float(53)),  # of one period; none: no bound
    Column("period", Text, nullable=False),  # day, month: in UTC
    Column("share", Float(53), nullable=False),  # the most that one claim is given
    Column("at_once", Integer),  # builds; none: no bound
    Column("calls", Text, nullable=False),  # of models, as 60/minute; empty: no bound
    Column("began", Float(53), nullable=False),  # the period that `used` is of
    Column("used", Float(53), nullable=False),  # spent, and given to claims that go on
    Column("set", Text, nullable=False),
    Column("by", Text, nullable=False),
)

claims = Table(
    "claims",
    metadata,
    Column("build", Text, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
    Column("token", BigInteger, primary_key=True),
    Column("repository", Text, nullable=False),
    Column("at", Float(53), nullable=False),  # by the store's clock
    Column("given", Float(53)),  # dollars; none: as much as it likes
    Column("spent", Float(53)),  # what it came to; none: it goes on, or was lost
    Column("calls", Integer),  # of models, in an hour, while it goes on; none: no bound
)
Index("claims_by_time", claims.c.at)
