"""Every command by its name: where it is, and what help says of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from runner.errors import ExitCode


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: where it is and what `--help` says of it."""

    name: str
    module: str
    summary: str
    shown: bool = False
    """Whether plain `--help` lists it; `help --all` lists every one."""


TABLE = (
    Entry(
        "run",
        "running.run",
        "build the plan: every ready task, until all are DONE (the default)",
        shown=True,
    ),
    Entry("status", "look.status", "every task with its status, and what is next", shown=True),
    Entry("show", "one_task", "one task: its plan, attempts, evidence and findings", shown=True),
    Entry("why", "one_task", "why a task would run, waits or is blocked", shown=True),
    Entry("review", "answer.review", "everything that waits for you, numbered", shown=True),
    Entry("retry", "answer.approval", "have a blocked task tried again, now", shown=True),
    Entry("demo", "running.demo", "see it catch something, in seconds and offline", shown=True),
    Entry("init", "running.demo", "write a small working plan into this folder", shown=True),
    Entry(
        "doctor",
        "look.doctor",
        "what this machine offers, and what is missing",
        shown=True,
    ),
    Entry("approve", "answer.approval", "let what waits for review go on"),
    Entry("reject", "answer.approval", "refuse what waits for review, with a reason"),
    Entry("edit", "answer.approval", "change what waits for review in your editor"),
    Entry(
        "change", "change.change", "ask something new of tasks: preview, then STALE until approved"
    ),
    Entry(
        "cancel",
        "running.lease",
        "end one task's attempt in a run that is going on; keep its work",
    ),
    Entry("lease", "running.lease", "who builds this branch, on any machine; --take takes it"),
    Entry(
        "adopt",
        "answer.adopt",
        "land a branch that you finished, through pipeline, review and gates",
    ),
    Entry(
        "replay",
        "change.replay",
        "the code as it was when a task had landed; --verify proves it all",
    ),
    Entry("undo", "change.replay", "take one task back by a new commit"),
    Entry(
        "commit-by-task",
        "change.commit_by_task",
        "commit what the write log has, one commit a task",
    ),
    Entry("blame", "change.blame", "the task, attempt, review and proof behind a line"),
    Entry("evidence", "prove.evidence", "what a task's DONE rests on; exit 1 for none"),
    Entry("waive", "answer.waive", "take a task as DONE without a proof, for a reason"),
    Entry("check-coverage", "prove.check_coverage", "how much of a task's lines its tests run"),
    Entry(
        "verify", "prove.verify", "prove a task again, or with --all everything, on HEAD as it is"
    ),
    Entry(
        "verify-attestation",
        "prove.verify",
        "whether this repository tells what a statement of a proof says; --run proves it again",
    ),
    Entry("artifacts", "running.artifacts", "what runs left, in bucket or folder: list, get, push"),
    Entry("prune", "running.prune", "take away old logs, drafts and slots that nothing needs"),
    Entry("gate", "prove.gate", "what a pull request may break, run on it as it is when merged"),
    Entry("ship", "prove.ship", "verify everything, declare SHIP and tag the commit"),
    Entry(
        "parallel",
        "running.parallel",
        "one command for several tasks at once, each in its own tree",
    ),
    Entry("validate", "look.validate", "check the plan and say every mistake; runs nothing"),
    Entry(
        "lsp",
        "running.mcp",
        "the language server that editors start: mistakes, ids, statuses in place",
    ),
    Entry("draft", "answer.draft", "a wish becomes tasks of the plan, which wait for your review"),
    Entry("serve", "running.serve", "the plan as a page: seen and answered in your browser"),
    Entry("bridge", "running.bridge", "issues of a forge become plans and proven pull requests"),
    Entry("store", "team.team_store", "where a team's repositories, queue and events are kept"),
    Entry("people", "team.people_list", "who may do what at a team's page, and by which tokens"),
    Entry("repo", "team.repo", "the repositories that a team builds: added, tried, listed"),
    Entry("queue", "team.queue_builds", "builds for a team's workers: queued, shown, answered"),
    Entry("worker", "team.worker", "build what the team queued, one build at a time"),
    Entry("mcp", "running.mcp", "the plan for an assistant: Model Context Protocol on stdin"),
    Entry("analyse", "look.analyse", "what this repository is, read from its commit; runs nothing"),
    Entry("import", "files.foreign", "take tasks of another tool's file into the plan"),
    Entry("sync", "files.foreign", "mark what is proven here in the files it was imported from"),
    Entry("list", "look.status", "tasks, one a line"),
    Entry("next", "look.status", "tasks that could start now"),
    Entry("graph", "look.graph", "the graph as text or as a picture"),
    Entry("log", "look.events", "what happened, from the journal"),
    Entry("events", "look.events", "what happened, an event a line: resumable, of a team, too"),
    Entry("stats", "look.stats", "builds, failures, waits, costs and proofs, counted"),
    Entry("brief", "one_task", "exactly what an implementer of a task is told"),
    Entry("plan", "answer.plan", "how an agent means to build a task; nothing is executed"),
    Entry("decide", "answer.decisions", "write a decision into DECISIONS.md"),
    Entry(
        "pattern",
        "answer.decisions",
        "the pattern library: list, search, accept a decision into it",
    ),
    Entry("settings", "look.settings", "every setting, its value and where it came from"),
    Entry("secret-scan", "files.secrets", "what in these files looks like a secret"),
    Entry("secrets", "files.secrets", "what the secret scan lets pass; who was lent which secret"),
    Entry(
        "staged-write", "files.staged_write", "a write by hand: diff, then apply, edit or reject"
    ),
    Entry("sast-scan", "files.sast", "static analysis of a file; never blocks"),
    Entry("sast", "files.sast", "what static analysis has found so far"),
    Entry("write-log", "files.write_log", "every approved write, recorded and shown"),
    Entry("hook", "files.hook", "called by an agent program before it writes: may it, and why not"),
    Entry("impact", "change.impact", "which tasks and tests a change may affect, and why"),
    Entry("ownership", "change.ownership", "which tasks own which files: shown, checked, proposed"),
    Entry("completion", "completion", "what completes commands, flags and ids in your shell"),
    Entry("version", "version", "the version"),
    Entry("help", "help", "this list; --all for every command"),
)
BY_NAME = {entry.name: entry for entry in TABLE}
TOPICS = ("blocked", "exit")
"""What `runner help` explains beside the commands."""
SYNONYMS = {"build": "run", "resume": "run", "test": "verify"}
"""Words of other tools, and the command that does it here."""


class Command(NamedTuple):
    """What a module has for each of several commands."""

    examples: str
    arguments: Callable[[argparse.ArgumentParser], None]
    execute: Callable[[argparse.Namespace, Mapping[str, str]], ExitCode]


def fill(parser: argparse.ArgumentParser, entry: Entry) -> Command:
    """Give a parser what a command takes, and its examples; gives what executes it.

    A module of several commands has them as COMMANDS; where they differ in a little alone, they
    are told apart by `called`, in the parser and in what it reads.
    """
    module = import_module(f"runner.commands.{entry.module}")
    if hasattr(module, "COMMANDS"):
        command: Command = module.COMMANDS[entry.name]
    else:
        examples = module.EXAMPLES
        examples = examples if isinstance(examples, str) else examples[entry.name]
        command = Command(examples, module.arguments, module.execute)
    parser.epilog = command.examples
    parser.set_defaults(called=entry.name)
    command.arguments(parser)
    return command
