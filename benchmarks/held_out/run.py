"""Sealed cases of new code, each built once as it is and once with held-out tests.

`cases.tar.xz` holds 22 cases (14 wrong changes, 8 good ones): `brief.md`, `tree/`, the work in
`bad/` or `good/`, the hidden oracle `truth.py`, `case.toml`, and `test_acceptance.py`, which
another author wrote from `brief.md` and `tree/` alone. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELD_OUT = "test_acceptance.py"


def read_plan(case: Path) -> tuple[str, str]:
    """Return the plan of a case, and its kind: `bad` or `good`."""
    about = tomllib.loads((case / "case.toml").read_text())
    title, _, rest = (case / "brief.md").read_text().partition("\n")
    prose, _, files = rest.partition("Files that the implementer may write:")
    outputs = ", ".join(f"`{one}`" for one in re.findall(r"[\w./-]+\w", files))
    work = case / about["kind"]
    edits = {
        file.relative_to(work).as_posix(): file.read_text()
        for file in sorted(work.rglob("*"))
        if file.is_file()
    }
    code = (
        "import json,pathlib\n"
        f"for path, text in json.loads({json.dumps(edits)!r}).items():\n"
        " file = pathlib.Path(path); file.parent.mkdir(parents=True, exist_ok=True)\n"
        " file.write_text(text)\n"
    )
    command = (
        f"python3 -c {shlex.quote(f'import base64;exec(base64.b64decode({_packed(code)!r}))')}"
    )
    lines = (
        f"# Plan\n\n## TASK-001: {title.removeprefix('# ')}\n",
        f"- Output files: {outputs}\n- Test contracts:\n  - TC-001 (unit): `{about['test']}`",
        f"- Command: `{command}`\n\n{prose.strip()}\n",
    )
    return "\n".join(lines), about["kind"]


def _packed(code: str) -> bytes:
    import base64

    return base64.b64encode(code.encode())


def build(case: Path, folder: Path, *, held_out: bool) -> tuple[str, str, str]:
    """Build a case in a new repository; return its kind, the task's status and its note."""
    repo = folder / "repo"
    shutil.copytree(case / "tree", repo)
    plan, kind = read_plan(case)
    (repo / "TASK-GRAPH.md").write_text(plan)
    environment = {**os.environ, "HOME": str(folder), "PYTHONPATH": ""}

    def call(*words: str) -> str:
        ran = subprocess.run(
            words, check=False, cwd=repo, env=environment, capture_output=True, text=True
        )
        return ran.stdout

    def commit() -> None:
        call("git", "add", "-A")
        call("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "base")

    call("git", "init", "-q")
    commit()
    runner = (sys.executable, "-m", "runner")
    if held_out:
        shutil.copy(case / HELD_OUT, repo)
        line = f"python -m pytest -q {HELD_OUT}"
        call(*runner, "hold-out", "TASK-001", HELD_OUT, "--contract", line)
        commit()
    call(*runner, "run", "--trust", "--review", "off")
    told = call(*runner, "status", "--json")
    (task,) = json.loads(told[told.index("{") :])["tasks"]
    return kind, task["status"], task.get("note") or ""


def main() -> None:
    """Build every case in both ways, and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="cases whose number holds this")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(HERE / "cases.tar.xz") as archive:
            archive.extractall(place, filter="data")
        print("| case | change | as it is | with held-out tests |\n|---|---|---|---|")
        for case in sorted(Path(place).iterdir()):
            if case.is_dir() and given.only in case.name:
                ways = []
                for held_out in (False, True):
                    with tempfile.TemporaryDirectory() as folder:
                        kind, *answer = build(case, Path(folder), held_out=held_out)
                    ways.append(" — ".join(filter(None, answer)).replace("|", "/"))
                print(f"| {case.name} | {kind} | {ways[0]} | {ways[1]} |", flush=True)


if __name__ == "__main__":
    main()
