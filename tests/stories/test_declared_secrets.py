"""A declared secret that a task prints and writes in many forms is found nowhere afterwards."""

import base64
import json
import re
import urllib.parse
from pathlib import Path

import pytest
from workplace import a_task

VALUE = "Correct-Horse/77+battery"
PRINTS = """\
import base64, json, os, sys, urllib.parse
value = os.environ["SHOP_KEY"]
plain = value.encode()
forms = {
    "plain": value, "reversed": value[::-1], "hex": plain.hex(), "HEX": plain.hex().upper(),
    "b0": base64.b64encode(plain).decode(), "b1": base64.b64encode(b"u" + plain).decode(),
    "b2": base64.b64encode(b"u:" + plain).decode(), "json": json.dumps({"a": value}),
    "url": urllib.parse.quote(value, safe=""),
    "colour": value[:3] + "\\x1b[31m" + value[3:9] + "\\x1b[0m" + value[9:],
}
for name, form in forms.items():
    print(name, form, flush=True)
    print(name, form, file=sys.stderr, flush=True)
mail = base64.encodebytes(b"to whom it may concern, the key is now " + plain + b", keep it " * 9)
print(mail.decode(), flush=True)
print("folded", plain.hex()[:20], plain.hex()[20:], sep="\\n  ", flush=True)
sys.stdout.write("back " + value[:9] + "\\r" + value[9:] + "\\n")
sys.stdout.flush()
sys.stdout.buffer.write(b"wide " + value.encode("utf-16-le") + b"\\n")
"""


def forms():
    """What gives it away, in bytes, whatever it stands in."""
    plain = VALUE.encode()
    found = {plain, plain[::-1], plain.hex().encode(), plain.hex().upper().encode()}
    found |= {base64.b64encode(b"u:"[:n] + plain)[4:-4] for n in range(3)}
    found |= {urllib.parse.quote(VALUE, safe="").encode(), VALUE.encode("utf-16-le")}
    return found | {json.dumps(VALUE)[1:-1].encode(), b"[31mrect-H", plain[3:9] + b"\x1b[0m"}


@pytest.fixture
def leaking(workplace, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", VALUE)
    workplace.settle('sandbox.secrets = ["SHOP_KEY"]\n')
    workplace.write({"prints.py": PRINTS})
    return workplace


def unfolded(content):
    """Without ends of lines, as they stand and as JSON and XML write them."""
    return re.sub(rb"\r?\n[ \t]*|\r|\\[nr]|&#(?:10|13|xA|xD);", b"", content)


def everywhere(place, *more):
    """Every file below the repository and the person's home, git's objects opened, and texts."""
    yield "objects", place.objects()
    yield from more
    for top in (place.root, place.home):
        for path in sorted(top.rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield str(path), path.read_bytes()


def test_it_leaves_by_no_form_and_at_no_place(leaking, tmp_path):
    fields = ("Requires: secret SHOP_KEY", "Gates:\n  - look: `python3 prints.py`")
    leaking.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="python3 prints.py && echo done > a.txt",
            tests=["python3 prints.py"],
            fields=fields,
        ),
        a_task(
            "TASK-002",
            outputs=["b.txt"],
            command="python3 prints.py && echo $RUNNER_ATTEMPT > b.txt",
            tests=["sh -c 'python3 prints.py; exit 1'"],
            fields=(*fields, "Budget: 2 attempts"),
        ),
    )
    reports = tmp_path / "reports"
    reports.mkdir()
    words = ("--junit", str(reports / "junit.xml"), "--sarif", str(reports / "out.sarif"))
    ended = leaking.run(*words, "-v")
    assert leaking.statuses["TASK-001"] == "DONE", ended.said
    assert any(branch.startswith("draft/TASK-002") for branch in leaking.branches), ended.said
    shown = [("terminal", ended.said.encode())]
    shown += [(path.name, path.read_bytes()) for path in reports.iterdir()]
    assert len(shown) == 3
    for words in (("show", "2"), ("evidence", "1"), ("log",), ("brief", "2"), ("why", "2")):
        shown.append((words[0], leaking.runner(*words).said.encode()))
        shown.append((f"{words[0]} json", leaking.runner(*words, "--json").said.encode()))
    for name, content in everywhere(leaking, *shown):
        for form in forms():
            assert form not in content, (name, form)
            assert form not in unfolded(content), (name, form)
    logs = [path.read_text() for path in leaking.root.rglob("logs/TASK-001/**/*.log")]
    assert any(log.count("[REDACTED:secret]") >= 10 for log in logs), logs
    assert Path(reports / "junit.xml").stat().st_size > 0


def test_a_file_that_holds_it_does_not_land(leaking):
    line = "import os; value = os.environ['SHOP_KEY']; open('a.txt', 'w').write(value[::-1])"
    leaking.write({"writes.py": line})
    leaking.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="python3 writes.py",
            fields=("Requires: secret SHOP_KEY", "Budget: 1 attempt"),
        )
    )
    ended = leaking.run()
    assert leaking.statuses["TASK-001"] == "BLOCKED", ended.said
    for name, content in everywhere(leaking, ("terminal", ended.said.encode())):
        for hidden in forms():
            assert hidden not in content, (name, hidden)


