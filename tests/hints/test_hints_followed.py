"""Hints, followed literally: what is printed is parsed, a script does it, and the next run is good.

Each row is a repository, the command that prints the hint, and what has to be true afterwards. The
texts are not repeated here: `follow` reads what to do out of the printed hint.
"""

import re
import shlex
from dataclasses import dataclass

import pytest

HEAD = "# Plan\n\n## TASK-001: One\n\n"
OTHER = "\n## TASK-003: Three\n\n- Status: DONE\n"


def task(fields, prose="Text.\n"):
    return f"{HEAD}{fields}\n{prose}"


# --- what a person does with a printed hint --------------------------------------------


_WHERE = re.compile(r"^TASK-GRAPH\.md:(?P<line>\d+)(?::(?P<column>\d+))?: \w+: (?P<message>.*)$")
_UNINDENT = re.compile(
    r"remove the first (?:(?P<count>\d+) )?(?P<kind>tab|space)s? of this line"
    r"(?: and of the next (?P<more>\d+) lines?)?"
)


@dataclass
class Told:
    """A printed problem of the plan: line and column from 1, and its hint."""

    line: int
    column: int
    message: str
    hint: str


def problems(text):
    """What `runner validate` prints, as a person reads it."""
    found = []
    for line in text.splitlines():
        if match := _WHERE.match(line):
            column = int(match["column"] or 1)
            found.append(Told(int(match["line"]), column, match["message"], ""))
        elif line.startswith("hint: ") and found:
            found[-1].hint = line.removeprefix("hint: ")
    return found


def _unindent(lines, at, match, _):
    lead = ("\t" if match["kind"] == "tab" else " ") * int(match["count"] or 1)
    for number in range(at, at + 1 + int(match["more"] or 0)):
        lines[number] = lines[number].removeprefix(lead)


def _write_below_heading(lines, at, match, _):
    lines[at + 1 : at + 1] = ["", match["text"]]


def _write_value(lines, at, match, _):
    name, colon, _ = lines[at].partition(": ")
    lines[at] = f"{name}{colon}{match['text']}"


def _write_span(lines, at, match, _):
    before, _, after = lines[at].partition("`")
    lines[at] = f"{before}`{match['text']}`{after[after.rindex('`') + 1 :]}"


def _write_line(lines, at, match, _):
    lines[at] = match["text"]


def _write_word(lines, at, match, message):
    wrong = re.search(r'"([^"]+)"', message)[1]
    lines[at] = lines[at].replace(wrong, match["word"], 1)


def _add_section(lines, _, match, __):
    lines += [f"## {match['id']}: New", "", "- Status: DONE", ""]


def _delete_line(lines, at, _, __):
    del lines[at]


WAYS = (
    (_UNINDENT, _unindent),
    (
        re.compile(r"write (?P<text>- [\w ]+: .+?) in the list right under the heading"),
        _write_below_heading,
    ),
    (re.compile(r"write (?P<text>(?:`[^`]+`(?:, )?)+)"), _write_value),
    (re.compile(r"write it as (?P<tick>`+) ?(?P<text>.+?) ?(?P=tick)$"), _write_span),
    (re.compile(r"write (?P<text>#+ .*?)(?:, with .*)?$"), _write_line),
    (re.compile(r'did you mean "(?P<word>[^"]+)"\?$'), _write_word),
    (re.compile(r"add a section for (?P<id>TASK-\d+)"), _add_section),
    (re.compile(r"(?:for example|write [^,]*, such as) (?P<text>\S.*)$"), _write_value),
    (re.compile(r"write one of (?P<text>[^,]+)"), _write_value),
    (re.compile(r"write (?P<text>yes) or no$"), _write_value),
    (re.compile(r"keep one of them$"), _delete_line),
)
"""How a hint of `validate` reads, and what a person then does in the plan."""


def follow_in_plan(plan, one):
    """The plan after one hint of `validate`."""
    lines = plan.split("\n")
    found = ((way, match) for pattern, way in WAYS if (match := pattern.match(one.hint)))
    way, match = next(found, (None, None))
    assert way, f"no script can follow this: {one.hint}"
    way(lines, one.line - 1, match, one.message)
    return "\n".join(lines)


def follow_command(said):
    """The words of the last command that the output says to type."""
    hint = [line for line in said.splitlines() if line.startswith("hint: ")][-1]
    command = re.search(r"`(runner[^`]*)`|(?:^hint: |: )(runner.*)$", hint)
    assert command, hint
    return shlex.split(command[1] or command[2])[1:]


