"""What the type of a task asks of it in a run, and what the journal says of that."""

FENCE = "```"
TEST = "grep -q 3 shop.txt\n"


def a_task(title, *fields, blocks=""):
    lines = "\n".join(f"- {field}" for field in fields)
    return f"## TASK-001: {title}\n\n{lines}\n\n{blocks}\n"


def test_the_journal_shows_what_a_task_was_taken_for_and_that_patterns_were_searched(workplace):
    workplace.write(
        {
            "PATTERN_INDEX.md": "| Pattern | Title | Domain | Stack | Keywords | File |\n"
            "|---|---|---|---|---|---|\n| PATTERN-001 | Cookies | auth | | login | |\n"
        }
    )
    workplace.plan(
        a_task(
            "Users log in",
            "Output files: `login.txt`",
            "Keywords: login",
            blocks=f"{FENCE}text file=login.txt\nx\n{FENCE}",
        )
    )
    assert workplace.run("--sandbox", "none").code == 0
    (started,) = workplace.happened("attempt.started")
    assert started["task_type"] == "auth (title: log in)"
    assert started["searched"][0] == "1 pattern"
    assert {"domain auth", "keyword login"} <= set(started["searched"])
    assert started["patterns"] == ["PATTERN-001"]


def test_a_refactoring_that_changes_a_test_that_was_there_waits_for_a_person(workplace):
    workplace.commit({"shop.txt": "price 3\n", "tests/price.sh": TEST})
    workplace.plan(
        a_task(
            "Simplify the shop",
            "Type: refactor",
            "Output files: `shop.txt`, `tests/**`",
            "Command: sed -i s/3/4/ shop.txt tests/price.sh",
            "Budget: 1 attempt",
            "Test contracts:\n  - TC-001 (unit): `sh tests/price.sh`",
        )
    )
    said = workplace.run("--sandbox", "none")
    assert said.code == 3, said.said
    told = workplace.runner("show", "1").out
    assert "a refactor task changes the existing test tests/price.sh" in told
    assert workplace.landings == []


def test_a_fix_whose_test_passes_without_it_waits_for_a_person(workplace):
    workplace.commit({"shop.txt": "price 3\n", "test.txt": TEST})
    workplace.plan(
        a_task(
            "Fix the price",
            "Output files: `shop.txt`, `tests/price.sh`",
            "Command: mkdir tests; cp test.txt tests/price.sh; echo mended >> shop.txt",
            "Budget: 1 attempt",
            "Test contracts:\n  - TC-001 (unit): `sh tests/price.sh`",
        )
    )
    said = workplace.run("--sandbox", "none")
    assert said.code == 3, said.said
    assert "nothing showed that its proof can fail" in workplace.runner("show", "1").out


def test_a_migration_without_a_test_of_old_data_lands_with_a_warning(workplace):
    workplace.plan(
        a_task(
            "Store times in UTC",
            "Type: migration",
            "Output files: `migrations/0002.sql`",
            blocks=f"{FENCE}sql file=migrations/0002.sql\nselect 1;\n{FENCE}",
        )
    )
    assert workplace.run("--sandbox", "none").code == 0
    (finished,) = workplace.happened("attempt.finished")
    assert [one["check"] for one in finished["findings"]] == ["task-type"]
    assert "old data is readable" in finished["findings"][0]["message"]
