"""Every page, full and empty, in both themes, at two widths: axe finds no serious fault in it."""

from pathlib import Path

import pytest
from site_plans import GREET, NOTE

AXE = Path(__file__).parent / "axe" / "node_modules" / "axe-core" / "axe.min.js"
MISSING = "axe-core is not installed: npm ci --prefix tests/serve/axe"
WIDTHS = (360, 1440)
FAULTS = """
axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .flatMap(one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 160)} ${
    node.any.map(why => why.message).join("; ")}`)))
"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
MORE = """\
## TASK-003: What a person has to write
- Status: BLOCKED — nobody knows how
- Depends on: TASK-001
- Output files: `by/hand.txt`
- Proof: none — it is looked at

Words, and `code`.

## TASK-004: A rule that is long enough to need more than one line on a narrow screen, and goes on
- Status: PENDING
- Depends on: TASK-002, TASK-003
- Output files: `a/very/long/path/that/does/not/fit/on/a/narrow/screen/at_all_whatever_one_does.py`
- Test contracts:
  - TC-004 (unit): `python3 -m unittest a.very.long.path.that.does.not.fit.on.a.narrow.screen`
"""
SHORT = GREET.replace('TEXT = "hello"', 'TEXT = "hello"\nNAME = "you"')
PAGES = ("", "/review", "/plan", "/plan?edit", "/log", "/time", "/new")


@pytest.fixture
def full(workplace, serve):
    """Something of each kind: done, held, blocked, waiting, with mistakes in the plan."""
    workplace.commit({"greet.py": "TEXT = ''\nOLD = 1\n"})
    workplace.plan(SHORT, NOTE, MORE)
    assert workplace.run("--review", "prompt", "TASK-001").code == 3
    assert workplace.runner("approve", "TASK-001").code == 0
    workplace.run("TASK-001")
    assert workplace.run("--review", "prompt", "TASK-002").code == 3
    workplace.plan(SHORT.replace("PENDING", "DONE"), NOTE, MORE + "- Depends on: TASK-099\n")
    other = workplace.root.parent / "other"
    other.mkdir()
    (other / ".git").symlink_to(workplace.root / ".git")
    return serve("--also", str(other))


def look_for_faults(tab, address):
    found = []
    for dark in (False, True):
        for width in WIDTHS:
            tab.as_seen(width=width, dark=dark)
            tab.go(address)
            tab.script(AXE.read_text() + ";0")
            said = [f"{'dark' if dark else 'light'} {width}: {one}" for one in tab.script(FAULTS)]
            if (wider := tab.script(WIDER)) > 0:
                said.append(f"{width}: {wider} px wider than the window")
            found += [f"{address.partition('/b/')[2]} {one}" for one in said]
    return found


@pytest.mark.nightly(
    sibling="tests/serve/test_serve_accessible.py::test_empty_pages_have_no_serious_fault_and_say_what_to_type"
)
@pytest.mark.skipif(not AXE.exists(), reason=MISSING)
def test_full_pages_have_no_serious_fault(full, person):
    tab = person().tab()
    tab.enter(full.new_link())
    here = f"{full.origin}/b/{full.build}"
    addresses = [here + path for path in (*PAGES, "/review/TASK-002", "/review/TASK-003")]
    addresses += [f"{here}/tasks/TASK-{number:03d}" for number in (1, 2, 3, 4)]
    addresses += [f"{here}/review/TASK-001", f"{full.origin}/", f"{full.origin}/none"]
    assert [fault for one in addresses for fault in look_for_faults(tab, one)] == []


@pytest.mark.skipif(not AXE.exists(), reason=MISSING)
def test_empty_pages_have_no_serious_fault_and_say_what_to_type(workplace, serve, person):
    workplace.commit()
    site = serve()
    tab = person().tab()
    tab.enter(site.new_link())
    here = f"{site.origin}/b/{site.build}"
    assert look_for_faults(tab, here) == []
    assert "runner init" in tab.text
    workplace.plan()
    says = {"": "runner draft", "/review": "runner run --review prompt", "/log": "runner"}
    for path in PAGES:
        assert look_for_faults(tab, here + path) == []
        assert says.get(path, "") in tab.text
    assert look_for_faults(tab, f"{site.origin}/open") == []
    assert "runner serve --link" in tab.text
