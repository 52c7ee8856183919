"""A run as JUnit XML, which every CI server reads.

There is no standard; the strictest schema in use is that of Jenkins' xUnit plug-in (junit-10.xsd),
and a document that it takes is taken everywhere. It allows properties only on a test suite: so each
task is a suite of one case, its gates and contracts the suite's properties.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from runner.model import Reason, Status
from runner.text.display import display
from runner.text.wording import count_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import Finding, Proof
    from runner.report.results import Results, TaskResult

_NO_XML = re.compile("[\ufffe\uffff]")
"""What `display` leaves and XML 1.0 (section 2.2, Char) does not know."""
_FAILS = (Reason.CHECKS, Reason.STUCK, Reason.REGRESSION, None)


def junit(results: Results) -> bytes:
    """The document: a suite with one test case for each task.

    A BLOCKED task is a failure where its checks failed, and an error where something else is
    missing; a task that waits is skipped, and so is what is DONE and not proven, with the reason.
    """
    suites = [_suite(results, task) for task in results.tasks]
    top = Element("testsuites", {"name": _text(results.name) or "runner", **_sums(suites)})
    top.set("time", _seconds(results.seconds))
    top.extend(suites)
    indent(top)
    content: bytes = tostring(top, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _sums(suites: list[Element]) -> dict[str, str]:
    return {
        name: str(sum(int(suite.get(name, "0")) for suite in suites))
        for name in ("tests", "failures", "errors")
    }


def _suite(results: Results, task: TaskResult) -> Element:
    name = f"{task.id}: {task.title}"
    case = Element(
        "testcase",
        {"classname": _text(results.plan), "name": _text(name), "time": _seconds(task.seconds)},
    )
    case.extend(_endings(results, task))
    suite = Element("testsuite", {"name": _text(task.id), "tests": "1"})
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, "1" if case.find(tag) is not None else "0")
    suite.set("time", _seconds(task.seconds))
    if results.started:
        suite.set("timestamp", results.started.partition(".")[0].removesuffix("Z"))
    properties = SubElement(suite, "properties")
    for key, value in _properties(task):
        SubElement(properties, "property", {"name": _text(key), "value": _text(value)})
    suite.append(case)
    return suite


def _properties(task: TaskResult) -> Iterator[tuple[str, str]]:
    yield "status", str(task.status)
    yield "attempts", str(task.attempts)
    if task.reason and task.status is not Status.DONE:
        yield "reason", str(task.reason)
    if task.commit:
        yield "commit", task.commit
    for proof in task.proofs:
        yield proof.id, _proof(proof)
    if task.graded is not None:
        yield "grade", task.graded.words
    if task.coverage:
        yield "coverage", task.coverage.shown


def _proof(proof: Proof) -> str:
    counts = ", ".join(count_words(number, name) for name, number in proof.counts)
    verdict = proof.note if proof.was_cut_off else proof.verdict
    result = f"{verdict} in {proof.seconds:.2f} s, exit {proof.exit}"
    return f"{result}: {counts}" if counts else result


def _endings(results: Results, task: TaskResult) -> Iterator[Element]:
    """What is in the test case; nothing for a task that is DONE and proven."""
    if task.status is Status.DONE:
        if task.graded is not None and not task.graded.is_proven:
            yield Element("skipped", {"message": _text(f"DONE — {task.graded.words}")})
        return
    if task.status is Status.BLOCKED:
        tag = "failure" if task.reason in _FAILS else "error"
        for finding in task.refusals:
            yield _problem(tag, finding.check, finding.message, _details(results, finding))
        if not task.refusals:
            yield _problem(tag, str(task.reason or "blocked"), task.note, "")
        return
    waits = f"waits for {', '.join(task.waits_for)}" if task.waits_for else str(task.status)
    yield Element("skipped", {"message": _text(f"{waits} — {task.note}" if task.note else waits)})


def _problem(tag: str, kind: str, message: str, text: str) -> Element:
    element = Element(tag, {"type": _text(kind), "message": _text(message)})
    element.text = _text(text, lines=True) or None
    return element


def _details(results: Results, finding: Finding) -> str:
    place = results.place(finding.path) if finding.path else ""
    place += f":{finding.line}" if place and finding.line else ""
    parts = [f"{place}: {finding.message}" if place else finding.message]
    parts += [finding.detail] if finding.detail else []
    parts += [f"hint: {finding.hint}"] if finding.hint else []
    return "\n".join(parts)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _text(text: str, *, lines: bool = False) -> str:
    """Text that XML can hold and a person can see."""
    return _NO_XML.sub("�", display(text, lines=lines))