QUOTED = "qui\\et \"A&B\" 'née' <7>"
FAILS = """\
import os

import pytest

KEY = os.environ["SHOP_KEY"]


@pytest.mark.parametrize("key", [KEY])
def test_key(key):
    assert {"key": key} == {}


def test_sent():
    raise ValueError(KEY.encode(), f"said {KEY} and '")
"""


def test_what_a_test_prints_as_a_literal_or_in_a_report_is_nowhere(leaking, monkeypatch, tmp_path):
    monkeypatch.setenv("SHOP_KEY", QUOTED)
    leaking.write({"test_key.py": FAILS})
    leaking.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="echo $RUNNER_ATTEMPT > a.txt",
            tests=["python3 -m pytest -q -vv -rN -p no:cacheprovider test_key.py"],
            fields=("Requires: secret SHOP_KEY", "Budget: 1 attempt"),
        )
    )
    ended = leaking.run("--junit", str(tmp_path / "junit.xml"), "-v")
    assert leaking.statuses["TASK-001"] == "BLOCKED", ended.said
    shown = [("terminal", ended.said.encode()), ("report", (tmp_path / "junit.xml").read_bytes())]
    for name, content in everywhere(leaking, *shown):
        for part in (rb"qui\et", rb"qui\\et", rb"qui\\\\et", b"A&amp;B", rb"\xe9e", rb"\xc3\xa9e"):
            assert part not in content, (name, part)
    assert "test_sent" in ended.said


def test_what_a_person_says_is_written_down_without_it(leaking):
    fields = ("Requires: secret SHOP_KEY", "Review: prompt")
    leaking.plan(
        a_task("TASK-001", outputs=["a.txt"], command="echo 1 > a.txt", tests=["test -s a.txt"],
               fields=fields),
        a_task("TASK-002", outputs=["b.txt"], command="echo 1 > b.txt", tests=["false"]),
    )  # fmt: skip
    leaking.run()
    said = [
        leaking.runner("reject", "1", "--reason", f"not with {VALUE}"),
        leaking.runner("retry", "2", "--reason", f"with {VALUE}"),
        leaking.runner("decide", f"{VALUE} it is"),
        leaking.runner("change", "2", f"with {VALUE}, too"),
        leaking.runner("waive", "2", "--reason", f"{VALUE} works"),
        leaking.run(),
    ]
    assert [one.code for one in said[:4]] == [0, 1, 0, 3], [one.said for one in said]
    shown = [(str(at), one.said.encode()) for at, one in enumerate(said)]
    for name, content in everywhere(leaking, *shown):
        assert VALUE.encode() not in content, name
    reasons = [event["reason"] for event in leaking.happened("write.rejected")]
    assert reasons == ["not with [REDACTED:secret]"]


# --- in the names of files -----------------------------------------------------------------------


def a_key():
    return "ghp" + "_" + "".join(chr(ord("a") + n % 26) + str(n % 10) for n in range(7, 25))


@pytest.mark.parametrize("outputs", ["a.txt", "any"])
def test_a_key_that_a_command_names_a_file_by_is_kept_nowhere(workplace, monkeypatch, outputs):
    half = len(a_key()) // 2
    parts = a_key()[:half], a_key()[half:]
    line = f"echo bad > a.txt; touch {parts[0]}$(printf {parts[1]})"
    unproven = ["Proof: none — a mark"]
    workplace.plan(a_task("TASK-001", outputs=[outputs], command=line, fields=unproven))
    ended = workplace.run("--no-sandbox", "--review", "off")
    assert ended.code == 1
    assert a_key() not in ended.said
    build = workplace.root / "artifacts/build"
    told = [path for path in build.rglob("*") if path.is_file() and path.stat().st_size]
    assert not [path for path in told if a_key().encode() in path.read_bytes()]
    drafts = workplace.git("for-each-ref", "--format=%(refname)", "refs/heads/draft").split()
    assert drafts
    for draft in drafts:
        assert a_key() not in workplace.git("log", "-1", "--format=%B", "--name-only", draft)


# --- in a draft ----------------------------------------------------------------------------------

REST = "p_1b6tQ0zX9pLk" + "3mVn8cRw5yDf" + "Gh2jAeS7uKiT"
HALF_DONE = f"""\
## TASK-001: half done

- Output files: `a.*`
- Command: sh -c 'echo half > a.txt; printf "gh%s" {REST} > a.env; echo x > other.txt; exit 1'
- Budget: 1 attempt
- Test contracts:
  - TC-001 (unit): `true`
"""


def test_the_draft_of_a_command_that_failed_holds_no_secret_and_nothing_out_of_scope(workplace):
    workplace.plan(HALF_DONE)
    said = workplace.run("--sandbox", "none")
    assert said.code == 1, said.said
    (branch,) = [one for one in workplace.branches if one.startswith("draft/")]
    assert workplace.git("show", f"{branch}:a.txt") == "half"
    kept = workplace.git("ls-tree", "--name-only", branch).splitlines()
    assert "a.env" not in kept
    assert "other.txt" not in kept
    assert f"gh{REST}".encode() not in workplace.objects()
