"""Bernstein 3.23.0 of PyPI with its generic adapter: a scripted `generic-cli` on PATH.

The agent does what the prompt asks of it: commit in its worktree, then `bernstein task complete`.
A task's test is its completion signal (`test_passes`). Its server is a daemon: it is stopped after
each call, and a kill cannot reach all of it, so it takes no part in board C.
"""

import json
import os
import socket
import time
from pathlib import Path

from work import ToolError, Work

NAME = "bernstein"
CLASS = "builder"
PACKAGE = (
    "PyPI bernstein 3.23.0, wheel "
    "sha256:49bed55f47271c6f1272e6906df113c8a49020bf300e362f00d33f4b4a89c5b2, "
    "github.com/sipyourdrink-ltd/bernstein"
)
_ENDED = {"done", "closed", "failed", "refused", "cancelled"}


def why_not(peers: Path) -> str:
    """Why it cannot be run here; nothing where it can."""
    if (peers / "bernstein/bin/bernstein").exists():
        return ""
    return "`python3.12 -m venv PEERS/bernstein` and `pip install bernstein==3.23.0` there"


def release() -> str:
    return "3.23.0"


def prepare(work: Work) -> None:
    """A plan of stages in the order of the list, and the agent, which tells tasks by prompts."""
    bin_ = work.home / "bin"
    bin_.mkdir()
    agent = ["#!/bin/sh", 'case "$*" in *--version*) echo 1.0; exit 0;; esac']
    stages = []
    for task in work.case.tasks:
        mark = f"BENCH TASK {task.name}."
        agent.append(f"case \"$*\" in *'{mark}'*) {work.implementer(task)};; esac")
        step = {
            "title": task.title,
            "description": f"{mark} {task.prose}",
            "role": "backend",
            "files": list(task.outputs),
            "completion_signals": [{"type": "test_passes", "value": task.test}],
        }
        stages.append({"name": task.name, "depends_on": list(task.after), "steps": [step]})
    agent += [
        "git add -A; git commit -q -m 'feat: the work'",
        "printf '%s' \"$*\" > $HOME/p.$$",
        "ids=$(sed -n 's/^bernstein task complete \\([0-9a-f]*\\).*/\\1/p' $HOME/p.$$ | sort -u)",
        "for id in $ids; do bernstein task complete $id --summary Completed; done",
    ]
    for name in ("generic-cli", "generic"):
        (bin_ / name).write_text("\n".join(agent) + "\n")
        (bin_ / name).chmod(0o755)
    # JSON is YAML.
    plan = {"name": "work", "description": "The work", "stages": stages}
    (work.repo / "plan.yaml").write_text(json.dumps(plan, indent=1) + "\n")
    work.more["PATH"] = f"{bin_}:{work.peers}/bernstein/bin:{os.environ['PATH']}"
    work.more["BERNSTEIN_ALLOW_MERGE_TO_DEFAULT_BRANCH"] = "1"
    work.commit("The plan")


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def run(work: Work) -> int:
    program = f"{work.peers}/bernstein/bin/bernstein"
    words = ["run", "plan.yaml", "--cli", "generic", "--model", "scripted-1", "--auto-approve"]
    try:
        work.call_detached([program, *words, "--port", str(_port())])
        until = time.monotonic() + work.limit
        while time.monotonic() < until:
            time.sleep(2)
            tasks = _tasks(work)
            if tasks and all(one["status"] in _ENDED for one in tasks):
                time.sleep(3)
                break
        else:
            raise ToolError("its tasks came to no end in time")
        (work.home / "tasks.json").write_text(json.dumps(_tasks(work)))
    finally:
        work.call([program, "stop", "--force"])
    return 0


def _tasks(work: Work) -> list[dict[str, str]]:
    """Its own list, asked of its own command."""
    _, said = work.call([f"{work.peers}/bernstein/bin/bernstein", "status", "--json"])
    try:
        told = json.loads(said[said.index("{") : said.rindex("}") + 1])
    except ValueError:
        return []
    found: list[dict[str, str]] = (told.get("tasks") or {}).get("items", [])
    return found


def status_of(work: Work) -> dict[str, str]:
    file = work.home / "tasks.json"
    tasks = json.loads(file.read_text()) if file.exists() else []
    done = [one["title"] for one in tasks if one["status"] in {"done", "closed"}]
    return {
        task.name: "done" if any(task.title in title for title in done) else "open"
        for task in work.case.tasks
    }


def kill_here(work: Work, seconds: float) -> bool:
    raise ToolError(f"its daemons outlive a kill of what {work.root.name} started ({seconds} s)")