# --- hints of `validate`, all of one round ---------------------------------------------


GOOD = "- Output files: `a.txt`\n- Command: `echo 1 > a.txt`\n- Test contracts: `grep -q 1 a.txt`\n"
PLANS = {
    "fields behind a tab": task(
        "\t- Status: PENDING\n\t- Files: a.txt\n\t- Command: `echo 1 > a.txt`\n"
        "\t- Tests:\n\t\t- TC-001: `grep -q 1 a.txt`\n"
    ),
    "fields behind four spaces": task(
        "    Status: PENDING\n    Files: a.txt\n    Command: `echo 1 > a.txt`\n"
        "    Tests: `grep -q 1 a.txt`\n"
    ),
    "fields below the status": task(
        "- Status: PENDING\n  - Files: a.txt\n  - Command: `echo 1 > a.txt`\n"
        "  - Tests:\n    - TC-001: `grep -q 1 a.txt`\n"
    ),
    "two paths with `and`": task(GOOD.replace("`a.txt`\n", "a.txt and b.txt\n", 1)),
    "two paths with a blank": task(GOOD.replace("`a.txt`\n", "a.txt b.txt\n", 1)),
    "a path behind a code span": task(GOOD.replace("`a.txt`\n", "`a.txt` and b.txt\n", 1)),
    "an unknown dependency": task(GOOD + "- Depends on: TASK-009\n") + OTHER,
    "a mistyped field": task(GOOD.replace("Output files", "Ouput files")),
    "a mistyped status": task(GOOD + "- Status: PENDNIG\n"),
    "a need in the title": (task(GOOD) + OTHER).replace("One", "One (needs TASK-003)"),
    "a lost failure": task(GOOD.replace("grep -q 1 a.txt", "grep -q 1 a.txt || true")),
    "a status that a shell puts in": task(
        GOOD.replace("grep -q 1 a.txt", 'sh -c "grep -q 1 a.txt; echo $?"')
    ),
    "a listed task": task(GOOD) + "\n- [ ] TASK-004: Four\n",
    "a bad duration": task(GOOD + "- Timeout: soon\n"),
    "a bad percentage": task(GOOD + "- Coverage: much\n"),
    "a bad priority": task(GOOD + "- Priority: soon\n"),
    "a bad yes": task(GOOD + "- Red first: perhaps\n"),
    "a bad budget": task(GOOD + "- Budget: much\n"),
    "a bad resource": task(GOOD + "- Uses: port\n"),
    "a field given twice": task(GOOD + "- Timeout: 2 minutes\n- Timeout: 3 minutes\n"),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_after_one_round_of_the_hints_the_plan_is_good(workplace, plan):
    workplace.commit({"TASK-GRAPH.md": plan})
    said = workplace.runner("validate")
    assert said.code == 2, said.said
    found = problems(said.said)
    assert found
    for one in sorted(found, key=lambda each: -each.line):
        plan = follow_in_plan(plan, one)
    workplace.commit({"TASK-GRAPH.md": plan})
    after = workplace.runner("validate")
    assert after.code == 0, after.said


UNWRITTEN = "# Plan\n\n1. Do this\n2. Do that\n\n- [ ] Do more\n\n"


def test_items_become_tasks_by_the_headings_of_their_hint(workplace):
    workplace.commit({"TASK-GRAPH.md": UNWRITTEN + task(GOOD).removeprefix("# Plan\n\n")})
    said = workplace.runner("validate")
    (one,) = problems(said.out)
    headings = one.hint.partition("below it: ")[2].split(", ")
    sections = "\n\n".join(f"{heading}\n\n{GOOD}" for heading in headings)
    workplace.commit({"TASK-GRAPH.md": f"{task(GOOD)}\n{sections}"})
    after = workplace.runner("validate")
    assert "look like tasks" not in after.said
    assert list(workplace.statuses) == ["TASK-001", "TASK-002", "TASK-003", "TASK-004"]


# --- the line that allows refused files ------------------------------------------------


WRITES = "`echo 1 > a.txt; echo 1 > b.txt; mkdir -p d; echo 1 > d/c.txt`"
STYLES = {
    "a list": "- Status: PENDING\n- Files: a.txt\n- Command: {c}\n- Tests: `test -f d/c.txt`\n",
    "lines": "Status: PENDING\nFiles: a.txt\nCommand: {c}\nTests: `test -f d/c.txt`\n",
    "bold lines": "**Status:** PENDING  \n**Files:** a.txt  \n**Command:** {c}  \n"
    "**Tests:** `test -f d/c.txt`\n",
    "a table": "| Status | PENDING |\n|---|---|\n| Files | a.txt |\n| Command | {c} |\n"
    "| Tests | `test -f d/c.txt` |\n",
    "items below": "- Files:\n  - a.txt\n- Command: {c}\n- Tests: `test -f d/c.txt`\n",
}


@pytest.mark.parametrize("is_replaced", [True, False], ids=["replaced", "added"])
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_the_line_of_a_scope_refusal_allows_all_its_files(workplace, style, is_replaced):
    plan = task(style.replace("{c}", WRITES))
    workplace.commit({"TASK-GRAPH.md": plan})
    ended = workplace.run("--no-sandbox", "--review", "off")
    line = re.search(r"^  next: .*  (- Output files: .*)$", ended.out, re.MULTILINE)[1]
    text = workplace.read("TASK-GRAPH.md")
    lines = text.split("\n")
    at = next(number for number, one in enumerate(lines) if "Files" in one)
    lines[at : at + is_replaced] = [line]
    if is_replaced and lines[at + 1].startswith("  - "):
        del lines[at + 1]
    workplace.commit({"TASK-GRAPH.md": "\n".join(lines)})
    after = workplace.run("--no-sandbox", "--review", "off")
    assert after.code == 0, after.said
    assert workplace.read("d/c.txt") == "1\n"


def test_the_line_of_a_scope_refusal_drops_the_entry_that_was_wrong(workplace):
    plan = task("- Files: src/a.txt\n- Command: `echo 1 > a.txt`\n- Tests: `test -f a.txt`\n")
    workplace.commit({"TASK-GRAPH.md": plan})
    ended = workplace.run("--no-sandbox", "--review", "off")
    assert ended.out.count("- Output files: `a.txt`\n") == 2
    assert "hint: - Output files" not in ended.err.partition("BLOCKED")[0].partition("hint: ")[2]


# --- commands that hints name ----------------------------------------------------------


ONE = task(GOOD)
TYPED = {
    "an unknown command": ("stauts",),
    "a task as a command": ("TASK-001",),
    "an unknown task": ("show", "TASK-009"),
    "verify without a task": ("verify",),
    "retry without a task": ("retry",),
    "replay without a task": ("replay",),
    "no attempt to wait for": ("approve", "TASK-001"),
    "nothing drafted": ("adopt", "TASK-001"),
    "change without a terminal": ("change", "TASK-001", 'it\'s $? and "more"'),
    "gate without trust": ("gate", "--base", "HEAD", "--quick"),
    "nothing named to approve": ("approve",),
    "no run to cancel": ("cancel", "TASK-001"),
    "evidence of an unbuilt task": ("evidence", "TASK-001"),
    "evidence to run without a file": ("evidence", "--run"),
    "a waiver without a reason": ("waive", "TASK-001"),
    "a replay to verify without a task": ("replay", "--verify"),
    "a trial that is no dry run": ("run", "TASK-001", "--with-implementer"),
    "a pattern of no decision": ("plan", "pattern", "accept", "x"),
    "owners to write": ("plan", "ownership", "--write"),
    "a scan of no file": ("pipeline", "sast-scan"),
    "no file to hold out": ("hold-out", "TASK-001"),
    "a team without a store": ("team", "queue", "list"),
}


@pytest.mark.parametrize("typed", TYPED.values(), ids=TYPED)
def test_the_command_of_a_hint_is_taken(workplace, typed):
    """It is not refused for how it is written, and does not end with the hint that named it."""
    workplace.commit({"TASK-GRAPH.md": ONE})
    said = workplace.runner(*typed)
    assert said.code, said.said
    hint = [line for line in said.err.splitlines() if line.startswith("hint: ")][-1]
    if found := re.search(r'did you mean "(\w+)"', hint):
        words = (found[1], *typed[1:])
    else:
        words = follow_command(said.err)
    after = workplace.runner(*words)
    assert "unrecognized arguments" not in after.said
    assert hint not in after.said


def test_a_change_that_needs_a_yes_is_recorded_by_its_hint(workplace):
    """With its text, as a shell takes it."""
    workplace.commit({"TASK-GRAPH.md": ONE})
    text = 'it\'s "$?" and $HOME'
    said = workplace.runner("change", "TASK-001", text)
    assert workplace.runner(*follow_command(said.err)).code == 0
    assert text in workplace.read("TASK-GRAPH.md")
