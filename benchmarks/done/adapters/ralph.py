"""ralph-orchestrator 1.2.3 of PyPI (the older generation, in Python), one call a task.

Its agent is a scripted `gemini` on PATH, called as `gemini -p PROMPT`: the SDK for `claude` that it
comes with brings a program of its own, which no PATH overrides. Done is its own word that the
promise was kept.
"""

import os
from pathlib import Path

from work import ToolError, Work

NAME = "ralph"
CLASS = "builder"
PACKAGE = (
    "PyPI ralph-orchestrator 1.2.3, wheel "
    "sha256:981dbc630aae0223194c8e8bce64c0b5bb1341ce9b7321c3402d33900f8a9087, "
    "github.com/mikeyobrien/ralph-orchestrator"
)
_PROMISE = "TASK_COMPLETE"


def why_not(peers: Path) -> str:
    """Why it cannot be run here; nothing where it can."""
    if (peers / "ralph/bin/ralph").exists():
        return ""
    return "`python -m venv PEERS/ralph` and `pip install ralph-orchestrator==1.2.3` there"


def release() -> str:
    return "1.2.3"


def prepare(work: Work) -> None:
    """A prompt a task, and the agent, which tells tasks by their prompts.

    The promise stands in no prompt: it takes such a prompt for done.
    """
    bin_ = work.home / "bin"
    bin_.mkdir()
    lines = ["#!/bin/sh", 'case "$*" in', "*--version*) echo 1.0; exit 0;;"]
    for task in work.case.tasks:
        lines.append(f"*'BENCH TASK {task.name}.'*) {work.implementer(task)};;")
        prompt = (
            f"# {task.title}\n\nBENCH TASK {task.name}.\n\n{task.prose}\n\n"
            f"Write only {', '.join(task.outputs)}. `{task.test}` must pass.\n"
        )
        (work.repo / f"PROMPT-{task.name}.md").write_text(prompt)
    (bin_ / "gemini").write_text("\n".join([*lines, "esac"]) + "\n")
    (bin_ / "gemini").chmod(0o755)
    work.more["PATH"] = f"{bin_}:{os.environ['PATH']}"
    (work.home / "loop.sh").write_text(_loop(work))
    work.commit("The prompts")


def _loop(work: Work) -> str:
    lines = []
    for task in work.case.tasks:
        said = work.home / f"{task.name}.said"
        call = (
            f"{work.peers}/ralph/bin/ralph run -a gemini -P PROMPT-{task.name}.md -i 3 "
            f"--checkpoint-interval 1 --completion-promise {_PROMISE} --no-metrics"
        )
        kept = f"grep -q 'Completion promise matched' {said} 2>/dev/null"
        lines += [f"if ! {kept}; then", f"  {call} > {said} 2>&1", f"  cat {said}", "fi"]
        lines += [f"{kept} || exit 1"]
    return "\n".join(lines) + "\n"


def run(work: Work) -> int:
    code, said = work.call(["sh", str(work.home / "loop.sh")])
    if "No available adapters" in said or "Traceback (most recent" in said:
        raise ToolError(said[-600:])
    return code


def status_of(work: Work) -> dict[str, str]:
    found = {}
    for task in work.case.tasks:
        said = work.home / f"{task.name}.said"
        text = said.read_text(errors="replace") if said.exists() else ""
        found[task.name] = "done" if "Completion promise matched" in text else "open"
    return found


def kill_here(work: Work, seconds: float) -> bool:
    return work.call_and_kill(["sh", str(work.home / "loop.sh")], seconds)
