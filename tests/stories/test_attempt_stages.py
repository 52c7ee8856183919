"""Where the seconds of an attempt go: each part that a person waits for has a line."""

import re

from workplace import a_task

AGENT = """sleep 0.6
cat > price.py <<'EOF'
def price(n):
    if n > 10:
        return n * 2
    return n + 3
EOF
cat > test_price.py <<'EOF'
import time

time.sleep(0.6)
from price import price


def test_price():
    assert price(11) == 22
    assert price(10) == 13
    assert price(1) == 4
EOF
"""
SLOW = a_task(
    "TASK-001",
    outputs=["price.py", "test_price.py"],
    command="sh agent.sh",
    tests=["python3 -m pytest -q test_price.py"],
    fields=["Red first: yes"],
)
_LINE = re.compile(r"^TASK-001 [·✓] (.*) (\d+\.\d+) s$", re.MULTILINE)


def test_the_lines_of_an_attempt_add_up_to_its_seconds(workplace):
    workplace.commit({"agent.sh": AGENT})
    workplace.plan(SLOW)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    lines = {name: float(seconds) for name, seconds in _LINE.findall(ended.said)}
    assert {"implementer", "TC-001", "mutation"} <= lines.keys()
    (attempt,) = workplace.happened("attempt.finished", "TASK-001")
    assert sum(lines.values()) >= 0.9 * attempt["seconds"]


def test_quiet_hides_them(workplace):
    command, tests = "sleep 0.7; echo a > a.txt", ["sleep 0.7; grep -q a a.txt"]
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command=command, tests=tests))
    assert _LINE.findall(workplace.run("-q").said) == []
    stages = [one["stage"] for one in workplace.happened("stage.completed", "TASK-001")]
    assert "implementer" in stages
