"""Changes that a person asks for are built, though the tests of before fail on them."""

import os

from scripted_agent import Script, writes
from workplace import a_task

COUNT = 20 if "CAMPAIGN_SECONDS" in os.environ else 3
"""A few in the suite, all in a campaign: each is built twice."""
PYTHON = "PYTHONDONTWRITEBYTECODE=1 python3"


def files(number, value):
    code = f"def worth():\n    return {value}\n"
    test = (
        f"import unittest\n\nimport part{number}\n\n\nclass Worth(unittest.TestCase):\n"
        f"    def test_worth(self):\n        self.assertEqual(part{number}.worth(), {value})\n"
    )
    return {f"part{number}.py": code, f"test_part{number}.py": test}


def test_changes_of_behaviour_are_built_and_named_as_meant_campaign(workplace, monkeypatch):
    ids = [f"TASK-{number:03d}" for number in range(1, COUNT + 1)]
    steps = {
        id_: [writes(files(number, 1)), writes(files(number, 2))]
        for number, id_ in enumerate(ids, start=1)
    }
    script = Script(steps).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUILD_JOBS", "2")
    tasks = [
        a_task(
            id_,
            f"Part {number}",
            outputs=[f"part{number}.py", f"test_part{number}.py"],
            tests=[f"{PYTHON} -m unittest -q test_part{number}"],
        )
        for number, id_ in enumerate(ids, start=1)
    ]
    workplace.plan(*tasks)
    built = workplace.run()
    assert built.code == 0, built.said
    for id_ in ids:
        assert workplace.runner("change", id_, "it is worth 2", "--yes").code == 0
    assert workplace.runner("approve", "--all").code == 0
    changed = workplace.run()
    assert changed.code == 0, changed.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert len(script.told) == 2 * COUNT
    assert all("return 2" in workplace.read(f"part{number}.py") for number in (1, COUNT))
    told = workplace.runner("evidence", "TASK-001").out
    assert "test_worth` fails in its earlier version on this code: required by the plan" in told
