"""Examples of the plan that the code does not satisfy: each is called, in the sandbox.

`f("x") == "y"` in an acceptance is no opinion: where the task's own code has the function, it is
asked. Told is only what is sure: a plain value that is another one, or a mistake of the code's own.
Code that reads a clock, chance, its environment or what it kept says nothing here, nor does what
cannot be imported alone. A family of the registry.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.gates.contract_checks import make_context
from runner.languages.registry import is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.process.tools import find_project_python
from runner.secrets.redact import redact
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.config.settings import Settings
    from runner.gates import example_programs, example_texts
    from runner.gates.base import GateContext
    from runner.gates.example_texts import Example
    from runner.model import Change, Task
else:
    example_programs = lazy_module("runner.gates.example_programs")
    example_texts = lazy_module("runner.gates.example_texts")

CHECK = "plan-examples-run"
_SECONDS = 20.0
_LARGEST = 1_000_000
_SHOWN = 100
_MOST = 8
_MAY_SHOW = regex(r"`|==|->|=>|→|>>>")
_OUTSIDE = regex(
    r"\b(?:datetime|time|random|secrets|uuid\d?|environ|getenv|input|open|socket|requests|httpx"
    r"|urllib|urlopen|subprocess|locale|gettext|sqlite3|threading|asyncio|Date|performance|crypto|fetch|fs"
    r"|process|window|document|localStorage|navigator|Intl|toLocale\w+)\b"
)
"""Names of what differs from one call to the next, or from one machine to another."""
_KEPT = regex(
    r"^[ \t]*(?:global|nonlocal)\s"
    r"|^\w+(?:\s*:[^=\n]+)?\s*=\s*(?:\{\}|\[\]|(?:set|dict|list|defaultdict|deque|OrderedDict"
    r"|Counter|Lock|RLock)\(|[A-Z]\w*\()"
    r"|^(?:export\s+)?(?:let|var)\s|^(?:export\s+)?const\s+\w+\s*=\s*(?:new\b|\{\s*\}|\[\s*\])",
    re.MULTILINE,
)
"""State of a module: what a call gives may hang on the calls before it."""
_CACHES = frozenset({"cache", "lru_cache"})


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One, for a task that writes and whose text may show an example."""
    texts = (*task.acceptance, task.prose)
    if not task.writes_anything or not any(map(_MAY_SHOW.search, texts)):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:
    """Each example that does not hold: it refuses; what a person wrote is only warned of."""
    examples = example_texts.examples_of(bench.task)
    if bench.refused or not examples:
        return Proved(None)
    found: list[Finding] = []
    for tell in (_in_python, _in_scripts):
        found += tell(check, bench, examples)
    return Proved(None, tuple(found[:_MOST]))


def _written(bench: GateContext, language: str) -> Iterator[tuple[Change, str]]:
    for one in bench.changes:
        content = one.content
        if content is None or len(content) > _LARGEST or bench.is_test(one.path):
            continue
        if is_written_in(one.path, language):
            yield one, content.decode("utf-8", "replace")


def is_called(path: str) -> bool:
    """Whether functions of a file are called for the examples."""
    return is_written_in(path, "python") or path.endswith(_ENDINGS)


def _is_alone(code: str) -> bool:
    """Whether nothing of what it does hangs on a clock, a machine, or earlier calls."""
    return not (_OUTSIDE.search(code) or _KEPT.search(code))


_Asked = tuple["Example", str, int]
"""An example, and the file and line of its function."""


def _tell(
    check: Check, bench: GateContext, asked: Sequence[_Asked], answers: object
) -> Iterator[Finding]:
    if not isinstance(answers, list) or len(answers) != len(asked):
        return
    for (example, path, line), answer in zip(asked, answers, strict=True):
        if isinstance(answer, str):
            must = "raise" if example.raises else "be"
            shown = f"`{example.call[:_SHOWN]}` must {must} `{example.wanted[:_SHOWN]}`"
            yield Finding(
                check=check.id,
                message=redact(f"the plan says that {shown}: {answer}"),
                path=path,
                line=line,
                severity=_severity(bench, example),
                hint="have the code give it, or change the example in the plan",
            )


def _severity(bench: GateContext, example: Example) -> Severity:
    if bench.by_person:
        return Severity.WARNING
    return Severity.QUESTION if example.text or example.prose else Severity.ERROR


def _run(
    check: Check, bench: GateContext, program: str, name: str, script: str, job: object
) -> object:
    """What the script wrote down; nothing where it did not end."""
    place = make_context(check, bench)
    source = place.put(name, script.encode())
    words = (source, place.write("job.json", job), place.path("answers.json"))
    limits = replace(check.limits, hard=_SECONDS, idle=_SECONDS, soft=0.0)
    line = f"{program} {shlex.join(words)}"
    bench = replace(bench, tell=_ignore_line)
    bench.run(replace(check, command=line, limits=limits))
    return place.read("answers.json")


