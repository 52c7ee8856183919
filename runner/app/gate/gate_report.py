"""Report a gate's result as text, JSON, comment, annotations, SARIF and JUnit.

Branches, paths, names of tests and what they print are a stranger's: nothing of them is markup, a
mention, or obeyed by a terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from msgspec.structs import replace

from runner.app.gate.test_suite import TESTS
from runner.model import Finding
from runner.report.annotations import escape_markdown, fence_text, format_command
from runner.report.documents import document
from runner.report.sarif import of_finding, sarif_document
from runner.text.display import display
from runner.text.wording import join_few, plural, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.app.gate.measure import GateResult
    from runner.app.prove.prove_tree import Reproven
    from runner.impact.answer import Affected

MARK = "<!-- runner gate -->"
"""First line of a comment, which identifies it for later edits."""
_FAILED = re.compile(
    r"^(?P<test>\S.*?) (?:failed|error) at (?P<path>[^\s:]+):(?P<line>\d{1,9}): (?P<why>.*)$",
    re.MULTILINE,
)
"""How a check formats a failing test (`gates/check_run.format_test`)."""
_MOST_ROWS = 50
_LONGEST = 50_000
"""Characters of a comment; GitHub's limit is 65,536."""
_MOST_DETAIL = 2_000
_MOST_FAILING = 20
_REASONS = 3


def format_headline(result: GateResult) -> str:
    """Return the result in one line, such as `2 tasks, 3 tests may change`, or the conflicts."""
    merge = result.request.merge
    if merge.conflicts:
        return f"merge conflict: {join_few(list(map(display, merge.conflicts)))}"
    if result.skipped:
        return f"nothing was run: {result.skipped}"
    with_plan = result.suite is not None and result.suite.plan
    tasks = f"{plural(len(result.selected), 'task')}, " if with_plan else ""
    noun = "test contract" if with_plan else "file" if _counts_files(result) else "suite"
    rests = _rests(result)
    chosen = [id_ for one in result.selected for id_ in one.contracts if id_ in rests]
    count, total = result.count - len(chosen), result.total - len(rests)
    of = f" of {total}" if total != count else ""
    tests = plural(count, noun) + (" of tests" if noun == "file" else "")
    parts = " and ".join([f"{tests}{of}", *(f"`{display(one)}`" for one in chosen)])
    counts = f"{tasks}{parts} may be affected"
    if not result.breaks:
        return f"{counts}; nothing breaks"
    return f"{counts}; {'; '.join(map(_format_break, result.breaks[:_MOST_FAILING]))}"


def _counts_files(result: GateResult) -> bool:
    names = {one.name for one in (result.suite.frameworks.values() if result.suite else ())}
    names |= _rests(result)
    return any(id_ not in names for one in result.selected for id_ in one.contracts)


def _rests(result: GateResult) -> set[str]:
    """Return the actions of scripts other than running tests."""
    scripts = result.suite.scripts.values() if result.suite else ()
    return {one.rest for one in scripts if one.rest}


def _format_break(one: Reproven) -> str:
    contract = display(one.contract)
    who = display(one.task) if one.task != TESTS else contract
    if one.failing:
        return f"{who} breaks: {join_few(list(map(display, one.failing)), 3)}"
    why = display(next((found.message for found in one.findings if found.refuses), "failed"))
    return f"{who} breaks: {why if who == contract else f'{contract}: {why}'}"


def format_time(result: GateResult) -> str:
    """Return the duration: `3.2 s; everything takes 41.0 s`; empty if nothing ran."""
    if not result.ran:
        return ""
    took = f"{result.seconds:.1f} s"
    if result.whole:
        return f"{took} for everything"
    if result.whole_seconds is None:
        return f"{took}; the time for everything is not known yet"
    return f"{took}; everything takes {result.whole_seconds:.1f} s"


def format_base(result: GateResult) -> str:
    """Return which commits were merged; the result is valid only for these."""
    merge = result.request.merge
    name = display(result.request.base_name)
    return f"{short(merge.head)} merged into {name} at {short(merge.base)}"


# --- for a person -------------------------------------------------------------------------


def as_text(result: GateResult) -> str:
    """Return the result as text: affected tasks and reasons, failures and a summary line."""
    lines: list[str] = []
    for one in result.selected[:_MOST_ROWS]:
        lines += _lines_of(one)
    lines += [f"note: {display(note)}" for note in result.notes]
    if result.whole:
        lines.append(f"everything was run: {display(result.whole)}")
    lines.append(format_base(result))
    time = format_time(result)
    lines.append(format_headline(result) + (f" ({time})" if time else ""))
    if result.request.merge.conflicts:
        lines.append("hint: merge the base into the branch, then push it")
    return "\n".join(lines) + "\n"


def _lines_of(one: Affected) -> Iterator[str]:
    who = "" if one.task == TESTS else f"{display(one.task)}  "
    yield f"{who}{display(join_few(one.contracts, 8))}"
    for why in one.reasons[:_REASONS]:
        yield f"  {why.kind:<9}  {display(why.place)}  {display(why.text)}"
    if len(one.reasons) > _REASONS:
        yield f"  and {plural(len(one.reasons) - _REASONS, 'more reason')}"


