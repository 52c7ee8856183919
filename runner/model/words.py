"""Digests, and the closed lists of words: statuses, reasons, levels, severities."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TypeAlias

Digest: TypeAlias = str
"""`sha256:` and 64 hex digits."""


def digest_of(*pieces: bytes | memoryview) -> Digest:
    """The digest under which bytes are named everywhere; of pieces, as if they were joined."""
    made = hashlib.sha256()
    for piece in pieces:
        made.update(piece)
    return "sha256:" + made.hexdigest()


class Status(StrEnum):
    """What TASK-GRAPH.md says of a task."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN-PROGRESS"
    DONE = "DONE"
    BLOCKED = "BLOCKED"
    STALE = "STALE"


class Reason(StrEnum):
    """Why a task is BLOCKED."""

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
    """What it rests on would be no proof: nothing, too little, or a command that cannot fail."""
    TEST_AUTHOR = "test-author"
    """Its separate author has not written its held-out tests."""
    WISH = "wish"
    """There is nothing in its section that could be done or checked."""


class Level(StrEnum):
    """How much of the system a test contract exercises."""

    UNIT = "unit"
    INTEGRATION = "integration"
    E2E = "e2e"


class Network(StrEnum):
    """What a command may reach."""

    NO = "no"
    LOOPBACK = "loopback"
    REGISTRIES = "registries"
    """Hosts that packages come from, by name, through a proxy of ours."""
    YES = "yes"


class ReviewMode(StrEnum):
    """Who approves a task's writes; later members are looser."""

    PROMPT = "prompt"
    AUTO = "auto"
    OFF = "off"


class BlockKind(StrEnum):
    """What a fenced block of a task's section asks for."""

    FILE = "file"
    PATCH = "patch"
    DELETE = "delete"
    RUN = "run"


class Action(StrEnum):
    """What a change does to a file."""

    CREATE = "create"
    MODIFY = "modify"
    DELETE = "delete"


class Severity(StrEnum):
    """How bad a finding is; `ERROR` refuses, `QUESTION` waits for a person, the others inform."""

    ERROR = "error"
    QUESTION = "question"
    """No failed check: a person says whether it is meant, for exactly these bytes."""
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
    """An exit code alone."""
    PASSED = "passed"
    """Tests or a command that passed, and nothing showed that they can fail."""
    STATIC = "static"
    """Lint, types, compile: nothing of the work ran. It proves nothing by itself."""


WHAT_CHANGED = "what-changed"
"""The check of what a change does besides its work: its notes are for whoever reviews it."""
PROVES_NOTHING = frozenset({ProvenBy.PASSED, ProvenBy.STATIC})
"""What leaves a task unproven."""
COULD_NOT_RUN = "could not run here"
"""The note of a gate whose program is missing, or whose tests could not be loaded."""
NOT_VERIFIED_HERE = "not verified here"
"""The note of a held-out contract whose files are not on this machine."""
HELD_OUT = "held-out"
"""The check of a question about held-out tests: its implementer hears nothing of it."""
HELD_OUT_MISSING = "held-out-files"
"""The check of a finding that held-out tests could not run, since files are missing."""
HELD_OUT_FAILED = "held-out-failed"
"""The check of a question about held-out tests that failed too often."""
ITEM_REVIEW = "item-review"
"""The check of a question that a reader leaves open: no implementer can answer it."""
UNRUN = "gate-could-not-run"
"""The check of a question about such a gate: it is asked of all tasks at once."""
