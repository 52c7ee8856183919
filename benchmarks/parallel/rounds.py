"""How often work is proven again since the branch moved: tasks that have nothing in common.

    python benchmarks/parallel/rounds.py                    30 tasks of 2 s tests, 4 at once
    python benchmarks/parallel/rounds.py --runner PATH      another runner, such as an older one

Each task writes a module and a test that sleeps. All start from one commit, so each landing moves
the branch under the others. Printed: test contracts that ran (30 is the least), how many of the
proofs that landed say that they ran on an earlier commit, and the time beside the bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FENCE = "```"


def plan(tasks: int, seconds: float) -> str:
    parts = ["# Benchmark\n"]
    for one in range(1, tasks + 1):
        lasts = round(seconds * (0.6 + 0.8 * (one * 7 % tasks) / tasks), 2)  # not all in step
        parts.append(
            f"## TASK-{one:03d}: module {one}\n\n"
            f"- Output files: `src/m{one}.py`, `tests/test_m{one}.py`\n"
            f"- Test contracts:\n  - TC-{one:03d} (unit): `pytest -q tests/test_m{one}.py`\n\n"
            f"{FENCE}python file=src/m{one}.py\ndef number():\n    return {one}\n{FENCE}\n\n"
            f"{FENCE}python file=tests/test_m{one}.py\nimport time\n\nfrom src import m{one}\n\n\n"
            f"def test_it():\n    time.sleep({lasts})\n    assert m{one}.number() == {one}\n"
            f"{FENCE}\n"
        )
    return "\n".join(parts)


def measure(given: argparse.Namespace, folder: Path) -> None:
    place = folder / "repository"
    place.mkdir()
    home = folder / "home"
    home.mkdir()
    environ = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PYTHONPATH": str(given.runner),
        **{
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }

    def call(*words: str) -> str:
        done = subprocess.run(
            words, cwd=place, env=environ, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    call("git", "init", "-q", "-b", "main")
    (place / "TASK-GRAPH.md").write_text(plan(given.tasks, given.seconds))
    (place / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\n[tool.runner]\ndefault_gates = false\n'
    )
    (place / "src").mkdir()
    (place / "src" / "__init__.py").write_text("")
    call("git", "add", "-A")
    call("git", "commit", "-qm", "plan")
    words = (sys.executable, "-P", "-m", "runner", "run", "--trust", "-q", "--no-verify-at-end")
    began = time.perf_counter()
    call(*words, "-j", str(given.jobs))
    took = time.perf_counter() - began
    (journal,) = place.glob("artifacts/build/journal.jsonl")
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    told(given, records, took)


def told(given: argparse.Namespace, records: list[dict], took: float) -> None:
    ran = [one["proof"] for one in records if one["type"] == "gate.completed"]
    own = [proof for proof in ran if proof["kind"] == "test"]
    others = [proof for proof in ran if proof["kind"] == "regression"]
    rounds = [one for one in records if one["type"] == "attempt.started" and one["mode"] == "prove"]
    done = [one for one in records if one["type"] == "task.done"]
    stood = sum(any(proof.get("base") for proof in one["proofs"]) for one in done)
    bound = max(sum(proof["seconds"] for proof in own[: given.tasks]) / given.jobs, 0.001)
    print(
        f"{len(done)} tasks in {took:.1f} s, {given.jobs} at once (their tests once: {bound:.1f} s)"
    )
    gates = sum(proof["seconds"] for proof in ran if proof["kind"] not in ("test", "regression"))
    print(f"{sum(proof['seconds'] for proof in own):.1f} s of tests, {gates:.1f} s of other checks")
    print(f"{len(own)} test contracts ran, {len(others)} of other tasks")
    print(f"{len(rounds)} rounds since the branch had moved; tests of {stood} tasks stood")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--jobs", type=int, default=4)
    here = Path(__file__).resolve().parents[2]
    parser.add_argument("--runner", type=Path, default=here, help="the folder above the package")
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        measure(parser.parse_args(), Path(folder))


if __name__ == "__main__":
    main()