def as_comment(result: GateResult) -> str:
    """Return the result as Markdown for a comment or a step's page, with the mark first."""
    sign = "⚠️" if result.request.merge.conflicts else "❌" if result.breaks else "✅"
    lines = [MARK, f"### {sign} {escape_markdown(format_headline(result))}", ""]
    lines.append(f"{escape_markdown(format_base(result))}.")
    if time := format_time(result):
        lines.append(f"It took {escape_markdown(time)}.")
    if result.whole:
        lines += ["", f"Everything was run: {escape_markdown(result.whole)}."]
    if result.selected:
        lines += ["", *_format_table(result)]
    lines += ["", *(f"- {escape_markdown(note)}" for note in result.notes)]
    left = _LONGEST - sum(len(line) + 1 for line in lines)
    for number, one in enumerate(result.breaks):
        broken = [*_break_lines(one)]
        left -= sum(len(line) + 1 for line in broken)
        if left < 0:
            lines += ["", f"… and {len(result.breaks) - number} more that break"]
            break
        lines += broken
    return "\n".join(lines).rstrip() + "\n"


def _format_table(result: GateResult) -> Iterator[str]:
    """Yield the rows of what may change; without a plan there is no column of tasks."""
    names_tasks = result.suite is not None and bool(result.suite.plan)
    columns = (*(("Task",) if names_tasks else ()), "May change", "Why")
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for one in result.selected[:_MOST_ROWS]:
        reasons = "; ".join(why.text for why in one.reasons[:_REASONS])
        cells = (*((one.task,) if names_tasks else ()), join_few(one.contracts, 8), reasons)
        yield f"| {' | '.join(map(escape_markdown, cells))} |"
    if (more := len(result.selected) - _MOST_ROWS) > 0:
        yield f"| … and {more} more {'| ' * (len(columns) - 1)}|"


def _break_lines(one: Reproven) -> Iterator[str]:
    yield ""
    yield f"#### {escape_markdown(_format_break(one))}"
    for test in one.failing[:_MOST_FAILING]:
        yield f"- {escape_markdown(test)}"
    for finding in one.findings:
        if finding.refuses and finding.detail:
            yield from fence_text(finding.detail[-_MOST_DETAIL:])


# --- for programs -------------------------------------------------------------------------


def as_document(result: GateResult) -> str:
    """Return the document of `runner gate --json`."""
    merge, suite = result.request.merge, result.suite
    return document(
        "gate",
        base=merge.base,
        base_name=result.request.base_name,
        head=merge.head,
        merged=merge.commit,
        conflicts=merge.conflicts,
        plan=suite.plan if suite else "",
        changes=[one.path for one in result.request.changes],
        selected=[
            {"task": one.task, "contracts": one.contracts, "reasons": one.reasons}
            for one in result.selected
        ],
        count=result.count,
        total=result.total,
        whole=result.whole,
        skipped=result.skipped,
        ran=[
            {
                "task": one.task,
                "contract": one.contract,
                "failed": one.failed,
                "failing": one.failing,
                "seconds": one.seconds,
            }
            for one in result.ran
        ],
        passed=not result.code,
        headline=format_headline(result),
        seconds=result.seconds,
        whole_seconds=result.whole_seconds,
        notes=result.notes,
    )


def workflow_commands(result: GateResult) -> Iterator[str]:
    """Yield GitHub Actions annotations: each failure at its place, then the result."""
    for path in result.request.merge.conflicts:
        yield format_command("error", "both sides changed this file", "merge conflict", path, 0)
    for finding in _find_places(result):
        title = f"{finding.check} breaks"
        yield format_command("error", finding.message, title, finding.path, finding.line)
    level = "error" if result.code else "notice"
    yield format_command(level, format_headline(result), "gate", "", 0)


def _find_places(result: GateResult) -> Iterator[Finding]:
    """Yield a finding for each failing test, placed at a changed file if its place is unknown."""
    changed = next((one.path for one in result.request.changes), "")
    for one in result.breaks:
        who = one.task if one.task != TESTS else one.contract
        refusals = [finding for finding in one.findings if finding.refuses]
        for finding in refusals or [Finding(who, "failed")]:
            failed = [*_FAILED.finditer(finding.detail)][:_MOST_FAILING]
            for match in failed:
                text = f"{match['test']}: {match['why']}"
                yield Finding(who, text, match["path"], int(match["line"]))
            if not failed:
                yield replace(finding, check=who, path=finding.path or changed)


def as_sarif(result: GateResult) -> str:
    """Return the failures as SARIF; a merge conflict is reported as a failed analysis."""
    found = map(of_finding, _find_places(result))
    conflicts = [f"merge conflict: {path}" for path in result.request.merge.conflicts]
    return sarif_document(found, failures=conflicts)


def as_junit(result: GateResult) -> str:
    """Return the result as JUnit XML with one case per test contract or command."""
    top = Element("testsuites", {"name": "runner gate"})
    count, failed = str(len(result.ran)), str(len(result.breaks))
    numbers = {"tests": count, "failures": failed, "errors": "0", "skipped": "0"}
    suite = SubElement(top, "testsuite", {"name": "gate", **numbers})
    suite.set("time", f"{result.seconds:.3f}")
    for one in result.ran:
        names = {"classname": display(one.task), "name": display(one.contract)}
        case = SubElement(suite, "testcase", {**names, "time": f"{one.seconds:.3f}"})
        if one.failed:
            failure = SubElement(case, "failure", {"message": _format_break(one)})
            failure.text = "\n".join(
                display(finding.detail or finding.message, lines=True)
                for finding in one.findings
                if finding.refuses
            )
    indent(top)
    return tostring(top, encoding="unicode", xml_declaration=True) + "\n"
