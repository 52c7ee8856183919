"""What a scripted agent answers badly is refused with its line, and no byte or id is lost by it."""

from wish_drafts import GOOD, MINE, plan_of, with_line
from workplace import a_task

from runner.app.draft import drafting

OPEN = a_task(
    "TASK-003", "Open", outputs=["open.py"], command="true", tests=["python3 -c 'import open'"]
)


OUT, TEST, NEEDS = (
    "`export.py`, `tests/test_export.py`",
    "`python3 -m unittest -q tests.test_export`",
    "- Depends on: TASK-007",
)
SECOND = "\n## TASK-009: More\n\n- Output files: `export.py`\n- Test contracts:\n  - TC-009: `python3 -c 'import export'`\n"  # noqa: E501
MANY = "".join(f"## TASK-{at:03d}: M\n\n- Output files: `m{at}.txt`\n\n" for at in range(100, 170))
REFUSED = {
    "nothing": ("I cannot do that.", 1, "no fenced block"),
    "empty": ("", 1, "no fenced block"),
    "an empty block": ("~~~~markdown draft\n~~~~\n", 1, "no task found"),
    "prose alone": ("~~~~markdown draft\nWords.\n~~~~\n", 1, "no task found"),
    "json": ('```json draft\n{"tasks": []}\n```', 1, "no task found"),
    "an id of the plan": (with_line("TASK-008: Export", "TASK-007: Export"), 1, "is or was another"),  # noqa: E501
    "an id that prose names": (GOOD.replace("TASK-008", "TASK-050"), 1, "is or was another"),
    "an id twice": (with_line("Write it plainly.", "\n## TASK-008: Again\n\n- Output files: `b.txt`"), None, "duplicate task ID"),  # noqa: E501
    "an id of another kind": (GOOD.replace("TASK-008", "T08"), 1, "not a valid new id"),
    "an unknown dependency": (with_line(NEEDS, "- Depends on: TASK-404"), 3, "TASK-404"),
    "itself": (with_line(NEEDS, "- Depends on: TASK-008"), 3, "cycle"),
    "a circle": (with_line(NEEDS, "- Depends on: TASK-009") + "", 3, "TASK-009"),
    "a misspelt dependency": (with_line(NEEDS, "- Blocked by: TASK-007"), 3, "Blocked by"),
    "an absolute path": (with_line(OUT, "`/etc/passwd`"), 4, "/etc/passwd"),
    "a path outside": (with_line(OUT, "`../up.py`"), 4, "../up.py"),
    "git's own": (with_line(OUT, "`.git/config`"), 4, ".git"),
    "a hook": (with_line(OUT, "`.git/hooks/pre-commit`"), 4, ".git"),
    "the plan": (with_line(OUT, "`TASK-GRAPH.md`"), 4, "TASK-GRAPH.md"),
    "the journal": (with_line(OUT, "`artifacts/build/journal.jsonl`"), 4, "journal"),
    "the settings": (with_line(OUT, "`runner.toml`"), 4, "runner.toml"),
    "anything": (with_line(OUT, "any"), 4, "any"),
    "a bad glob": (with_line(OUT, "`src/[z`"), 4, "glob"),
    "too many files": (with_line(OUT, ", ".join(f"`f{n}.txt`" for n in range(30))), 4, "more than 20"),  # noqa: E501
    "a file of an open task": (with_line(OUT, "`open.py`"), 4, "both write"),
    "a file of two of its own": (with_line("Write it plainly.\n", SECOND), None, "both write"),
    "an Input nobody makes": (with_line("`mine.py`", "`nobody.py`"), 5, "nobody.py"),
    "an Input glob nobody makes": (with_line("`mine.py`", "`nobody/*.py`"), 5, "nobody/*.py"),
    "an Input before its task": (with_line("`mine.py`", "`open.py`"), 5, "before TASK-003"),
    "an Input outside": (with_line("`mine.py`", "`/etc/shadow`"), 5, "/etc/shadow"),
    "a test module nobody writes": (with_line(TEST, "`python3 -m unittest tests.test_other`"), 9, "tests.test_other"),  # noqa: E501
    "a test file nobody writes": (with_line(TEST, "`python3 tests/test_other.py`"), 9, "tests/test_other.py"),  # noqa: E501
    "no proof": (with_line(f"- Test contracts:\n  - TC-008 (unit): {TEST}\n", ""), 1, "no test contracts"),  # noqa: E501
    "a proof that cannot fail": (with_line(TEST, "`python3 tests/test_export.py || true`"), 9, "cannot fail"),  # noqa: E501
    "a proof into a pipe": (with_line(TEST, "`python3 tests/test_export.py | tee x`"), 9, "TC-008"),
    "an empty proof": (with_line(TEST, "``"), 9, "no command"),
    "prose as a proof": (with_line(f"TC-008 (unit): {TEST}", "it should work well"), 9, "bad test contract"),  # noqa: E501
    "an unknown level": (with_line("(unit)", "(cosmic)"), 9, "unknown level"),
    "a bad status": (with_line("- Priority: high", "- Status: FINE"), 11, "FINE"),
    "a bad priority": (with_line("Priority: high", "Priority: yesterday"), 11, "yesterday"),
    "a bad network": (with_line("- Priority: high", "- Network: maybe"), 11, "maybe"),
    "a bad budget": (with_line("- Priority: high", "- Budget: much"), 11, "much"),
    "a wish": ("~~~~markdown draft\n## TASK-008: Be nice\n\nPlease.\n~~~~", 1, "no output files"),
    "an interface without a contract": (with_line("- Priority: high", "- Type: api"), 11, "no contracts"),  # noqa: E501
    "too many tasks": (f"~~~~markdown draft\n{MANY}~~~~", 241, "more than 60"),
    "output files by no name": (with_line("- Output files", "- Outputs to write"), 9, "tests.test_export"),  # noqa: E501
}  # fmt: skip


def test_each_bad_draft_is_refused_with_its_line_and_nothing_waits(workplace, drafter, monkeypatch):
    assert len(REFUSED) >= 40
    monkeypatch.setattr(drafting, "ROUNDS", 1)
    prose = "See TASK-050, which is planned elsewhere.\n\n"
    done = MINE.replace("- Status: PENDING", "- Status: DONE — unproven: by hand")
    workplace.plan(prose + done, OPEN)
    workplace.commit({"mine.py": "M = 1\n"})
    before = plan_of(workplace)
    wrong = {}
    for name, (answer, line, words) in REFUSED.items():
        drafter.says(answer)
        said = workplace.runner("draft", "--trust", "a wish", "--json")
        found = said.document["mistakes"] if said.out else [{"line": 0, "text": said.err}]
        fits = any(words in one["text"] and line in (None, one["line"]) for one in found)
        if said.code != 1 or not fits or not all(one["line"] for one in found):
            wrong[name] = (said.code, found)
    assert wrong == {}
    assert plan_of(workplace) == before
    assert (
        "nothing is waiting" in workplace.runner("review").out
        or "DRAFT" not in workplace.runner("review").out
    )
