"""What work costs, counted: modules, git processes and fsyncs, never seconds."""

import json
import subprocess
import sys
from itertools import pairwise
from statistics import median

from workplace import a_task

from runner.repo.tree_files import tells_changes

_COUNTING = """
import json, sys
from runner import effects
from runner.cli import main
happened = []
bare = set(sys.modules)
def see(kind, target):
    if kind == "fsync":
        happened.append("journal" if str(target).endswith("journal.jsonl") else "fsync")
def hear(event, args):
    if event == "subprocess.Popen":
        words = [str(word) for word in args[1]]
        happened.append(words[-1] if words[0] == "/bin/sh" else "git" if "git" in words else "else")
    if event == "open" and {"shim", "hooks"} & set(str(args[0]).split("/")):
        happened.append("hook")
effects.watch(see)
sys.addaudithook(hear)
exec(sys.argv[1])
code = main(sys.argv[2:])
loaded = sorted({"git", "networkx", "git.cmd", "markdown_it"} & set(sys.modules))
print(json.dumps([code, happened, len(sys.modules.keys() - bare), loaded]))
"""


_NO_DOCUMENTS = """
from runner.run.landing.status_writer import TimeQuota
TimeQuota.affordable_at = property(lambda quota: float("inf"))
"""
"""Documents are written by the clock: on a busy machine they would be within every task."""


def counted(place, *words, first=""):
    """Exit code, what happened in its order, modules, and which of the large ones were loaded."""
    argv = [sys.executable, "-c", _COUNTING, first, *words]
    done = subprocess.run(argv, cwd=place.root, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def in_row(count, **each):
    return [
        a_task(
            f"TASK-{n:03d}",
            needs=[f"TASK-{n - 1:03d}"] if n > 1 else [],
            blocks={f"{n}.txt": f"{n}\n"} if each.get("writes") else None,
            tests=[f"{each.get('before', '')}true {n}"],
        )
        for n in range(1, count + 1)
    ]


def cost_of_one(workplace, **each):
    """What a task in the middle of a run costs, by kind."""
    workplace.plan(*in_row(9, **each))
    words = ("run", "--trust", "--no-sandbox", "-q")
    code, happened, _, _ = counted(workplace, *words, first=_NO_DOCUMENTS)
    assert code == 0
    starts = [
        next(n for n, what in enumerate(happened) if what.endswith(f"true {m}"))
        for m in range(3, 9)
    ]
    each_of = [happened[start:end] for start, end in pairwise(starts)]
    return {
        kind: median(one.count(kind) for one in each_of)
        for kind in ("git", "journal", "fsync", "hook")
    }


def test_a_check_costs_one_fsync_of_the_journal_and_no_git(workplace):
    cost = cost_of_one(workplace)
    assert cost["git"] == 0
    assert cost["journal"] == 1


def test_instruments_are_laid_out_once_a_run_and_looked_at_afterwards(workplace):
    cost = cost_of_one(workplace, before="python3 -c pass && ")
    # Where a change time does not tell of every write, as on a tmpfs, each is read each time; of
    # what is laid out for Python the byte code, too.
    assert cost["hook"] <= (0 if tells_changes(workplace.home) else 53)
    assert cost["git"] == 0


def test_a_landing_in_a_tree_of_few_files_starts_two_gits_for_index_and_branch(workplace):
    cost = cost_of_one(workplace, writes=True)
    assert cost["git"] == 2
    assert cost["journal"] + cost["fsync"] <= 16


_MOST_GIT = 19
"""Of a run of one task: configuration, status and index twice, a reader for the repository and for
the slot, two to make the slot its base and to look at it, one for the history of landings, and the
index of the task's commit and of the record, two readers of `.worktreeinclude` before the run has
opened the repository, a writer of files, of trees and of commits, and a move of the branch each for
the task's commit and the record."""
_MOST_MODULES = 546


def test_a_run_of_one_task_starts_few_gits_and_loads_few_modules(workplace):
    words = ("run", "--trust", "--no-sandbox", "-q", "--review", "off", "--yes")
    for number in (1, 2):
        workplace.plan(a_task(f"TASK-00{number}", blocks={f"{number}.py": f"N = {number}\n"}))
        code, happened, modules, _ = counted(workplace, *words)
        assert code == 0
    assert happened.count("git") <= _MOST_GIT
    assert modules <= _MOST_MODULES


def test_what_only_tells_loads_few_modules(workplace):
    workplace.plan(*in_row(2))
    workplace.runner("status")  # what is read once is remembered
    for word, most in (("version", 20), ("status", 138)):
        code, _, modules, loaded = counted(workplace, word)
        assert (code, loaded) == (0, []), word
        assert modules <= most, word


def test_the_order_of_tasks_is_networkx_s_and_a_landing_is_gitpython_s(workplace):
    workplace.plan(*in_row(2, writes=True))
    code, _, _, loaded = counted(workplace, "run", "--trust", "--no-sandbox", "-q")
    assert code == 0
    assert {"networkx", "git.cmd"} <= set(loaded)
