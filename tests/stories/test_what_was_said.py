"""What an implementer says reaches the documents as it said it, and nothing else does."""

import json

from workplace import a_task

SAYS = (
    "printf 'DECISION: Text files\\nContext: they are small\\n\\nMore of no decision.\\n"
    "Wrote the file and its test.\\n'; echo a > a.txt"
)


def test_the_status_line_of_a_done_task_notes_what_its_implementer_said_last(workplace):
    workplace.plan(
        a_task(
            "TASK-001", "Fix the file", outputs=["a.txt"], command=SAYS, tests=["test -f a.txt"]
        ),
        a_task(
            "TASK-002",
            "Say nothing",
            needs=["TASK-001"],
            blocks={"b.txt": "b\n"},
            tests=["test -f b.txt"],
        ),
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    checkpoint = workplace.read("artifacts/build/CHECKPOINT.md")
    first, second = checkpoint.split("--- Task")[1:3]
    assert "Notes: Wrote the file and its test.\n" in first
    assert "Notes: —\n" in second
    decisions = workplace.read("artifacts/build/DECISIONS.md")
    assert "Context: they are small\n" in decisions
    assert "no decision" not in decisions


def test_show_tells_the_type_that_a_task_is_taken_for(workplace):
    workplace.plan(a_task("TASK-001", "Fix the total", blocks={"b.txt": "b\n"}))
    assert "Type            bugfix (title: fix)" in workplace.runner("show", "TASK-001").out
    shown = json.loads(workplace.runner("show", "TASK-001", "--json").out)
    assert shown["detectedType"] == "bugfix (title: fix)"
    assert (shown["detectedKind"], shown["detectedDomain"]) == ("bugfix", None)


def test_show_tells_what_a_type_in_other_words_is_taken_for(workplace):
    rows = {
        "bugfix": "bugfix",
        "fix": "fix, taken for bugfix",
        "sorcery": "sorcery, taken for bugfix (title: fix)",
    }
    workplace.plan(
        *(
            a_task(
                f"TASK-00{n}", "Fix the total", fields=[f"Type: {one}"], blocks={f"{n}.txt": "b"}
            )
            for n, one in enumerate(rows, 1)
        )
    )
    for number, shown in enumerate(rows.values(), 1):
        told = workplace.runner("show", f"TASK-00{number}").out
        assert f"Type            {shown}\n" in told
