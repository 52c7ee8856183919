"""task-graph-runner: a plan with the implementer as `Command`, settings as they come."""

import json
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from work import ToolError, Work

NAME = "runner"
CLASS = "builder"
PACKAGE = "task-graph-runner, the folder that this file lies in"
WORDS = {"DONE": "done"}


def _words() -> list[str]:
    if find_spec("runner.cli"):
        return [sys.executable, "-P", "-m", "runner"]
    return [shutil.which("runner") or "runner"]


def why_not(_: object) -> str:
    """Why it cannot be run here; nothing where it can."""
    return "" if find_spec("runner") or shutil.which("runner") else "no `runner` on PATH"


def release() -> str:
    try:
        return version("task-graph-runner")
    except PackageNotFoundError:
        return "unknown"


def _ids(work: Work) -> dict[str, str]:
    return {task.name: f"TASK-{at:03d}" for at, task in enumerate(work.case.tasks, 1)}


def prepare(work: Work) -> None:
    """Turn the task list into a plan, as its manual says, and commit it."""
    ids = _ids(work)
    lines = ["# The plan\n"]
    for at, task in enumerate(work.case.tasks, 1):
        after = ", ".join(ids[name] for name in task.after) or "none"
        lines += [
            f"## {ids[task.name]}: {task.title}\n",
            "- Status: PENDING",
            f"- Depends on: {after}",
            f"- Output files: {', '.join(f'`{path}`' for path in task.outputs)}",
            "- Test contracts:",
            f"  - TC-{at:03d} (unit): `{task.test}`",
            f"- Command: `{work.implementer(task)}`\n",
            f"{task.prose}\n",
        ]
    (work.repo / "TASK-GRAPH.md").write_text("\n".join(lines))
    work.commit("The plan")


def run(work: Work) -> int:
    code, said = work.call([*_words(), "run", "--trust"])
    if code in {2, 70}:
        raise ToolError(f"ended with {code}: {said[-600:]}")
    return code


def status_of(work: Work) -> dict[str, str]:
    """DONE; `waiting` where its own list of what waits for a person names the task."""
    told = json.loads(_last_document(work.call([*_words(), "status", "--json"])[1]))
    by_id = {task["id"]: task for task in told["tasks"]}
    found = {}
    for name, ident in _ids(work).items():
        task = by_id[ident]
        asks = "review" in f"{task['note']} {task['reason']}".lower()
        found[name] = "waiting" if asks else WORDS.get(task["status"], "open")
    return found


def _last_document(text: str) -> str:
    return text[text.index("{") : text.rindex("}") + 1]


def kill_here(work: Work, seconds: float) -> bool:
    return work.call_and_kill([*_words(), "run", "--trust"], seconds)
