"""Digests and enumerations: statuses, reasons, levels, severities."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TypeAlias

Digest: TypeAlias = str
"""`sha256:` and 64 hex digits."""


def digest_of(*pieces: bytes | memoryview) -> Digest:
    """Return the SHA-256 digest of the concatenated pieces, as `sha256:…`."""
    made = hashlib.sha256()
    for piece in pieces:
        made.update(piece)
    return "sha256:" + made.hexdigest()


class Status(StrEnum):
    """The status of a task in TASK-GRAPH.md."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN-PROGRESS"
    DONE = "DONE"
    BLOCKED = "BLOCKED"
    STALE = "STALE"


class Reason(StrEnum):
    """The reason why a task is BLOCKED."""

    CHECKS = "checks"
    STUCK = "stuck"
    SECRET = "secret"
    TOOL = "tool"
    ROOT = "root"
    POLICY = "policy"
    REVIEW = "review"
    REGRESSION = "regression"
    BUDGET = "budget"
    HELD_OUT = "held-out"
    """Held-out files are missing, or their tests failed too often: a person decides."""
    PROOF = "proof"
    """Its proof would be none: nothing, too little, or a command that cannot fail."""
    TEST_AUTHOR = "test-author"
    """Its separate author has not written its held-out tests."""
    WISH = "wish"
    """Its separate author has not written its held-out tests."""


class Level(StrEnum):
    """The part of the system that a test contract exercises."""

    UNIT = "unit"
    INTEGRATION = "integration"
    E2E = "e2e"


class Network(StrEnum):
    """The network access of a command."""

    NO = "no"
    LOOPBACK = "loopback"
    REGISTRIES = "registries"
    """Hosts of package registries, by name, through the runner's proxy."""
    YES = "yes"


class ReviewMode(StrEnum):
    """The reviewer of a task's writes; later members are looser."""

    PROMPT = "prompt"
    AUTO = "auto"
    OFF = "off"


class BlockKind(StrEnum):
    """The purpose of a fenced block in a task's section."""

    FILE = "file"
    PATCH = "patch"
    DELETE = "delete"
    RUN = "run"


class Action(StrEnum):
    """The effect of a change on a file."""

    CREATE = "create"
    MODIFY = "modify"
    DELETE = "delete"


class Severity(StrEnum):
    """The severity of a finding: `ERROR` refuses, `QUESTION` waits for a person, others inform."""

    ERROR = "error"
    QUESTION = "question"
    """Not a failed check: a person confirms whether exactly these bytes are intended."""
    WARNING = "warning"
    NOTE = "note"


class ProvenBy(StrEnum):
    """The strongest thing that a task's proof holds; the first is the strongest."""

    INDEPENDENT = "independent"
    """Held-out tests, or a review with checked evidence, cover every acceptance item."""
    TESTS = "tests"
    """Counted tests, at least one of which passed."""
    CONTRACT = "contract"
    COMMAND = "command"
    """Only an exit code."""
    PASSED = "passed"
    """Passed tests or a passed command, without evidence that they can fail."""
    STATIC = "static"
    """Lint, types, compile: the work itself did not run. Proves nothing alone."""


WHAT_CHANGED = "what-changed"
"""Check name for changes beyond the task's work: its notes are for the reviewer."""
PROVES_NOTHING = frozenset({ProvenBy.PASSED, ProvenBy.STATIC})
"""Kinds that leave a task unproven."""
COULD_NOT_RUN = "could not run here"
"""Note of a gate whose program is missing, or whose tests could not be loaded."""
NOT_VERIFIED_HERE = "not verified here"
"""Note of a held-out contract whose files are not on this machine."""
HELD_OUT = "held-out"
"""Check name of a question about held-out tests: hidden from the implementer."""
HELD_OUT_MISSING = "held-out-files"
"""Check name of a finding that held-out tests could not run because files are missing."""
HELD_OUT_FAILED = "held-out-failed"
"""Check name of a question about held-out tests that failed too often."""
ITEM_REVIEW = "item-review"
"""Check name of a reviewer's open question: no implementer can answer it."""
UNRUN = "gate-could-not-run"
"""Check name of a question about such a gate: asked once for all tasks."""
