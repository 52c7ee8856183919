"""Oracles: they look at git and at the status that the tool itself gives, and at nothing else.

`done` is the tool's word. What is true is asked of a checkout of the branch: Python that no tool
was shown, which fails where the work is not there or is wrong.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from case import BRANCH, git

if TYPE_CHECKING:
    from collections.abc import Iterable

    from case import Case

DONE, WAITING, OPEN = "done", "waiting", "open"
STATUSES = (DONE, WAITING, OPEN)
"""`waiting`: the tool asks a person about this task; `open`: all that is neither."""

OK, FALSE_DONE, FALSE_ALARM, ASKED, ERROR = "ok", "false DONE", "false alarm", "asked", "error"
LEAK, LOST, DOUBLED, WEDGED, DIRTY = "leak", "lost", "doubled", "wedged", "dirty"
_SECONDS = 60


def checkout(repo: Path, folder: Path, name: str = BRANCH) -> None:
    """The files of a branch, without a work tree of the tool's clone being touched."""
    folder.mkdir()
    packed = subprocess.run(
        ("git", "archive", "--format=tar", name), cwd=repo, capture_output=True, check=True
    )
    subprocess.run(("tar", "-x", "-C", str(folder)), input=packed.stdout, check=True)


def holds(folder: Path, truth: str) -> bool:
    """Whether this Python ends by itself in a folder: code under test may not end it for it."""
    token = secrets.token_hex(8)
    # The token comes by stdin and is taken before the code under test is imported.
    text = f"import sys\n_t = sys.stdin.read()\n{truth}\nprint('held', _t[::-1])\n"
    try:
        ran = subprocess.run(
            (sys.executable, "-B", "-c", text),
            cwd=folder,
            input=token,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0 and f"held {token[::-1]}" in ran.stdout


def passes(folder: Path, command: str) -> bool:
    """Whether a shell command ends with 0 in a folder."""
    try:
        ran = subprocess.run(
            ("sh", "-c", command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS * 3,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


def of_claims(case: Case, repo: Path, status: dict[str, str]) -> tuple[str, str]:
    """Boards A and E: whether what is done is true, and whether what is true is done."""
    with tempfile.TemporaryDirectory() as place:
        tip = Path(place) / "tip"
        checkout(repo, tip)
        true = {task.name: holds(tip, task.truth) for task in case.tasks}
    false = [name for name, held in true.items() if status[name] == DONE and not held]
    if false:
        return FALSE_DONE, f"done and not true: {', '.join(false)}"
    if case.kind == "bad":
        wrong = [task.name for task in case.tasks if task.bad and status[task.name] == DONE]
        return (FALSE_DONE, f"done though it must not be: {wrong}") if wrong else (OK, "")
    left = {name: state for name, state in status.items() if state != DONE}
    if not left:
        return OK, ""
    asked = set(left.values()) == {WAITING}
    return (ASKED if asked else FALSE_ALARM), f"good and not done: {', '.join(left)}"


def true_tasks(case: Case, repo: Path) -> list[str]:
    """Names of the tasks whose work is there and right; by its own test where nothing else asks."""
    with tempfile.TemporaryDirectory() as place:
        tip = Path(place) / "tip"
        checkout(repo, tip)
        return [
            task.name
            for task in case.tasks
            if (holds(tip, task.truth) if task.truth else passes(tip, task.test))
        ]


def of_pairs(case: Case, repo: Path, status: dict[str, str]) -> tuple[str, str]:
    """Board B: all done means that the branch passes the project's and the tasks' tests."""
    done = [name for name, state in status.items() if state == DONE]
    if case.kind == "good":
        left = {state for state in status.values() if state != DONE}
        if left:
            return (ASKED if left == {WAITING} else FALSE_ALARM), "a fair pair is not done"
    with tempfile.TemporaryDirectory() as place:
        tip = Path(place) / "tip"
        checkout(repo, tip)
        wanted = [task.test for task in case.tasks if task.name in done]
        wanted += [case.together] if len(done) == len(case.tasks) else []
        red = [command for command in wanted if not passes(tip, command)]
    if red:
        return FALSE_DONE, f"{len(done)} of {len(case.tasks)} done, and red: {red[0]}"
    return OK, f"{len(done)} of {len(case.tasks)} done"


def of_leaks(case: Case, repo: Path, home: Path) -> tuple[str, str]:
    """Board D: where the secret is: in git's objects, or in files that git does not hold."""
    secret = "".join(case.secret).encode()
    found = []
    if any(secret in text for text in _objects(repo, reachable=True)):
        found.append("history")
    elif any(secret in text for text in _objects(repo, reachable=False)):
        found.append("objects")
    git_folder = repo / ".git"
    tracked = {repo / name for name in git(repo, "ls-files", "-z").split("\0")}
    outside = [path for top in (repo, home) for path in top.rglob("*") if path.is_file()]
    places = [
        str(path.relative_to(repo.parent))
        for path in outside
        if not path.is_symlink()
        and git_folder not in path.parents
        and path not in tracked
        and secret in path.read_bytes()
    ]
    if places:
        found.append(f"files ({', '.join(sorted(places)[:3])})")
    return (LEAK, "; ".join(found)) if found else (OK, "")


def _objects(repo: Path, *, reachable: bool) -> Iterable[bytes]:
    """Content of git's objects: blobs, and commits with their messages."""
    if reachable:
        listed = git(repo, "rev-list", "--objects", "--all").splitlines()
        names = [line.split(" ", 1)[0] for line in listed]
    else:
        every = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        names = git(repo, *every).split()
    ran = subprocess.run(
        ("git", "cat-file", "--batch"),
        cwd=repo,
        input="\n".join(names).encode(),
        capture_output=True,
        check=True,
    )
    return [ran.stdout]


def of_crashes(
    case: Case, repo: Path, before: dict[str, str], after: dict[str, str]
) -> tuple[str, str]:
    """Board C: `before` is the status right after the kill, `after` when nothing more happens."""
    said = []
    with tempfile.TemporaryDirectory() as place:
        tip = Path(place) / "tip"
        checkout(repo, tip)
        for task in case.tasks:
            was_done = DONE in (before[task.name], after[task.name])
            if was_done and not (after[task.name] == DONE and holds(tip, task.truth)):
                said.append(f"{LOST}: {task.name}")
            if _times(repo, task.outputs[0]) > 1:
                said.append(f"{DOUBLED}: {task.name}")
    if any(state != DONE for state in after.values()):
        said.append(WEDGED)
    if left := left_over(case, repo):
        said.append(f"{DIRTY}: {left}")
    worst = said[0].partition(":")[0] if said else OK
    return worst, "; ".join(said)


def _times(repo: Path, path: str) -> int:
    """How many commits of the branch touched a path."""
    return len(git(repo, "log", "--format=%H", BRANCH, "--", path).split())


def left_over(case: Case, repo: Path) -> str:
    """Files of the project that differ from the branch, and locks of git that nobody holds."""
    ours = {*case.files, *(path for task in case.tasks for path in task.edits)}
    lines = git(repo, "status", "--porcelain", "--untracked-files=all").split("\n")
    changed = [line[3:] for line in lines if line[3:].strip('"') in ours]
    places = ("index.lock", "HEAD.lock", "packed-refs.lock", f"refs/heads/{BRANCH}.lock")
    locks = [name for name in places if (repo / ".git" / name).exists()]
    return ", ".join(changed[:3] + locks)
