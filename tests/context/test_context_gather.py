"""What stands in a brief beside the task's own words."""

import re

from context_build import a_tree
from settings_of import settings_of

from runner.config.settings import Settings
from runner.context.brief import Parts, compose_brief, open_since
from runner.context.gather import surroundings_of
from runner.journal.task_state import Try
from runner.model import Finding, Level, Severity, Spec, Task, TaskPlan, TestContract

KEY = "".join(("gh", "p_", *(f"{chr(65 + n)}{n % 10}{chr(97 + n)}" for n in range(12))))


def a_task(**fields):
    given = {"id": "TASK-002", "title": "Booking model", "line": 1, "spec": Spec("", "")}
    return Task(**{**given, **fields})


def section(text, title):
    """What stands under one heading."""
    match = re.search(rf"(?ms)^## {re.escape(title)}\n\n(.*?)(?=^## |\Z)", text)
    return match[1].strip() if match else None


def a_brief(tmp_path, texts, *, attempt=1, settings=None, plan=None, tokens=8000, **fields):
    """A brief with the surroundings that a tree of these files gives."""
    settings = settings or Settings()
    tree = a_tree(texts)
    task = a_task(**fields)
    around = surroundings_of(tmp_path, tree, task, settings, plan=plan)
    return compose_brief(Parts(task, attempt, around=around), tokens=tokens)


TREE = {
    "src/store.py": "from models import Booking\n\n\nclass Store: ...\n",
    "src/models.py": "class Booking: ...\n",
    "tests/test_store.py": "def test_it_stores(): ...\n",
    "skills/house-style/SKILL.md": "---\nname: house-style\ndescription: Ours.\n---\nBe kind.\n",
}
STORE = {
    "title": "Fix the store",
    "outputs": ("src/store.py",),
    "test_contracts": (
        TestContract("TC-002", Level.UNIT, "python -m pytest -q tests/test_store.py"),
    ),
}


def test_a_brief_holds_type_tests_skills_decisions_files_and_index(tmp_path):
    (tmp_path / "artifacts/build").mkdir(parents=True)
    (tmp_path / "artifacts/build/DECISIONS.md").write_text(
        "## DECISION-004: Versions\nTask: TASK-002\nContext: Locks.\nDecision: Count.\n"
    )
    brief = a_brief(tmp_path, TREE, **STORE)
    assert "- Type: bugfix (title: fix)\n" in brief.text
    assert "- Write a test that shows the bug first" in section(brief.text, "How to work")
    assert section(brief.text, "Existing tests") == (
        "### TC-002: `tests/test_store.py`\n\n```python\ndef test_it_stores(): ...\n```"
    )
    skills = section(brief.text, "Skills")
    assert "- house-style: Ours. (`skills/house-style/SKILL.md`)" in skills
    assert "Be kind." not in brief.text
    assert section(brief.text, "Earlier decisions") == (
        "### DECISION-004: Versions (made for this task)\n\nCount.\n\nBecause: Locks."
    )
    files = section(brief.text, "Context files")
    assert files.startswith("### `src/store.py` (named by the task)\n\n```python\nfrom models")
    assert "### `src/models.py` (imports a file of this task, or is imported by one)" in files
    assert "tests/test_store.py" not in files
    index = section(brief.text, "File index (path | exported names | lines)")
    assert "src/store.py | Store | 4\n" in index
    assert brief.kind == "bugfix (title: fix)"
    assert "house-style" in [skill.name for skill in brief.skills]


def test_each_part_is_counted_and_the_parts_are_the_whole(tmp_path):
    brief = a_brief(tmp_path, TREE, **STORE)
    names = [part.name for part in brief.parts]
    assert names == [
        *("task", "type", "scope", "proof", "tests", "skills", "files", "index", "reporting"),
    ]
    assert abs(sum(part.tokens for part in brief.parts) - brief.tokens) <= len(names)
    assert all(part.tokens > 0 for part in brief.parts)


def test_context_files_have_the_budget_of_the_settings_and_the_index_its_own(tmp_path):
    texts = {f"src/m{n}.py": f"def f{n}(): ...\n" + "x = 1\n" * 200 for n in range(120)}
    brief = a_brief(
        tmp_path, texts, settings=settings_of(context_tokens=1000), outputs=("src/m5.py",)
    )
    cost = {part.name: part.tokens for part in brief.parts}
    assert 500 < cost["files"] <= 1100
    assert 500 < cost["index"] <= 830


