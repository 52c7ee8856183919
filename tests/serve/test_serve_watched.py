"""A build of the bookings plan, watched in a browser; what it holds is answered while it runs."""

import shutil
import sys
from pathlib import Path

import pytest
from site_plans import journal

EXAMPLE = Path(__file__).parents[2] / "examples" / "bookings"
RULE = "one.start < other.end and other.start < one.end"
TOUCHING = "one.start <= other.end and other.start <= one.end"
WAITS = """\
## TASK-005: What takes its time

- Status: PENDING
- Depends on: TASK-001
- Command: `until test -e "{mark}"; do sleep 0.1; done`
- Proof: none — it only waits
"""
TOUCH = """\
## TASK-004: Bookings that touch overlap

- Status: PENDING
- Depends on: TASK-002
- Output files: `booking/overlap.py`
- Proof: none — the room is cleaned between two guests

{block}
"""


def sections():
    """Package, model and rule of the example, and the block that has the rule."""
    text = (EXAMPLE / "TASK-GRAPH.md").read_text("utf-8")
    head, *found = text.split("\n## ")
    block = found[2].partition("```python file=booking/overlap.py")[2].partition("```\n")[0]
    fence = f"```python file=booking/overlap.py{block}```\n"
    return head, found[:3], fence.replace(RULE, TOUCHING)


def tell(text):
    """The film: `pytest -s` shows it."""
    sys.stdout.write(f"{text}\n")


@pytest.fixture
def mark(workplace, tmp_path, monkeypatch):
    """Three tasks are DONE; of two more one breaks the third, and one waits for this file."""
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    mark = tmp_path / "go-on"
    for name in ("FILE_OWNERSHIP_MAP.md", "PATTERN_INDEX.md"):
        shutil.copy(EXAMPLE / name, workplace.root)
    shutil.copytree(EXAMPLE / "patterns", workplace.root / "patterns")
    head, first, block = sections()
    plan = "\n## ".join([head, *first])
    workplace.commit({"TASK-GRAPH.md": plan}, "plan")
    assert workplace.run().code == 0
    more = TOUCH.format(block=block) + "\n" + WAITS.format(mark=mark)
    workplace.commit({"TASK-GRAPH.md": f"{workplace.read('TASK-GRAPH.md')}\n{more}"}, "more")
    return mark


def test_a_held_regression_is_answered_while_the_build_runs(workplace, serve, person, mark):
    site = serve()
    tab = person().tab()
    tab.enter(site.new_link())
    tab.until("document.body.innerText.includes('3 of 5')")
    tell("Ada opens the link: 3 of 5 done, all proven. She presses Start the build.")
    tab.press("form[hx-post$='/do/run'] button")
    tab.until("!!document.querySelector('form[hx-post$=\"/do/stop\"]')")
    tab.until("!!document.querySelector('a.alive')")
    tell("Start has become Stop. In the graph TASK-005 breathes: it is at work.")
    tab.until("!!document.querySelector('.tabs .count')")
    tell("Beside Review stands a number: something waits, and the build goes on.")
    tab.script("document.activeElement.blur()")
    tab.key("g")
    tab.key("r")
    tab.until("location.pathname.endsWith('/review') && !!document.querySelector('[data-row]')")
    rows = tab.script("[...document.querySelectorAll('[data-row]')].map(one => one.innerText)")
    tell(f"g r: {rows[0]!r} is first.")
    assert "breaks other tasks" in rows[0]
    tab.go(f"{site.origin}/b/{site.build}/review/TASK-004")
    said = tab.text
    assert "TASK-003" in said
    assert TOUCHING in said
    tell("She opens it: the one line that changed, side by side, and that it breaks TASK-003.")
    tab.until("!!sessionStorage.getItem('runner-secret') && !!window.htmx")
    tab.key("r")
    tab.type("input[name=reason]", "guests may be back to back")
    tab.press(".reject button")
    answer = tab.until("document.querySelector('#said').innerText")
    tell(f"r, 'guests may be back to back', Enter: {answer!r}.")
    assert "TASK-004 rejected" in answer
    assert "Start the build again" in answer
    assert site.api(f"/builds/{site.build}")[1]["run"] is not None  # it never stopped for that
    mark.touch()
    tab.go(f"{site.origin}/b/{site.build}")
    tab.until("!document.querySelector('form[hx-post$=\"/do/stop\"]') && !!window.htmx")
    tell("TASK-005 ends, and so does the run; the page says so by itself. She starts it again.")
    tab.press("form[hx-post$='/do/run'] button")
    tab.until("document.querySelector('.figures').innerText.includes('4 of 5')")
    tell("4 of 5 done: the change is dropped, TASK-003 stands.")
    (refused,) = journal(workplace, "write.rejected")
    assert " via page by " in refused["producer"]
    assert RULE in workplace.read("booking/overlap.py")
    assert tab.errors == []
