"""The page in a browser: it works, follows a build live, and has no accessibility fault."""

import contextlib
import http.server
import json
import re
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
from held_out_plans import WRONG, planned
from site_plans import GREET, HOSTILE, NOTE, journal

TOLD = re.compile("has nothing to approve|changed since you saw it|is already answered")
ENTERED = "!!sessionStorage.getItem('runner-secret') && !!window.htmx"


def at(person, site, path=""):
    """A tab of somebody who opened a link, on a page of the build."""
    tab = person.tab()
    tab.enter(site.new_link())
    tab.go(f"{site.origin}/b/{site.build}{path}")
    tab.until(ENTERED)
    return tab


def from_the_page(workplace, kind):
    return [one for one in journal(workplace, kind) if " via page by " in one["producer"]]


def test_a_held_write_is_approved_with_a_key(workplace, held, person):
    tab = person().tab()
    tab.enter(held.new_link())
    assert "#" not in tab.script("location.href")
    tab.until("document.body.innerText.includes('Waits for you')")
    tab.go(f"{held.origin}/b/{held.build}/review/TASK-001")
    tab.until(ENTERED)
    tab.key("a")
    tab.until("document.body.innerText.includes('TASK-001 approved')")
    tab.go(f"{held.origin}/b/{held.build}")
    tab.until("document.querySelector('.figures').innerText.includes('nothing to answer')")
    assert workplace.run().code == 0
    tab.until("document.body.innerText.includes('Everything is done')")  # by itself
    assert tab.errors == []
    assert len(from_the_page(workplace, "write.reviewed")) == 1


def test_of_two_people_who_answer_at_once_one_wins_and_the_other_is_told(workplace, held, person):
    tabs = [at(person(), held, "/review/TASK-001") for _ in range(2)]
    tabs[1].type("input[name=reason]", "say good morning")
    for tab, press in zip(tabs, ("[data-press=a]", ".reject button"), strict=True):
        tab.script(f"setTimeout(() => document.querySelector('{press}').click(), 300)")
    said = [tab.until("document.querySelector('#said').innerText") for tab in tabs]
    wins = [one for one in said if one.startswith(("TASK-001 approved", "TASK-001 rejected"))]
    assert len(wins) == 1, said
    (other,) = set(said) - set(wins)
    assert TOLD.search(other), said
    answers = [from_the_page(workplace, f"write.{word}") for word in ("reviewed", "rejected")]
    assert sum(map(len, answers)) == 1


def test_of_eight_tabs_the_one_in_front_is_live_and_all_of_them_answer(workplace, held, person):
    somebody = person()
    first = at(somebody, held)
    tabs = [first]
    for _ in range(7):
        tabs.append(somebody.tab())
        tabs[-1].go(f"{held.origin}/b/{held.build}")
        tabs[-1].until(ENTERED)  # the second secret came from another tab
    assert workplace.runner("approve", "TASK-001").code == 0
    for tab in reversed(tabs):
        tab.call("Page.bringToFront")
        tab.until("document.querySelector('.figures').innerText.includes('nothing to answer')", 30)
    assert [tab.errors for tab in tabs] == [[]] * 8


def test_a_hidden_tab_closes_its_stream_and_hears_what_it_missed(workplace, held, person):
    somebody = person()
    tab = at(somebody, held)
    tab.follows(wanted=True)
    other = somebody.tab()
    tab.until("document.hidden")
    tab.follows(wanted=False)
    assert workplace.runner("approve", "TASK-001").code == 0
    assert "nothing to answer" not in tab.script("document.querySelector('.figures').innerText")
    tab.call("Page.bringToFront")
    tab.until("document.querySelector('.figures').innerText.includes('nothing to answer')")
    other.close()


def test_a_tab_goes_on_after_another_link_was_opened_beside_it(held, person):
    """Its own secret opens nothing any more, and is handed to no new tab."""
    somebody = person()
    old = at(somebody, held)
    new = at(somebody, held)
    good = new.script("sessionStorage.getItem('runner-secret')")
    old.call("Page.bringToFront")
    old.until(f"sessionStorage.getItem('runner-secret') === {json.dumps(good)}")
    old.follows(wanted=True)
    assert "This tab is read-only" not in old.text
    third = somebody.tab()
    third.go(f"{held.origin}/b/{held.build}")
    third.until(f"sessionStorage.getItem('runner-secret') === {json.dumps(good)}")