def test_a_plan_says_what_may_be_written_and_which_files_are_shown(tmp_path):
    plan = TaskPlan(steps=("Read",), files=("src/models.py",), type="refactor")
    task = a_task(title="Something odd")
    around = surroundings_of(tmp_path, a_tree(TREE), task, Settings(), plan=plan)
    brief = compose_brief(Parts(task, 1, around=around, plan="# Plan\n\n1. Read\n"))
    told = section(brief.text, "The approved plan")
    assert told == (
        "If you change a file that the plan does not name, the attempt fails.\n\n"
        "```markdown\n# Plan\n\n1. Read\n```"
    )
    assert "### `src/models.py` (named by the plan)" in section(brief.text, "Context files")
    assert brief.kind == "refactor (plan: refactor)"
    assert "plan-mode" not in [skill.name for skill in brief.skills]


def test_after_the_second_failure_only_what_still_refuses_is_told_with_its_age():
    findings = (
        Finding("TC-002", "1 failed"),
        Finding("sast", "look at this", severity=Severity.WARNING),
    )
    second = compose_brief(Parts(a_task(), 2, findings=findings), failed=1)
    assert "look at this" in section(second.text, "What failed before")
    third = compose_brief(Parts(a_task(), 3, findings=findings, since={"TC-002": 1}), failed=2)
    assert section(third.text, "What failed before") == (
        "### 1. TC-002 (error), open since attempt 1\n\n1 failed"
    )
    assert third.findings == findings[:1]


def test_a_check_is_open_since_the_first_of_the_attempts_that_it_failed_without_a_break():
    tries = [
        Try(1, "", ("TC-001", "lint")),
        Try(2, "", ("TC-001",)),
        Try(4, "", ("TC-001", "lint")),
    ]
    assert open_since(tries) == {"TC-001": 1}
    assert open_since(tries[:1]) == {}
    assert open_since([]) == {}


def test_a_migration_is_asked_for_a_test_that_reads_old_data(tmp_path):
    asked = section(a_brief(tmp_path, {}, type="migration", outputs=("a.sql",)).text, "How to work")
    assert asked.endswith("a test whose name says that old data is still readable.")
    told = a_brief(tmp_path, {}, type="data", outputs=("a.py",)).text
    assert "Required here" not in section(told, "How to work")
    assert "- Type: data\n" in told


def test_inputs_that_may_not_be_read_are_said_to_be_left_out(tmp_path):
    told = a_brief(tmp_path, {".env": "A=1\n"}, inputs=(".env", "gone.py"))
    assert section(told.text, "Files to read") == (
        "- `.env`\n- `gone.py`\n"
        "- (.env is private and not shown)\n- (gone.py is not shown: not tracked by git)"
    )


def test_no_secret_comes_through_from_what_surrounds_the_task(tmp_path):
    (tmp_path / "artifacts/build").mkdir(parents=True)
    (tmp_path / "artifacts/build/DECISIONS.md").write_text(
        f"## DECISION-001: x\nTask: TASK-002\nDecision: use {KEY}\n"
    )
    texts = {path: f"{text}# {KEY}\n" for path, text in TREE.items()}
    texts["skills/web/SKILL.md"] = f"---\nname: web\ndescription: with {KEY}\n---\n"
    text = a_brief(tmp_path, texts, **STORE).text
    assert KEY not in text
    assert text.count("[REDACTED:github]") >= 5


def test_where_patterns_had_to_be_searched_and_none_fits_that_is_said():
    brief = compose_brief(Parts(a_task(), 1, searched=("2 patterns", "domain auth")))
    assert section(brief.text, "Patterns to follow") == (
        "No pattern fits (searched: 2 patterns, domain auth)."
    )


def test_the_text_of_the_tests_is_that_of_each_contract_a_folders_first_ones(tmp_path):
    texts = {f"tests/test_{n}.py": f"def test_{n}(): ...\n" for n in range(9)}
    texts["tests/data.json"] = "{}\n"
    contracts = (
        TestContract("TC-001", Level.UNIT, "tests/test_8.py::test_8"),
        TestContract("TC-002", Level.UNIT, "python -m pytest -q tests"),
    )
    told = section(a_brief(tmp_path, texts, test_contracts=contracts).text, "Existing tests")
    assert told.startswith("### TC-001: `tests/test_8.py`\n\n```python\ndef test_8(): ...")
    assert "### TC-002: `tests/test_0.py`" in told
    assert "data.json" not in told
