"""Which lines tests ran, for other programs and for people: Cobertura's XML, and pages of HTML.

From what the gate measured, in whatever language: no report of one language's tool is needed.
The form of the XML is Cobertura's coverage-04.dtd.
"""

from __future__ import annotations

import io
import zipfile
from html import escape
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.gates.coverage.lines import Lines

_SAME_TIME = (1980, 1, 1, 0, 0, 0)
"""Of every file in the archive: the same measurement is the same bytes."""
_STYLE = (
    "body{font:14px/1.4 sans-serif;margin:2em}pre{margin:0;font:13px/1.4 monospace}"
    ".y{background:#dfd}.n{background:#fdd}td{padding:0 1em}"
)


def _rate(one: Lines) -> float:
    """How much of a file ran, from 0 to 1."""
    return len(one.ran & one.executable) / len(one.executable) if one.executable else 1.0


def cobertura(lines: Mapping[str, Lines]) -> bytes:
    """The measurement as XML; a line that ran has one hit, for how often is not known."""
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
    """A page for each file and one of all, packed, with no script and nothing from elsewhere.

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
    # Of the bytes: in text a form feed or U+2028 would begin a line that no tool counts.
    for number, line in enumerate(content.splitlines(), 1):
        kind = ("y" if number in one.ran else "n") if number in one.executable else ""
        text = escape(display(line.decode("utf-8", "replace")))
        lines.append(f'<pre class="{kind}">{number:>5}  {text}</pre>')
    return _whole(display(path), "\n".join(lines))


def _whole(title: str, body: str) -> bytes:
    head = f"<title>{escape(title)}</title><style>{_STYLE}</style>"
    page = f'<!doctype html><meta charset="utf-8">{head}<h1>{escape(title)}</h1>\n{body}\n'
    return page.encode()
