"""The plain script: git worktree, agent, pytest, commit, for each task, so many at once.

    python script.py JOBS        in the repository of workload.py

A task starts when the one that it needs has been merged. Tests that fail end the script.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock

MERGE = Lock()


def call(folder: Path, *words: str) -> None:
    """Run a command; raises CalledProcessError where it fails."""
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def build(task: dict[str, str], root: Path, trees: Path) -> str:
    """Build one task on a branch of its own and merge it."""
    name, tree = task["id"], trees / task["id"]
    with MERGE:
        call(root, "git", "worktree", "add", "-q", "-b", name, str(tree), "main")
    call(tree, "python", "tools/agent.py", name)
    call(tree, "sh", "-c", task["contract"])
    call(tree, "git", "add", "-A")
    call(tree, "git", "commit", "-q", "-m", name)
    with MERGE:
        call(root, "git", "merge", "-q", "--no-edit", name)
        call(root, "git", "worktree", "remove", "--force", str(tree))
    return name


def main() -> None:
    """Build all tasks in the order of their needs."""
    root = Path.cwd()
    waiting = json.loads((root / "tools/tasks.json").read_text())
    done = {""}
    running: set[Future[str]] = set()
    with tempfile.TemporaryDirectory() as trees, ThreadPoolExecutor(int(sys.argv[1])) as pool:
        while waiting or running:
            for task in [one for one in waiting if one["needs"] in done]:
                waiting.remove(task)
                running.add(pool.submit(build, task, root, Path(trees)))
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            done |= {one.result() for one in ended}


if __name__ == "__main__":
    main()