def _ignore_line(_line: str) -> None:
    """A person hears of what does not hold, and not of the calls."""


# --- Python ---------------------------------------------------------------------------------


def _in_python(check: Check, bench: GateContext, examples: Sequence[Example]) -> Iterator[Finding]:
    asked: list[_Asked] = []
    job = []
    homes = _functions(bench)
    for one in examples:
        where = homes.get(one.name)
        if where is None or one.words & {"true", "false", "null"}:
            continue
        path, line = where
        folder, module = _module(path, bench)
        asked.append((one, path, line))
        job.append(
            {
                "name": one.name,
                "module": module,
                "folders": list(dict.fromkeys((folder, "."))),
                "given": repr((one.given, dict(one.named))),
                "value": repr(one.value),
                "text": one.text,
                "raises": one.wanted.rpartition(".")[2] if one.raises else "",
            }
        )
    if not job:
        return
    python = find_project_python(bench.place, bench.environment)
    if python is None:
        return
    program = f"{shlex.quote(str(python))} -B"  # nothing is to be written beside the code
    yield from _tell(
        check, bench, asked, _run(check, bench, program, "ask.py", example_programs.PYTHON, job)
    )


def _functions(bench: GateContext) -> dict[str, tuple[str, int]]:
    """Plain functions of the task's files, by name; none that stands in two of them."""
    found: dict[str, tuple[str, int]] = {}
    twice: set[str] = set()
    for change, text in _written(bench, "python"):
        tree = python_tree(text)
        for node in tree.body if tree else ():
            if isinstance(node, ast.FunctionDef) and all(map(_keeps, node.decorator_list)):
                if node.name in found:
                    twice.add(node.name)
                if tree and _is_alone(_reached(tree, node.name)):
                    found[node.name] = change.path, node.lineno
    return {name: place for name, place in found.items() if name not in twice}


def _reached(tree: ast.Module, name: str) -> str:
    """All code of a module that a function of it may come to, by the names it uses."""
    bound: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for one in _bound(node):
            bound.setdefault(one, []).append(node)
    kept: dict[ast.stmt, None] = {}
    names = [name]
    for one in names:  # grows as it goes
        for node in bound.pop(one, ()):
            if node not in kept:
                kept[node] = None
                names += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return "\n".join(map(ast.unparse, kept))


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds, whatever it is."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for one in ast.walk(node):
        if isinstance(one, ast.alias):
            yield (one.asname or one.name).partition(".")[0]
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id


def _keeps(decorator: ast.expr) -> bool:
    """Whether what is decorated is called as before."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(node).rpartition(".")[2] in _CACHES


def _module(path: str, bench: GateContext) -> tuple[str, str]:
    """The folder from which a file is imported, and by which name."""
    parts = list(Path(path).with_suffix("").parts)
    at = len(parts) - 1
    while at and bench.after("/".join((*parts[:at], "__init__.py"))) is not None:
        at -= 1
    names = parts[at:-1] if parts[-1] == "__init__" else parts[at:]
    return "/".join(parts[:at]) or ".", ".".join(names)


# --- scripts --------------------------------------------------------------------------------

_EXPORTED = (
    r"\bexport\s+(?:default\s+)?function\s+{0}\s*\(|\bexports\.{0}\s*=|\bexport\s+const\s+{0}\s*="
)


def _in_scripts(check: Check, bench: GateContext, examples: Sequence[Example]) -> Iterator[Finding]:
    asked: list[_Asked] = []
    job = []
    files = [
        (change, text)
        for change, text in _written(bench, "javascript")
        if change.path.endswith(_ENDINGS) and _is_alone(text)
    ]
    for one in examples:
        pattern = re.compile(_EXPORTED.format(re.escape(one.name)))
        places = [(change.path, found) for change, text in files if (found := _line(pattern, text))]
        if len(places) != 1 or one.named or one.words & {"True", "False", "None"}:
            continue
        try:
            given, value = (json.dumps(each, allow_nan=False) for each in (one.given, one.value))
        except (TypeError, ValueError):
            continue
        ((path, line),) = places
        asked.append((one, path, line))
        raises = one.wanted.rpartition(".")[2] if one.raises else ""
        about = {"path": path, "name": one.name, "given": given, "value": value}
        job.append({**about, "raises": raises, "text": one.text})
    if job:
        yield from _tell(
            check, bench, asked, _run(check, bench, "node", "ask.mjs", example_programs.SCRIPT, job)
        )


_ENDINGS = (".js", ".mjs", ".cjs")


def _line(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 0
