"""A task's own plan as text: what is written is read back, and people may write it their way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.context.task_plan import files_of, plan_text, read_plan, redact_plan
from runner.model import Phase, TaskPlan

LINE = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1).map(
    lambda text: " ".join(f"x {text}".split())
)
PATHS = st.lists(st.from_regex(r"[a-z]{1,5}/[a-z`]{1,5}[a-z]\.py", fullmatch=True), max_size=3)
PHASES = st.builds(
    Phase,
    title=st.from_regex(r"[A-Z][a-z]{1,8} it", fullmatch=True),
    steps=st.lists(LINE, max_size=2).map(tuple),
    files=PATHS.map(tuple),
)
PLANS = st.builds(
    TaskPlan,
    steps=st.lists(LINE, max_size=4).map(tuple),
    files=PATHS.map(tuple),
    context=PATHS.map(tuple),
    type=st.sampled_from(["", "api", "bugfix"]),
    gates=st.lists(st.sampled_from(["TC-001", "gate:lint"]), max_size=2).map(tuple),
    phases=st.lists(PHASES, max_size=3).map(tuple),
)


@given(PLANS)
@settings(max_examples=60, deadline=None)
def test_every_plan_is_read_back_as_it_was_written(plan):
    assert read_plan(plan_text(plan, "TASK-001", "Title")) == plan


def test_a_plan_in_somebody_elses_words_is_read_too():
    told = read_plan(
        "**Type:** bugfix\n\nI looked around.\n\n"
        "### Numbered steps\n1) Read `a.py`\n   and think\n2) Mend it\n\n"
        "### Files to create or modify\n* `src/a.py` - the culprit\n* ./tests/test_a.py: new\n\n"
        "## Context files\n- b.py\n\n## Phases\n"
        "### Phase 1: Mend\n- Files: src/a.py, ./src/b.py\n- mend\n#### 2 - Prove\n- prove\n"
    )
    assert told == TaskPlan(
        steps=("Read `a.py` and think", "Mend it"),
        files=("src/a.py", "tests/test_a.py"),
        context=("b.py",),
        type="bugfix",
        phases=(Phase("Mend", ("mend",), ("src/a.py", "src/b.py")), Phase("Prove", ("prove",))),
    )


def test_what_is_no_plan_has_nothing():
    assert read_plan("Done, all is well.\n") == TaskPlan(())


def test_every_text_of_a_plan_is_cleaned_and_no_path_comes_twice():
    plan = TaskPlan(("use\nKEY now", " "), ("./a.py", "a.py"), phases=(Phase("KEY", (), ("b",)),))
    clean = redact_plan(plan, lambda text: text.replace("KEY", "***"))
    assert clean == TaskPlan(("use *** now",), ("a.py",), phases=(Phase("***", (), ("b",)),))
    assert files_of(clean) == ("a.py", "b")
