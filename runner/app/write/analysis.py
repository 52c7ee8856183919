"""Analysers of other languages by hand: on one file, and what `doctor` says of them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from runner.app.write.workplace import Workplace
from runner.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.app.inspect.diagnostic import Diagnostic
    from runner.process.base import Sandbox
    from runner.project import Project
    from runner.writes.sast_report import SastReport
    from runner.writes.scan_workspace import ScanWorkspace


def by_tools(workplace: Workplace, path: str, content: bytes) -> SastReport | None:
    """What installed analysers say of a copy of one file of the project; None where none looked."""
    from runner.model import Action, Change, digest_of
    from runner.writes.scanners import select_scanners

    inside = not Path(path).is_absolute() and (workplace.root / path).is_file()
    if not inside or not select_scanners((path,)):
        return None
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    with TemporaryDirectory(prefix="runner-sast-") as folder:
        specimen = _laboratory(workplace, Path(folder)).specimen((change,))
        return specimen.examine() if specimen else None


def analysis_signs(project: Project, outputs: Iterable[str]) -> Iterator[Diagnostic]:
    """For `doctor`: the analysers that the repository's files, and planned ones, call for."""
    from runner.app.inspect.diagnostic import Diagnostic, State
    from runner.repo.read import Repository
    from runner.writes.scanners import select_scanners

    laboratory = _laboratory(Workplace.of(project.root, project.environ), project.cache)
    with Repository.open(project.root) as repository:
        commit = repository.head().commit
        paths = repository.list_tree(commit) if commit else ()
    for tool in select_scanners((*paths, *outputs)):
        lacks = laboratory.lacks(tool)
        if lacks:
            text = f"{lacks}, so {tool.tool} looks at nothing"
            yield Diagnostic(f"analyser {tool.tool}", State.NOTE, text)
        else:
            yield Diagnostic(f"analyser {tool.tool}", State.OK, str(laboratory.program(tool)))


def _laboratory(workplace: Workplace, folder: Path) -> ScanWorkspace:
    """Around the project as it lies there, in the sandbox that its person has chosen."""
    from runner.process.base import Place
    from runner.process.environment import command_environment
    from runner.run.worker_setup import find_shared_folders
    from runner.writes.safe_io import read_beneath
    from runner.writes.scan_workspace import ScanWorkspace

    root = workplace.root
    return ScanWorkspace(
        folder=folder,
        tree=root,
        base=lambda path: read_beneath(root, path),
        place=Place(tree=root, shown=root, box=folder, shares=find_shared_folders(root)),
        sandbox=sandbox_here(workplace),
        environment=command_environment(workplace.environ),
    )


def sandbox_here(workplace: Workplace) -> Sandbox:
    """What encloses commands by hand. Raises RunnerError where a person wants what is not here."""
    from runner.process.sandbox import choose_sandbox

    return choose_sandbox(_sandbox(workplace))


def _sandbox(workplace: Workplace) -> str:
    try:
        return workplace.project().settings.sandbox if workplace.in_git else "auto"
    except RunnerError:  # broken settings are not this command's to report
        return "auto"
