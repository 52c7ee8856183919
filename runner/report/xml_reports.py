"""Write a run as JUnit XML for CI servers.

There is no standard; the strictest schema in use is that of Jenkins' xUnit plug-in (junit-10.xsd),
and a document that it takes is taken everywhere. It allows properties only on a test suite: so each
task is a suite of one case, its gates and contracts the suite's properties.
"""

from __future__ import annotations

import io
import re
import zipfile
from html import escape
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from runner.model import Reason, Status
from runner.text.display import display
from runner.text.wording import count_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.gates.coverage.lines import Lines
    from runner.model import Finding, Proof
    from runner.report.results import Results, TaskResult

_NO_XML = re.compile("[\ufffe\uffff]")
"""Characters that `display` keeps and XML 1.0 (section 2.2, Char) forbids."""
_FAILS = (Reason.CHECKS, Reason.STUCK, Reason.REGRESSION, None)
_SAME_TIME = (1980, 1, 1, 0, 0, 0)
"""Time of every file in the archive: equal measurements give equal bytes."""
_STYLE = (
    "body{font:14px/1.4 sans-serif;margin:2em}pre{margin:0;font:13px/1.4 monospace}"
    ".y{background:#dfd}.n{background:#fdd}td{padding:0 1em}"
)


def junit(results: Results) -> bytes:
    """Return the JUnit document: one suite with one test case per task.

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
    """Yield the elements of the test case; none for a task that is DONE and proven."""
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
    """Return text without characters that XML cannot contain."""
    return _NO_XML.sub("�", display(text, lines=lines))


def _rate(one: Lines) -> float:
    """Return the share of a file's lines that ran, from 0 to 1."""
    return len(one.ran & one.executable) / len(one.executable) if one.executable else 1.0


def cobertura(lines: Mapping[str, Lines]) -> bytes:
    """Return the coverage as Cobertura XML; executed lines have one hit."""
    valid = sum(len(one.executable) for one in lines.values())
    covered = sum(len(one.ran & one.executable) for one in lines.values())
    rate = f"{covered / valid if valid else 1:.4f}"
    numbers = {"lines-valid": str(valid), "lines-covered": str(covered), "line-rate": rate}
    none = {"branches-valid": "0", "branches-covered": "0", "branch-rate": "0", "complexity": "0"}
    top = Element("coverage", numbers | none | {"version": "1", "timestamp": "0"})
    SubElement(SubElement(top, "sources"), "source").text = "."
    packages = SubElement(top, "packages")
    rates = {"line-rate": rate, "branch-rate": "0", "complexity": "0"}
    package = SubElement(packages, "package", {"name": ".", **rates})
    classes = SubElement(package, "classes")
    for path, one in sorted(lines.items()):
        name = display(path)
        about = {"name": name, "filename": name, "line-rate": f"{_rate(one):.4f}"}
        found = SubElement(classes, "class", {**about, "branch-rate": "0", "complexity": "0"})
        SubElement(found, "methods")
        rows = SubElement(found, "lines")
        for number in sorted(one.executable):
            SubElement(rows, "line", {"number": str(number), "hits": str(int(number in one.ran))})
    text: bytes = tostring(top, encoding="utf-8", xml_declaration=True)
    return text


def html_archive(
    lines: Mapping[str, Lines], content: Mapping[str, bytes]
) -> tuple[bytes, tuple[tuple[str, bytes], ...]]:
    """Return a zip of HTML pages, one per file and an index, and the pages themselves.

    Gives the archive, and the pages in it.
    """
    paths = sorted(lines)
    pages = [("index.html", _index(paths, lines))]
    pages += [
        (f"{number}.html", _page(path, lines[path], content.get(path, b"")))
        for number, path in enumerate(paths, 1)
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, page in pages:
            archive.writestr(zipfile.ZipInfo(name, _SAME_TIME), page, zipfile.ZIP_DEFLATED)
    return packed.getvalue(), tuple(pages)


def _index(paths: list[str], lines: Mapping[str, Lines]) -> bytes:
    rows = "".join(
        f'<tr><td><a href="{number}.html">{escape(display(path))}</a></td>'
        f"<td>{int(_rate(lines[path]) * 100)}%</td>"
        f"<td>{len(lines[path].executable)} lines</td></tr>\n"
        for number, path in enumerate(paths, 1)
    )
    return _whole("Coverage", f"<table>\n{rows}</table>")


def _page(path: str, one: Lines, content: bytes) -> bytes:
    lines = []
    # Split bytes: in text a form feed or U+2028 would start a line that no tool counts.
    for number, line in enumerate(content.splitlines(), 1):
        kind = ("y" if number in one.ran else "n") if number in one.executable else ""
        text = escape(display(line.decode("utf-8", "replace")))
        lines.append(f'<pre class="{kind}">{number:>5}  {text}</pre>')
    return _whole(display(path), "\n".join(lines))


def _whole(title: str, body: str) -> bytes:
    head = f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    page = f'<!doctype html><meta charset="utf-8">{head}<h1>{escape(title)}</h1>\n{body}\n'
    return page.encode()
