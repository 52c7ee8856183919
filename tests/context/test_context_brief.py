import re

from runner.context.brief import Parts, compose_brief
from runner.context.patterns import MatchedPattern
from runner.model import (
    Contract,
    Finding,
    GateSpec,
    Level,
    Severity,
    Spec,
    Task,
    TestContract,
)

KEY = "".join(("gh", "p_", *(f"{chr(65 + n)}{n % 10}{chr(97 + n)}" for n in range(12))))


def a_task(**fields):
    return Task(id="TASK-002", title="Booking model", line=1, spec=Spec("", ""), **fields)


def section(text, title):
    """What stands under one heading."""
    match = re.search(rf"(?ms)^## {re.escape(title)}\n\n(.*?)(?=^## |\Z)", text)
    return match[1].strip() if match else None


def test_a_whole_brief_reads_as_it_should():
    task = a_task(
        type="data",
        prose="An end is after its start.",
        acceptance=("an end before its start is refused",),
        outputs=("src/models.py", "tests/**"),
        inputs=("docs/model.md",),
        test_contracts=(TestContract("TC-002", Level.UNIT, "pytest -q"),),
        contracts=(Contract("schema", "a.json = m:Booking"),),
        gates=(GateSpec("lint", "ruff check src"),),
        keywords=("validation",),
        changes=("CHANGE-003 (2026-11-21): whole hours only",),
    )
    brief = compose_brief(
        Parts(
            task,
            1,
            plan_title="Booking service",
            dependencies=tuple({"TASK-001": "Setup"}.items()),
            gates=(GateSpec("lint", "flake8"), GateSpec("types", "mypy")),
            coverage=70,
        )
    )
    assert brief.text.startswith("# TASK-002: Booking model\n\n- Plan: Booking service\n")
    assert (
        "- Builds on finished tasks: TASK-001 Setup\n\nAn end is after its start.\n" in brief.text
    )
    assert section(brief.text, "Acceptance") == "- an end before its start is refused"
    assert section(brief.text, "Requested changes") == (
        "> CHANGE-003 (2026-11-21): whole hours only"
    )
    assert section(brief.text, "Files you may write").startswith("- `src/models.py`\n- `tests/**`")
    assert section(brief.text, "Files to read") == "- `docs/model.md`"
    proof = section(brief.text, "Proof")
    assert proof.splitlines()[-6:] == [
        "- TC-002 (unit): `pytest -q`",
        "- contract schema: `a.json = m:Booking`",
        "- gate types: `mypy`",
        "- gate lint: `ruff check src`",
        "",
        "Write tests that execute at least 70 % of the lines you write.",
    ]
    assert "DECISION: <title>" in section(brief.text, "Decisions")
    assert section(brief.text, "What failed before") is None


def test_a_check_is_told_that_it_may_write_nothing_and_any_that_it_may_write_all():
    assert "is a check" in section(compose_brief(Parts(a_task(), 1)).text, "Files you may write")
    anything = compose_brief(Parts(a_task(outputs=("any",)), 1)).text
    assert section(anything, "Files you may write").startswith("Any file that the task needs.")


def test_what_failed_is_told_with_place_hint_and_output_the_gravest_first():
    findings = (
        Finding("sast", "look at this", severity=Severity.WARNING),
        Finding("TC-002", "1 failed", "tests/t.py", 12, hint="read it", detail="x\n```\nE  boom"),
    )
    brief = compose_brief(Parts(a_task(), 2, findings=findings))
    told = section(brief.text, "What failed before")
    assert told.startswith("### 1. TC-002 (error) at `tests/t.py:12`\n\n1 failed\n\nHint: read it")
    assert "````text\nx\n```\nE  boom\n````" in told
    assert told.endswith("### 2. sast (warning)\n\nlook at this")
    assert brief.findings == findings


def test_the_attempt_before_is_shown_as_a_diff():
    brief = compose_brief(Parts(a_task(), 2, previous="-a\n+b\n"))
    assert "```diff\n-a\n+b\n```" in section(brief.text, "The previous attempt")
    assert brief.previous == "-a\n+b\n"


def test_patterns_come_with_their_text_or_the_reason_it_is_missing():
    patterns = (
        MatchedPattern("PATTERN-001", "Locking", "# Locking\nUse versions."),
        MatchedPattern("PATTERN-002", "Gone", note="patterns/x.md not found"),
    )
    told = section(compose_brief(Parts(a_task(), 1, patterns=patterns)).text, "Patterns to follow")
    assert "### PATTERN-001: Locking\n\n```markdown\n# Locking" in told
    assert "(not shown: patterns/x.md not found)" in told


def test_no_secret_and_nothing_invisible_comes_through_anywhere():
    hidden = "s3cr3t" + "-value"
    dirty = f"{KEY} {hidden} \u202e\x1b[2K"
    brief = compose_brief(
        Parts(
            a_task(
                prose=dirty,
                acceptance=(dirty,),
                changes=(dirty,),
                inputs=(dirty,),
                type=dirty,
                test_contracts=(TestContract("TC-1", Level.UNIT, dirty),),
            ),
            2,
            findings=(Finding("c", dirty, hint=dirty, detail=dirty),),
            patterns=(MatchedPattern("P", dirty, dirty),),
            previous=dirty,
            plan_title=dirty,
            dependencies=tuple({"TASK-001": dirty}.items()),
            gates=(GateSpec("g", dirty),),
        ),
        known_secrets=(hidden,),
    )
    for text in (brief.text, brief.previous):
        assert KEY not in text
        assert hidden not in text
    assert "\x1b" not in brief.text
    assert "\u202e" not in brief.text


def test_a_key_at_the_place_where_a_text_is_cut_is_not_shown_by_half():
    lines = ["x" * 90] * 33
    for shift in range(0, 60, 7):
        detail = "y" * shift + KEY + "\n" + "\n".join(lines)
        brief = compose_brief(Parts(a_task(), 2, findings=(Finding("c", "m", detail=detail),)))
        assert KEY[-12:] not in brief.text


def test_a_long_brief_is_bounded_and_keeps_the_task_s_own_words():
    prose = "Own words.\n" * 500
    findings = tuple(Finding(f"c{n}", "m" * 5000, detail="d\n" * 50_000) for n in range(50))
    patterns = tuple(MatchedPattern(f"P{n}", "t", "p\n" * 50_000) for n in range(3))
    brief = compose_brief(
        Parts(
            a_task(prose=prose), 2, findings=findings, patterns=patterns, previous="+d\n" * 100_000
        )
    )
    assert len(brief.text) <= 8000 * 4
    assert brief.text.count("Own words.") == 500
    assert "more" in section(brief.text, "What failed before").splitlines()[-1]


def test_a_draft_that_is_too_long_to_be_a_patch_is_not_handed_over_cut():
    brief = compose_brief(Parts(a_task(), 2, previous="+d\n" * 400_000))
    assert brief.previous == ""
    assert "more characters)" in section(brief.text, "The previous attempt")


def test_names_that_would_break_out_of_markdown_do_not():
    text = compose_brief(Parts(a_task(outputs=("a`b``c", "d\ne")), 1)).text
    assert "- ``` a`b``c ```\n- `d\\ne`" in text
