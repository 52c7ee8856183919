"""Every command by its name: where it is, and what help says of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping


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
        "run",
        "build the plan: every ready task, until all are DONE (the default)",
        shown=True,
    ),
    Entry("status", "status", "every task with its status, and what is next", shown=True),
    Entry("show", "one_task", "one task: its plan, attempts, evidence and findings", shown=True),
    Entry("why", "one_task", "why a task would run, waits or is blocked", shown=True),
    Entry("review", "review", "everything that waits for you, numbered", shown=True),
    Entry("retry", "approval", "have a blocked task tried again, now", shown=True),
    Entry("demo", "demo", "see it catch something, in seconds and offline", shown=True),
    Entry("init", "demo", "write a small working plan into this folder", shown=True),
    Entry(
        "doctor",
        "look",
        "what this machine offers, and what is missing",
        shown=True,
    ),
    Entry("approve", "approval", "let what waits for review go on"),
    Entry("reject", "approval", "refuse what waits for review, with a reason"),
    Entry("edit", "approval", "change what waits for review in your editor"),
    Entry("change", "change", "ask something new of tasks: preview, then STALE until approved"),
    Entry(
        "cancel",
        "approval",
        "end one task's attempt in a run that is going on; keep its work",
    ),
    Entry("lease", "approval", "who builds this branch, on any machine; --take takes it"),
    Entry(
        "adopt",
        "decisions",
        "land a branch that you finished, through pipeline, review and gates",
    ),
    Entry(
        "replay",
        "history",
        "the code as it was when a task had landed; --verify proves it all",
    ),
    Entry("undo", "history", "take one task back by a new commit"),
    Entry(
        "commit-by-task",
        "history",
        "commit what the write log has, one commit a task",
    ),
    Entry("blame", "history", "the task, attempt, review and proof behind a line"),
    Entry("evidence", "one_task", "what a task's DONE rests on; exit 1 for none"),
    Entry("waive", "decisions", "take a task as DONE without a proof, for a reason"),
    Entry("hold-out", "hold_out", "keep tests where their task's implementer cannot read them"),
    Entry("check-coverage", "gate", "how much of a task's lines its tests run"),
    Entry("verify", "verify", "prove a task again, or with --all everything, on HEAD as it is"),
    Entry(
        "verify-attestation",
        "verify",
        "whether this repository tells what a statement of a proof says; --run proves it again",
    ),
    Entry("artifacts", "leftovers", "what runs left, in bucket or folder: list, get, push"),
    Entry("prune", "leftovers", "take away old logs, drafts and slots that nothing needs"),
    Entry("gate", "gate", "what a pull request may break, run on it as it is when merged"),
    Entry("ship", "verify", "verify everything, declare SHIP and tag the commit"),
    Entry("shell", "task_shell", "a command, or a shell, where a task's proof ran", shown=True),
    Entry(
        "parallel",
        "parallel",
        "one command for several tasks at once, each in its own tree",
    ),
    Entry("validate", "look", "check the plan and say every mistake; runs nothing"),
    Entry(
        "lsp",
        "servers",
        "the language server that editors start: mistakes, ids, statuses in place",
    ),
    Entry("draft", "review", "a wish becomes tasks of the plan, which wait for your review"),
    Entry("serve", "serve", "the plan as a page: seen and answered in your browser"),
    Entry("bridge", "servers", "issues of a forge become plans and proven pull requests"),
    Entry("store", "team_store", "where a team's repositories, queue and events are kept"),
    Entry("people", "team_lists", "who may do what at a team's page, and by which tokens"),
    Entry("repo", "team_lists", "the repositories that a team builds: added, tried, listed"),
    Entry("queue", "team_queue", "builds for a team's workers: queued, shown, answered"),
    Entry("worker", "team_queue", "build what the team queued, one build at a time"),
    Entry("mcp", "servers", "the plan for an assistant: Model Context Protocol on stdin"),
    Entry("analyse", "look", "what this repository is, read from its commit; runs nothing"),
    Entry("import", "foreign", "take tasks of another tool's file into the plan"),
    Entry("sync", "foreign", "mark what is proven here in the files it was imported from"),
    Entry("list", "status", "tasks, one a line"),
    Entry("next", "status", "tasks that could start now"),
    Entry("graph", "look", "the graph as text or as a picture"),
    Entry("log", "events", "what happened, from the journal"),
    Entry("events", "events", "what happened, an event a line: resumable, of a team, too"),
    Entry("stats", "events", "builds, failures, waits, costs and proofs, counted"),
    Entry("brief", "one_task", "exactly what an implementer of a task is told"),
    Entry("plan", "one_task", "how an agent means to build a task; nothing is executed"),
    Entry("decide", "decisions", "write a decision into DECISIONS.md"),
    Entry(
        "pattern",
        "decisions",
        "the pattern library: list, search, accept a decision into it",
    ),
    Entry("settings", "look", "every setting, its value and where it came from"),
    Entry("secret-scan", "file_checks", "what in these files looks like a secret"),
    Entry("secrets", "file_checks", "what the secret scan lets pass; who was lent which secret"),
    Entry("staged-write", "write_pipeline", "a write by hand: diff, then apply, edit or reject"),
    Entry("sast-scan", "file_checks", "static analysis of a file; never blocks"),
    Entry("sast", "file_checks", "what static analysis has found so far"),
    Entry("write-log", "history", "every approved write, recorded and shown"),
    Entry(
        "hook", "write_pipeline", "called by an agent program before it writes: may it, and why not"
    ),
    Entry("impact", "change", "which tasks and tests a change may affect, and why"),
    Entry("ownership", "change", "which tasks own which files: shown, checked, proposed"),
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
    execute: Callable[[argparse.Namespace, Mapping[str, str]], int]


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
