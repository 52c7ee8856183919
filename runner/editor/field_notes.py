"""What each field of a task is for, in a sentence, and the words that some of them take."""

from __future__ import annotations

from runner.implementers.registry import IMPLEMENTERS
from runner.model import Network, ReviewMode, Status
from runner.model.task import MILESTONE, PRIORITIES
from runner.plan.task_types import TABLE

NOTES = {
    "status": "how the task stands; the runner writes it, a person may set it back to PENDING",
    "type": "what kind of work it is: which contracts it needs, how its brief reads",
    "depends_on": "the tasks that have to be DONE before it starts; `none` for nothing",
    "outputs": "the files and globs it may write; a change of any other file is refused",
    "inputs": "files and globs it reads: they go into its brief",
    "acceptance": "what has to be true when it is DONE, a line each",
    "test_contracts": "the commands that prove it: `TC-001 (unit): command`; levels are unit, "
    "integration and e2e",
    "contracts": "`openapi:`, `schema:` and `command:` checks of its interface, or `none — reason`",
    "changes_tests": "tests whose expectations it is meant to change",
    "gates": "`name: command`, instead of the project's gates",
    "coverage": "percent of its own lines that its tests have to run",
    "implementer": "who makes its changes",
    "command": "what the `command` implementer runs",
    "red_first": "whether its tests have to fail before the implementation",
    "uses": "scarce things that no two tasks use at once: `gpu 1, port 5432, memory 4GB`",
    "network": "what its commands may reach",
    "timeout": "the longest one of its commands may take: `10 minutes`",
    "keywords": "words that patterns are matched by",
    "stack": "what it is built with: patterns of another stack do not fit",
    "patterns": "patterns that its brief has whatever matches: `PATTERN-001`",
    "requires": "what has to be there before it starts: `root`, `secret NAME`, `tool NAME`",
    "budget": "the most it may use: `5 attempts, 30 minutes, 200k tokens, $5`",
    "review": "whether a person looks at its writes before they land",
    "no_proof": "`none — reason`: nothing has to prove it",
    "priority": "what orders tasks that are ready",
    "model": "the model that its agent works with",
    "source": "FILE:LINE it was imported from",
}
"""By the key of a field; a field that is not here is completed and has no hover."""

VALUES = {
    "status": tuple(Status),
    "type": (*(one.name for one in TABLE), MILESTONE),
    "implementer": tuple(IMPLEMENTERS),
    "red_first": ("yes", "no"),
    "network": tuple(Network),
    "review": tuple(ReviewMode),
    "priority": PRIORITIES,
    "coverage": ("70%", "80%", "90%", "100%"),
    "no_proof": ("none — ",),
}
"""By the key of a field the words that it takes."""
