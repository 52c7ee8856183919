"""A chain of three tasks, of which the first is an agent's, and changes of it."""

from workplace import a_task

RULES = "def overlap(a, b):\n    return a[0] < b[1] and b[0] < a[1]\n"
COMMENTED = RULES.replace("    return", "    # half open: touching is free\n    return")
ANOTHER = RULES.replace("(a, b)", "(a, b, *, touching=False)")
TURNED = RULES.replace("<", "<=")
TESTED = """import unittest

from rules import overlap


class Apart(unittest.TestCase):
    def test_apart(self):
        self.assertFalse(overlap((1, 2), (3, 4)))
"""
FILES = {"made/rules.py": RULES, "test_rules.py": TESTED}
API = "from rules import overlap\n\n\ndef free(a, b):\n    return not overlap(a, b)\n"
PAGE = "from api import free\n\n\ndef show():\n    return free((1, 2), (5, 6))\n"
CHAIN = ("TASK-001", "TASK-002", "TASK-003")


def tasks(rule=""):
    """An agent's task that copies what `made/` holds, and two tasks one behind the other."""
    return (
        a_task(
            "TASK-001",
            "Overlap rule",
            outputs=["rules.py"],
            command="cp made/rules.py rules.py",
            tests=["python -m unittest -q test_rules"],
            prose=rule,
        ),
        a_task(
            "TASK-002",
            "API",
            needs=["TASK-001"],
            blocks={"api.py": API},
            tests=["python -c 'import api; assert api.free((1, 2), (2, 3))'"],
        ),
        a_task(
            "TASK-003",
            "Page",
            needs=["TASK-002"],
            blocks={"page.py": PAGE},
            tests=["python -c 'import page; assert page.show()'"],
        ),
    )


def changed(place, rules, *ids):
    """A `!change` of tasks, the first of them approved, and what its agent makes of it."""
    ids = ids or ("TASK-001",)
    assert place.runner("change", *ids, "clarify the rule", "--yes").code == 0
    assert set(place.statuses.values()) == {"STALE"}
    place.commit({"made/rules.py": rules})
    assert place.runner("approve", ids[0]).code == 0
    return len(place.events)


def modes(place, since):
    started = [one for one in place.events[since:] if one["type"] == "attempt.started"]
    return [(one["task"], one["mode"]) for one in started]


PROVEN = [("TASK-001", "build"), ("TASK-002", "prove"), ("TASK-003", "prove")]
