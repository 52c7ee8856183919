"""Where the seconds of an attempt go: each part that a person waits for has a line."""

import re

from workplace import a_task

SLOW = a_task(
    "TASK-001",
    outputs=["a.txt"],
    command="sleep 0.7; echo a > a.txt",
    tests=["sleep 0.7; grep -q a a.txt"],
)


def test_each_part_of_an_attempt_has_a_line_and_quiet_hides_them(workplace):
    workplace.plan(SLOW)
    said = workplace.run().said
    lines = dict(re.findall(r"TASK-001 (?:\S+ )(.*) (\d+\.\d+) s\n", said))
    assert {"implementer", "TC-001"} <= lines.keys()


def test_quiet_hides_them(workplace):
    workplace.plan(SLOW)
    assert "implementer" not in workplace.run("-q").said
    stages = [one["stage"] for one in workplace.happened("stage.completed", "TASK-001")]
    assert "implementer" in stages
