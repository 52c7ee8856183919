"""Every command by its name: where it is, and what help says of it."""

from __future__ import annotations

from dataclasses import dataclass


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
    Entry("show", "show", "one task: its plan, attempts, evidence and findings", shown=True),
    Entry("why", "why", "why a task would run, waits or is blocked", shown=True),
    Entry("review", "review", "everything that waits for you, numbered", shown=True),
    Entry("init", "init", "write a small working plan into this folder", shown=True),
    Entry(
        "doctor",
        "doctor",
        "what this machine offers, and what is missing",
        shown=True,
    ),
    Entry("approve", "review", "let what waits for review go on"),
    Entry("reject", "review", "refuse what waits for review, with a reason"),
    Entry("edit", "review", "change what waits for review in your editor"),
    Entry("change", "change", "ask something new of tasks: preview, then STALE until approved"),
    Entry("cancel", "cancel", "end one task's attempt in a run that is going on; keep its work"),
    Entry("replay", "replay", "the code as it was when a task had landed; --verify proves it all"),
    Entry("undo", "undo", "take one task back by a new commit"),
    Entry("commit-by-task", "commit_by_task", "commit what the write log has, one commit a task"),
    Entry("blame", "blame", "the task, attempt, review and proof behind a line"),
    Entry("evidence", "evidence", "what a task's DONE rests on; exit 1 for none"),
    Entry("check-coverage", "check_coverage", "how much of a task's lines its tests run"),
    Entry("verify", "verify", "prove a task again, or with --all everything, on HEAD as it is"),
    Entry("ship", "ship", "verify everything, declare SHIP and tag the commit"),
    Entry("parallel", "parallel", "one command for several tasks at once, each in its own tree"),
    Entry("validate", "validate", "check the plan and say every mistake; runs nothing"),
    Entry("list", "status", "tasks, one a line"),
    Entry("next", "status", "tasks that could start now"),
    Entry("graph", "graph", "the graph as text or as a picture"),
    Entry("log", "log", "what happened, from the journal"),
    Entry("brief", "brief", "exactly what an implementer of a task is told"),
    Entry("decide", "decide", "write a decision into DECISIONS.md"),
    Entry("settings", "settings", "every setting, its value and where it came from"),
    Entry("secret-scan", "secret_scan", "what in these files looks like a secret"),
    Entry("secrets", "secrets", "false positives that the secret scan lets pass"),
    Entry("staged-write", "staged_write", "a write by hand: diff, then apply, edit or reject"),
    Entry("sast-scan", "sast", "static analysis of a file; never blocks"),
    Entry("sast", "sast", "what static analysis has found so far"),
    Entry("write-log", "write_log", "every approved write, recorded and shown"),
    Entry("impact", "impact", "which tasks and tests a change may affect, and why"),
    Entry("ownership", "ownership", "which tasks own which files: shown, checked, proposed"),
    Entry("completion", "completion", "what completes commands, flags and ids in your shell"),
    Entry("version", "version", "the version"),
    Entry("help", "help", "this list; --all for every command"),
)
BY_NAME = {entry.name: entry for entry in TABLE}
