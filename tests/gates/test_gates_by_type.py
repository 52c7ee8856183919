"""What a task's type asks beside the checks of every task."""

import pytest
from gates_bench import a_story, a_task, checks_of_family
from msgspec.structs import replace

from runner.config.settings import Settings
from runner.gates import by_type
from runner.model import Level, Severity, TestContract

TEST = "def test_price():\n    assert 3\n"
CODE = {"shop.py": "price = 3\n", "tests/test_shop.py": TEST}


def findings(folder, before, after, *, reviewed=False, by_person=False, title="T", **fields):
    task = replace(a_task(**{"outputs": ("**",)} | fields), title=title)
    checks = checks_of_family("by_type", task, Settings())
    context, _ = a_story(folder, before, after, task=task, reviewed=reviewed, by_person=by_person)
    return [one for check in checks for one in by_type.prove(check, context).findings]


def test_a_refactor_that_changes_or_deletes_a_test_that_was_there_is_refused(tmp_path):
    (changed,) = findings(tmp_path, CODE, CODE | {"tests/test_shop.py": "x"}, type="refactor")
    assert changed.message == "a refactor task changes the existing test tests/test_shop.py"
    assert (changed.path, changed.severity) == ("tests/test_shop.py", Severity.QUESTION)
    (theirs,) = findings(
        tmp_path, CODE, CODE | {"tests/test_shop.py": "x"}, by_person=True, type="refactor"
    )
    assert theirs.severity is Severity.ERROR  # who wrote it is told, not asked
    assert (
        "give the task another Type (its Type says refactor, so it is a refactor)" in changed.hint
    )
    (gone,) = findings(tmp_path, CODE, {"shop.py": "price = 3\n"}, type="refactor")
    assert "deletes the existing test tests/test_shop.py" in gone.message


def test_a_refactor_may_change_code_and_bring_new_tests(tmp_path):
    after = CODE | {"shop.py": "price = 1 + 2\n", "tests/test_more.py": TEST}
    assert findings(tmp_path, CODE, after, type="refactor") == []


def test_a_test_that_the_task_lists_exactly_only_warns_where_a_person_sees_the_change(tmp_path):
    after = CODE | {"tests/test_shop.py": "import other\n" + TEST}
    told = {"type": "refactor", "outputs": ("tests/test_shop.py",)}
    assert [one.severity for one in findings(tmp_path, CODE, after, **told)] == [Severity.QUESTION]
    seen = findings(tmp_path, CODE, after, reviewed=True, **told)
    assert [one.severity for one in seen] == [Severity.WARNING]
    glob = {"type": "refactor", "outputs": ("tests/**",)}
    assert findings(tmp_path, CODE, after, reviewed=True, **glob)[0].refuses


@pytest.mark.parametrize(
    ("named", "severity"),
    [("tests/test_shop.py", Severity.WARNING), ("tests/**", Severity.QUESTION)],
)
def test_a_test_that_the_plan_says_to_change_is_what_was_asked_for(tmp_path, named, severity):
    after = CODE | {"tests/test_shop.py": "import other\n" + TEST}
    told = {"type": "refactor", "changes_tests": (named,)}
    assert [one.severity for one in findings(tmp_path, CODE, after, **told)] == [severity]


def test_what_the_title_tells_holds_as_what_the_type_says_and_other_types_are_not_asked(tmp_path):
    after = CODE | {"tests/test_shop.py": "x"}
    assert findings(tmp_path, CODE, after, title="Refactor the shop")[0].refuses
    assert findings(tmp_path, CODE, after, title="Refactor the shop", type="api")[0].refuses
    assert findings(tmp_path, CODE, after, title="Refactor the shop", type="feature") == []
    assert checks_of_family("by_type", a_task(type="bugfix", outputs=("a.py",)), Settings()) == ()


def test_a_migration_without_a_test_of_old_data_is_warned_of(tmp_path):
    after = CODE | {"migrations/0002.sql": "alter table x\n"}
    (asked,) = findings(tmp_path, CODE, after, type="migration")
    assert asked.message == (
        "no test of TASK-001 checks that old data is readable after the migration"
    )
    assert asked.severity is Severity.WARNING


def test_a_contract_or_a_new_test_that_says_so_is_enough(tmp_path):
    moved = CODE | {"migrations/0002.sql": "alter table x\n"}
    contract = TestContract("TC-1", Level.INTEGRATION, "pytest -q tests/test_old_rows.py")
    assert findings(tmp_path, CODE, moved, type="migration", test_contracts=(contract,)) == []
    named = moved | {"tests/test_rows.py": "def test_rows_of_before_still_read():\n    assert 3\n"}
    assert findings(tmp_path, CODE, named, type="migration") == []
    other = moved | {"tests/test_rows.py": "def test_rows():\n    old = 3\n    assert old\n"}
    assert len(findings(tmp_path, CODE, other, type="migration")) == 1


def test_a_migration_that_changed_nothing_is_asked_nothing(tmp_path):
    assert findings(tmp_path, CODE, CODE, type="migration") == []
