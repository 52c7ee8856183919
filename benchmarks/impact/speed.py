"""How long one question takes on a map of 100,000 files and 10,000 tasks, and how that grows.

    python benchmarks/impact/speed.py [--files N] [--tasks N]

Every task has a module, a test of it and a test contract; each module imports one other. The
figures are medians over questions about different files, after everything was learnt once.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.insert(0, str(Path(__file__).parents[2]))

from runner.impact.answer import Changed, judge
from runner.impact.inputs import Knowledge
from runner.impact.owners import Owners
from runner.impact.reach import Entry, References
from runner.impact.store import ImpactStore
from runner.impact.traces import Observations
from runner.model import Level, Observed, Spec, Task, TestContract, digest_of

Result = TypeVar("Result")


def contents(files: int, tasks: int) -> dict[str, bytes]:
    """Modules and tests of the tasks, filled up with data files."""
    found: dict[str, bytes] = {}
    for at in range(tasks):
        other = at // 3
        source = (
            f"from pkg{other // 100}.mod{other} import f as g\n\ndef f(x):\n    return x + {at}\n"
        )
        found[f"src/pkg{at // 100}/mod{at}.py"] = source.encode()
        test = f"from pkg{at // 100}.mod{at} import f\n\ndef test_f():\n    assert f(1)\n"
        found[f"tests/pkg{at // 100}/test_mod{at}.py"] = test.encode()
    for at in range(max(files - len(found), 0)):
        found[f"data/d{at // 500}/row{at}.json"] = b"{}"
    return found


def a_task(at: int) -> Task:
    """One task."""
    test = f"tests/pkg{at // 100}/test_mod{at}.py"
    command = f"python -m pytest -q {test}"
    return Task(
        f"TASK-{at:05d}",
        f"module {at}",
        1,
        Spec("", ""),
        outputs=(f"src/pkg{at // 100}/mod{at}.py", test),
        test_contracts=(TestContract(f"TC-{at:05d}", Level.UNIT, command),),
    )


def timed(what: str, act: Callable[[], Result]) -> Result:
    """Do it, print how long it took, give what it gave."""
    began = time.perf_counter()
    result = act()
    print(f"{what:<58} {(time.perf_counter() - began) * 1000:9.1f} ms")
    return result


def main() -> None:
    """Learn, ask, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    given = parser.parse_args()
    files = contents(given.files, given.tasks)
    tasks = [a_task(at) for at in range(given.tasks)]
    rows = "".join(f"| `{path}` | TASK-{at % given.tasks:05d} |\n" for at, path in enumerate(files))
    table = f"| File | Tasks |\n|---|---|\n{rows}".encode()
    print(f"{len(files)} files, {len(tasks)} tasks, {len(table) >> 10} KB of map")
    with tempfile.TemporaryDirectory() as folder:
        learn(Path(folder), files, tasks, table)
        ask(Path(folder), files, tasks, table)


def learn(folder: Path, files: dict[str, bytes], tasks: list[Task], table: bytes) -> None:
    """The first time in a repository."""
    store = ImpactStore(folder)
    references = References(store)
    entries = [Entry(path, path) for path in files]
    timed("read what every file refers to, once", lambda: references.learn(entries, files.get, "t"))
    timed("read the map, once", lambda: Owners(store, table))
    observed = Observations(store)

    def keep() -> None:
        for at, task in enumerate(tasks[:1000]):
            chain = [at, at // 3, at // 9]
            paths = [f"src/pkg{one // 100}/mod{one}.py" for one in dict.fromkeys(chain)]
            seen = [
                Observed(task.test_contracts[0].id, "", path, digest_of(files[path]), "1,3-4")
                for path in (*paths, task.outputs[1])
            ]
            observed.keep(task.id, seen)

    timed("keep what 1,000 proofs executed", keep)
    store.close()


def ask(folder: Path, files: dict[str, bytes], tasks: list[Task], table: bytes) -> None:
    """Every further time."""
    store = timed("open what was learnt", lambda: ImpactStore(folder))
    owners = timed("see that the map is the known one", lambda: Owners(store, table))
    knowledge = Knowledge(
        tasks={task.id: task for task in tasks},
        owners=owners,
        observed=Observations(store),
        references=References(store),
        digest=lambda path: digest_of(files[path]) if path in files else None,
    )
    modules = [path for path in files if path.startswith("src/")]
    timed(
        "the first question, which sorts the tasks",
        lambda: judge(edit(files, modules[-1:]), knowledge),
    )
    for count in (1, 10, 100):
        step = max(len(modules) // (2 * count), 1)
        took, found = [], 0
        for start in range(5):
            some = modules[len(modules) // 2 + start * 131 :: step][:count]
            began = time.perf_counter()
            found = len(judge(edit(files, some), knowledge).affected)
            took.append((time.perf_counter() - began) * 1000)
        what = f"{count} changed files, {found} tasks affected"
        print(f"{what:<58} {statistics.median(took):9.1f} ms")
    began = time.perf_counter()
    found = len(judge(edit(files, modules[:1]), knowledge).affected)
    took_ms = (time.perf_counter() - began) * 1000
    print(f"{f'the file under all others, {found} tasks affected':<58} {took_ms:9.1f} ms")


def edit(files: dict[str, bytes], paths: list[str]) -> list[Changed]:
    """The function in each of them says something else."""
    return [Changed(path, files[path], files[path].replace(b"x +", b"x -")) for path in paths]


if __name__ == "__main__":
    main()