# --- a neighbour on another port ------------------------------------------------------


class Neighbour:
    """Another program's server on this host: it keeps what browsers send it."""

    def __init__(self, page):
        self.cookies = cookies = []

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                cookies.append(self.headers.get("Cookie", ""))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


TRIES = """
<!doctype html><title>a neighbour</title><form id=f method=post target=frame></form>
<iframe name=frame></iframe><script>
window.got = [];
async function tries(origin, build, seen) {
  const api = `${origin}/api/v1/builds/${build}`, body = JSON.stringify({item: "TASK-001", seen});
  const ways = {
    page: () => fetch(`${origin}/b/${build}`, {credentials: "include"}).then(a => a.text()),
    blind: () => fetch(`${origin}/b/${build}`, {credentials: "include", mode: "no-cors"})
      .then(a => a.text()),
    api: () => fetch(api, {credentials: "include"}).then(a => a.text()),
    approve: () => fetch(`${api}/approve`, {method: "POST", body, credentials: "include",
      headers: {"Content-Type": "application/json"}}).then(a => a.text()),
    plain: () => fetch(`${api}/approve`, {method: "POST", body, credentials: "include",
      mode: "no-cors"}).then(a => a.text()),
    beacon: async () => { navigator.sendBeacon(`${api}/approve`, body); return ""; },
    script: () => new Promise((good, bad) => {
      const one = document.createElement("script");
      one.src = `${origin}/static/page.js`; one.onload = () => good("ran"); one.onerror = bad;
      document.head.append(one);
    }),
    stream: () => new Promise((good, bad) => {
      const one = new EventSource(`${api}/events`, {withCredentials: true});
      one.onmessage = one.onopen = () => good("open"); one.onerror = bad;
    }),
    frame: () => new Promise((good) => {
      frames[0].location = `${origin}/b/${build}`;
      setTimeout(() => { try { good(frames[0].document.body.innerText) } catch { good("") } }, 500);
    }),
    form: async () => {
      const form = document.getElementById("f");
      form.action = `${origin}/b/${build}/do/approve`;
      form.innerHTML = `<input name=item value=TASK-001><input name=seen value="${seen}">`;
      form.submit(); return "";
    },
  };
  for (const [name, way] of Object.entries(ways)) {
    try { const text = await way(); if (text) window.got.push(`${name}: ${text.slice(0, 80)}`); }
    catch { /* refused */ }
  }
  return window.got;
}
</script>
"""


def test_a_server_on_another_port_sees_the_cookie_and_can_do_nothing(workplace, held, person):
    before = journal(workplace)
    seen = held.api(f"/builds/{held.build}/review")[1]["waiting"][0]["seen"]
    with contextlib.closing(Neighbour(TRIES.encode())) as neighbour:
        somebody = person()
        tab = at(somebody, held)
        other = somebody.tab()
        other.go(neighbour.address)
        words = ", ".join(map(json.dumps, (held.origin, held.build, seen)))
        assert other.script(f"tries({words})") == []
        stolen = next(one for one in neighbour.cookies if one)
        assert "runner-" in stolen  # cookies ignore ports: RFC 6265, section 8.5
        time.sleep(0.5)  # beacon and form were sent without waiting for an answer
    thief = {"Cookie": stolen, "X_Runner_Secret": None}
    given = {"item": "TASK-001", "seen": seen}
    assert held.post(f"/builds/{held.build}/approve", given, **thief)[0] == 401
    assert held.ask("GET", f"/api/v1/builds/{held.build}/events", Cookie=stolen)[0] == 401
    assert journal(workplace) == before
    tab.call("Page.bringToFront")
    tab.go(f"{held.origin}/b/{held.build}/review/TASK-001")
    tab.until(ENTERED)
    tab.press("[data-press=a]")  # nothing was taken from whoever is at home here
    tab.until("document.body.innerText.includes('TASK-001 approved')")


