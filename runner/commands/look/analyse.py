"""`runner analyse`: what a repository is, read from its commit; nothing of it is run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import ExitCode
from runner.lazy_module import lazy_module
from runner.project import Project
from runner.text.display import display
from runner.text.wording import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from runner.app.inspect import repository_analysis
    from runner.app.inspect.repository_analysis import Analysis
else:
    repository_analysis = lazy_module("runner.app.inspect.repository_analysis")

_EXAMPLES = """\
examples:
  runner analyse            stack, builds, tests, gates, packages, owners, imports, hot files
  runner analyse --json     the same, whole, as one document; the same for the same commit
"""
_SHOWN = 8


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner analyse` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument("--json", action="store_true", help="one JSON document")


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print it; a plan is not needed."""
    project = Project.open(Path.cwd(), environ, plan_needed=False)
    if given.json:
        print(repository_analysis.analysis_document(project), end="")
    else:
        print("\n".join(map(display, _lines(repository_analysis.analyse(project)))))
    return ExitCode.OK


def _lines(found: Analysis) -> Iterator[str]:
    said = ", ".join(f"{name} {count}" for name, count in found.languages.items())
    yield f"{found.commit[:12] or 'no commit'}: {plural(found.files, 'file')}" + (
        f"; {said}" if said else ""
    )
    yield f"stack: {_listed([*found.stack, *found.dependencies])}"
    yield f"built by: {_listed([f'{one.tool} ({one.manifest})' for one in found.build_systems])}"
    tests = [f"{one.name}: {one.command} ({one.why})" for one in found.test_frameworks]
    yield f"tests: {_listed(tests)}"
    gates = [f"{one.name}: {one.command} ({one.origin})" for one in found.gates]
    yield f"gates: {_listed(gates)}"
    rows = [f"{one.name} in {one.path}, {plural(one.files, 'file')}" for one in found.packages]
    yield f"packages: {_listed(rows)}"
    owned = [f"{one.file} ({', '.join(one.tasks)})" for one in found.owners]
    yield f"owners: {_listed(owned)}"
    yield f"imports: {found.edges} between {plural(len(found.sources), 'source file')}"
    used: dict[str, int] = {}
    for one in found.sources:
        for path in one.imports:
            used[path] = used.get(path, 0) + 1
    most = sorted(used.items(), key=lambda row: (-row[1], row[0]))
    yield f"imported most: {_listed([f'{path} by {count}' for path, count in most])}"
    hot = [f"{one.path} in {plural(one.commits, 'commit')}" for one in found.hot_files]
    yield f"changed most: {_listed(hot)}"
    yield from (f"cut: {one}" for one in found.cut)
    yield from (f"note: {one}" for one in found.notes)


def _listed(rows: Sequence[str]) -> str:
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return (", ".join(rows[:_SHOWN]) or "none") + more
