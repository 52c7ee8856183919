"""Roads to a DONE that nothing proves: each is gone by the real program, and what it says is read.

    python benchmarks/trust/roads/measure.py              all cases
    python benchmarks/trust/roads/measure.py --only NAME  one, with all that was said; it is kept

Each result is written down when it is there, so that a call that was ended goes on; `--again` runs
all anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent), str(HERE.parents[1])]

if TYPE_CHECKING:
    from cases import Road
    from grounds import Place

_ORDER = ("refused", "unproven", "unverified", "by a command alone", "silent")


def laid(one: Road, place: Place) -> tuple[Path, str]:
    """A repository before its task, and its key."""
    folder = place.root / "roads" / one.name
    shutil.rmtree(folder, ignore_errors=True)
    files = dict(one.base)
    edits = place.root / "edits" / f"road-{one.name}.json"
    edits.write_text(json.dumps(one.writes), encoding="utf-8")
    files["TASK-GRAPH.md"] = _plan(one, edits)
    files[".gitignore"] = "__pycache__/\nartifacts/\n"
    files["runner.toml"] = "proof.default_gates = false\n"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    place.must(folder, "git", "init", "-q", "-b", "main")
    place.must(folder, "git", "add", "-A")
    place.must(folder, "git", "commit", "-q", "-m", "docs: the plan")
    key = hashlib.sha256(repr(one).encode()).hexdigest()[:16]
    return folder, key


def _plan(one: Road, edits: Path) -> str:
    if one.name == "a-wish":
        return "# Plan\n\n## Task 1: A price of four each\n\nThe price is four times the number.\n"
    outputs = ", ".join(f"`{path}`" for path in sorted(one.writes))
    tests = ["- Test contracts:", f"  - TC-901 (unit): `{one.contract}`"] if one.contract else []
    apply = HERE.parent / "apply.py"
    lines = ["# Plan", "", "## TASK-001: A price", "", "- Status: PENDING", "- Depends on: none"]
    lines += [f"- Output files: {outputs}", *tests, f"- Command: `python3 {apply} {edits}`", ""]
    return "\n".join([*lines, "The price of some.", ""])


def gone(one: Road, place: Place, folder: Path) -> tuple[str, str]:
    """What became of it, and all that was said."""
    said = []
    runs = [f"{sys.executable} -m runner run --trust --no-verify-at-end", *one.steps]
    program = f'runner() {{ {sys.executable} -m runner "$@"; }}\n'
    for line in runs:
        ran = place.call(folder, "sh", "-c", program + line)
        said.append(f"$ {line}\n{ran.stdout}{ran.stderr}")
    looked = place.runner(folder, "status", "--json")
    shipped = place.runner(folder, "ship", "--trust", "--unproven")
    said += [looked.stdout, f"$ runner ship --unproven\n{shipped.stdout}{shipped.stderr}"]
    try:
        (task,) = json.loads(looked.stdout)["tasks"]
    except (ValueError, KeyError):
        return "refused", "\n".join(said)
    return _label(one, task, shipped=shipped.returncode == 0), "\n".join(said)


def _label(one: Road, task: dict, *, shipped: bool) -> str:
    """Label what status says; a wrong task that counts as proven must be refused by `ship`."""
    if task["status"] != "DONE":
        return "refused"
    if task["grade"] != "proven":
        return "unproven"
    if not task["verified"]:
        return "silent" if shipped else "unverified"
    if task["provenBy"] == "command" and not one.only_command:
        return "by a command alone"
    return "silent"


def main() -> None:
    from cases import read_roads
    from grounds import default_place, prepared

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--place", type=Path, default=default_place())
    parser.add_argument("--source", type=Path, help="folder of another copy of the package")
    given = parser.parse_args()
    place = prepared(given.place.resolve(), given.source and given.source.resolve())
    file = place.root / "roads.jsonl"
    rows = file.read_text("utf-8").splitlines() if file.exists() and not given.again else []
    known = {(row["name"], row["key"]): row for row in map(json.loads, rows)}
    found = []
    for one in read_roads():
        if given.only and one.name not in given.only:
            continue
        folder, key = laid(one, place)
        row = None if given.only else known.get((one.name, key))
        if row is None:
            label, said = gone(one, place, folder)
            row = {"name": one.name, "family": one.family, "key": key, "label": label}
            with file.open("a", encoding="utf-8") as log:
                log.write(json.dumps(row) + "\n")
            print(f"{one.family}: {one.name}: {label}", file=sys.stderr, flush=True)
            if given.only:
                print(said)
        if not given.only:
            shutil.rmtree(folder, ignore_errors=True)
        found.append(row)
    print(shown(found))


def shown(found: list[dict]) -> str:
    """Misses first, then the table."""
    lines = [
        f"- missed: `{row['name']}` ({row['family']})" for row in found if row["label"] == "silent"
    ]
    lines += ["", f"| family | cases | {' | '.join(_ORDER)} |", f"|---|---|{'---|' * len(_ORDER)}"]
    for family in dict.fromkeys(row["family"] for row in found):
        some = Counter(row["label"] for row in found if row["family"] == family)
        cells = " | ".join(str(some[label]) for label in _ORDER)
        lines.append(f"| {family} | {sum(some.values())} | {cells} |")
    return "\n".join(lines).strip()


if __name__ == "__main__":
    main()