def test_two_servers_of_one_project_are_both_used_in_one_browser(workplace, held, serve, person):
    other, somebody = serve(), person()
    tabs = [at(somebody, site, "/review/TASK-001") for site in (held, other)]
    tabs[0].call("Page.bringToFront")
    tabs[0].press("[data-press=a]")
    tabs[0].until("document.body.innerText.includes('TASK-001 approved')")
    tabs[1].call("Page.bringToFront")
    tabs[1].press("[data-press=a]")
    tabs[1].until(f"/{TOLD.pattern}/.test(document.body.innerText)")
    assert len(from_the_page(workplace, "write.reviewed")) == 1


# --- texts that want to be more -------------------------------------------------------

FIELDS = (
    *("Type", "Keywords", "Stack", "Priority", "Source", "Inputs", "Patterns"),
    *("Implementer", "Command", "Proof", "Depends on"),
)


def a_hostile_task(number, text):
    """The text in a title, in each field, in prose and in what is written."""
    fields = "".join(f"- {name}: {text}\n" for name in FIELDS)
    contract = f"- Test contracts:\n  - TC-{number:03d} (unit): `echo {text}`\n"
    return (
        f"## TASK-{number:03d}: {text}\n- Status: BLOCKED — {text}\n{fields}"
        f"- Output files: `{text.replace('`', '')}`\n- Acceptance:\n  - {text}\n{contract}"
        f"\n{text}\n\n```text file=note{number}.txt\n{text}\n```\n"
    )


def test_a_script_planted_anywhere_never_runs(workplace, serve, person):
    workplace.plan(GREET, NOTE, title="<img src=x onerror=window.hit=1>")
    workplace.git("checkout", "-q", "-b", "<img/src=x/onerror=window.hit=1>")
    assert workplace.run("--review", "prompt").code == 3
    reason = " ".join(HOSTILE)  # into the journal, and so into its log
    assert workplace.runner("reject", "TASK-001", f"--reason={reason}").code == 0
    texts = sorted(HOSTILE, key=lambda text: text == "<!--")  # hides what follows in the plan
    tasks = [a_hostile_task(number, text) for number, text in enumerate(texts, start=10)]
    workplace.plan(GREET, NOTE, *tasks, title="<img src=x onerror=window.hit=1>")
    site = serve()
    tab = at(person(), site)
    pages = ["", "/review", "/review/TASK-001", "/plan", "/plan?edit", "/log", "/new"]
    pages += [f"/tasks/TASK-{number:03d}" for number in range(10, 9 + len(HOSTILE))]
    for path in pages:
        tab.go(f"{site.origin}/b/{site.build}{path}")
        assert tab.script("window.hit === undefined && document.title.length > 0"), path
        assert tab.script("document.querySelectorAll('main script, main iframe').length") == 0
        assert site.get(f"/b/{site.build}{path}")[0] == 200, path
    assert tab.errors == []


def test_failed_held_out_tests_appear_at_a_click(workplace, serve, person, monkeypatch):
    monkeypatch.setenv("RUNNER_PROOF_HELD_OUT_ROUNDS", "1")
    lines = (f"pathlib.Path({path!r}).write_text({text!r})" for path, text in WRONG.items())
    workplace.write({"build.py": "\n".join(("import pathlib", *lines))})
    planned(workplace, command="python3 build.py")
    assert workplace.run().code == 3
    tab = at(person(), serve(), "/review/TASK-001")
    assert "test_many_items" not in tab.script("document.body.innerText")
    tab.script("document.querySelector('#failed-tests button').click()")
    tab.until("document.body.innerText.includes('test_many_items')")
    tab.type("input[name=reason]", "by agreement")
    tab.script("document.querySelector('.answers .button[data-press=a]').click()")
    tab.until("document.querySelector('#said').innerText.includes('TASK-001 approved')")
    assert tab.errors == []


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
    sibling="tests/serve/test_serve_browser.py::test_empty_pages_have_no_serious_fault_and_say_what_to_type"
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
