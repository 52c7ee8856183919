"""Builds plans of three tasks in repositories of other people, then one bad change in each.

    python benchmarks/repositories/run.py --store PREPARED --at PLACE --home HOME [--only NAME …]

PREPARED holds the repositories as `repositories.toml` names them, installed at PLACE: each is
copied to PLACE before a run, so that links and editable installs lead into the copy. Results are
kept in `results.json`; without --store, the table is printed from them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
MODES = {"sandbox": [], "no sandbox": ["--no-sandbox"]}
STATUS = re.compile(r"^## (TASK-\d+).*?^- Status: (\S+)", re.MULTILINE | re.DOTALL)
BAD = "TASK-004"
LONGEST = 1800
MOST_RUNS = 2


@dataclass
class Result:
    """What came of one repository in one mode."""

    name: str
    mode: str
    edits: int = 0
    runs: int = 0
    first_done: bool = False
    good: str = ""
    bad: str = ""
    landed: bool = False
    refused_by: str = ""
    seconds: int = 0


class Place:
    """A copy of one prepared repository, and what is typed in it."""

    def __init__(self, name: str, options: argparse.Namespace, log: Path) -> None:
        self.root = options.at / name
        self.log = log
        self.environment = {
            **{key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ},
            "HOME": str(options.home),
            "NO_COLOR": "1",
        }
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["cp", "-a", "--reflink=auto", str(options.store / name), str(self.root)], check=True
        )

    def type(self, *command: str) -> str:
        """Run a command in the repository; its output goes into the log, too."""
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n$ {' '.join(command)}\n")
            log.flush()
            process = subprocess.run(
                command,
                cwd=self.root,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LONGEST,
                text=True,
                errors="replace",
                check=False,
            )
            log.write(f"{process.stdout}[exit {process.returncode}]\n")
        return process.stdout

    def runner(self, *words: str) -> str:
        """Type a command of the runner."""
        return self.type(sys.executable, "-m", "runner", *words)

    def commit(self, message: str) -> None:
        """Commit everything, as a person would."""
        self.type("git", "add", "-A")
        self.type("git", "commit", "-q", "--no-verify", "-m", message)

    def statuses(self) -> dict[str, str]:
        """The status of each task as the plan names it."""
        return dict(STATUS.findall((self.root / "TASK-GRAPH.md").read_text(encoding="utf-8")))

    def digest(self, paths: list[str]) -> str:
        """What the branch has at some paths."""
        return self.type("git", "ls-tree", "-r", "HEAD", "--", *paths)


def build(entry: dict, mode: str, options: argparse.Namespace) -> Result:
    """Build the three tasks, then the bad one."""
    name = entry["name"]
    result = Result(name, mode)
    log = options.out / f"{name}-{mode.replace(' ', '-')}.log"
    log.unlink(missing_ok=True)
    place = Place(name, options, log)
    for command in entry.get("prepare", []):
        place.type("sh", "-c", command)
    plan = place.root / "TASK-GRAPH.md"
    plan.write_text((HERE / "plans" / f"{name}.md").read_text(encoding="utf-8"), encoding="utf-8")
    place.commit("docs: plan")
    flags = ["run", "--trust", "--review", "off", *MODES[mode]]
    begun = time.monotonic()
    edits = list(entry.get("edits", []))
    while True:
        place.runner(*flags)
        statuses = place.statuses()
        if not result.first_done:
            result.runs += 1
            result.first_done = "DONE" in statuses.values()
        if set(statuses.values()) == {"DONE"} or not edits:
            break
        result.edits += not result.first_done
        edit = edits.pop(0)
        place.type("sh", "-c", edit["edit"])
        if "then" in edit:
            place.runner(*edit["then"])
    result.good = summary(statuses)
    before = place.digest(entry["product"])
    plan.write_text(
        plan.read_text(encoding="utf-8")
        + (HERE / "plans" / f"{name}.bad.md").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    place.commit("docs: one more task")
    said = place.runner(*flags)
    result.seconds = round(time.monotonic() - begun)
    result.bad = place.statuses()[BAD]
    result.landed = place.digest(entry["product"]) != before
    result.refused_by = refusal(said)
    place.runner("why", BAD)
    shutil.rmtree(place.root)
    return result


def summary(statuses: dict[str, str]) -> str:
    """How many of the good tasks are DONE, and the others by name."""
    done = sum(status == "DONE" for status in statuses.values())
    others = [f"{task} {status}" for task, status in statuses.items() if status != "DONE"]
    return ", ".join([f"{done} of {len(statuses)}", *others])


def refusal(output: str) -> str:
    """What a run says that the bad change was refused for."""
    found = re.search(rf"^{BAD} (?:BLOCKED|stopped)[^—\n]*— ([^;\n]*)", output, re.MULTILINE)
    return found[1] if found else ""


def table(results: list[dict], repositories: list[dict]) -> str:
    """The results as a table in Markdown, misses first."""
    kinds = {entry["name"]: entry for entry in repositories}
    rows = []
    for result in results:
        entry = kinds[result["name"]]
        missed = not result["first_done"] or not result["good"].startswith("3 of 3")
        missed = missed or result["landed"] or result["bad"] == "DONE" or result["runs"] > MOST_RUNS
        refused = "**landed**" if result["landed"] else f"refused: {result['refused_by']}"
        cells = [entry["repository"], entry["kind"], result["mode"]]
        cells += [str(result[name]) for name in ("edits", "runs", "good")]
        cells += [refused, str(result["seconds"])]
        rows.append((not missed, f"| {' | '.join(cells)} |"))
    head = "| repository | kind | run | edits | runs | good tasks DONE | bad change | seconds |"
    return "\n".join([head, "|---|---|---|--:|--:|---|---|--:|", *(row for _, row in sorted(rows))])


def main() -> None:
    """Run what is chosen and print the table of everything so far."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--at", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/repositories"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--modes", nargs="*", default=list(MODES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    repositories = tomllib.loads((HERE / "repositories.toml").read_text(encoding="utf-8"))["repo"]
    kept = options.out / "results.json"
    results = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    for entry in repositories:
        if options.store is None or (options.only and entry["name"] not in options.only):
            continue
        for mode in options.modes:
            result = asdict(build(entry, mode, options))
            this = (entry["name"], mode)
            results = [old for old in results if (old["name"], old["mode"]) != this]
            results.append(result)
            kept.write_text(json.dumps(results, indent=1), encoding="utf-8")
            print(result, flush=True)
    print(table(results, repositories))


if __name__ == "__main__":
    main()
