"""The documents that an editor has open: which plan each belongs to, and what is wrong with it.

Knows nothing of a protocol but that documents have URIs. Files outside the folders that the
editor works in, and URIs that are no files, are nobody's.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from runner.editor.open_plan import BESIDE, OpenPlan
from runner.editor.source_text import SourceText
from runner.errors import RunnerError
from runner.plan.diagnostic import Problem
from runner.repo.head import PLANS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LOCAL = ("", "localhost")
MOST_PROBLEMS = 200
"""Of one file; an editor shows no more, and each is sent again after every keystroke."""
_MANY_TASKS = 300
"""From here on the checks of the whole plan wait until nobody types."""


class OpenDocument(NamedTuple):
    """An open document: the plan it is, or stands beside, and its path in the project."""

    plan: OpenPlan
    path: str

    @property
    def text(self) -> SourceText:
        """Its text as it is open."""
        return self.plan.text_of(self.path)

    @property
    def is_plan(self) -> bool:
        """Whether it is the plan itself."""
        return self.path == self.plan.path


class OpenDocuments:
    """All of an editor's documents that belong to a plan."""

    def __init__(self, folders: Iterable[Path], environ: Mapping[str, str]) -> None:
        self.folders = tuple(folder.resolve() for folder in folders)
        self.environ = environ
        self._by_uri: dict[str, OpenDocument] = {}
        self._plans: dict[Path, OpenPlan] = {}
        self._around: dict[Path, tuple[Problem, ...]] = {}
        self._shown: dict[Path, set[str]] = defaultdict(set)
        """The paths of each project that have problems at the client."""

    def open(self, uri: str, text: str) -> OpenDocument | None:
        """Take in a document; None for one that is nobody's.

        Raises RunnerError for a plan in no git repository, and for bad settings.
        """
        file = path_of_uri(uri)
        if file is None or not self._is_inside(file):
            return None
        if file.name in BESIDE:
            document = self._beside(file)
        elif file.name == Path(PLANS[0]).name or self._is_named_plan(file):
            document = self._plan(file)
        else:
            return None
        self._by_uri[uri] = document
        self.replace(document, SourceText.of(text))
        return document

    def _is_inside(self, file: Path) -> bool:
        resolved = file.resolve()
        return not self.folders or any(map(resolved.is_relative_to, self.folders))

    def _is_named_plan(self, file: Path) -> bool:
        """Whether the settings name this very file as the plan."""
        if file.suffix != ".md":
            return False
        try:
            plan = OpenPlan.open(file.with_name(PLANS[0]), self.environ)
            named = plan.project.settings.build.task_graph
            return bool(named) and (plan.root / named).resolve() == file.resolve()
        except RunnerError:
            return False

    def _plan(self, file: Path) -> OpenDocument:
        known = self._plans.get(file)
        if known is None:
            known = self._plans[file] = OpenPlan.open(file, self.environ)
        return OpenDocument(known, known.path)

    def _beside(self, file: Path) -> OpenDocument:
        """A file beside a plan; the plan is read from the disk where it is not open."""
        for plan in PLANS:
            if file.with_name(PLANS[0]) in self._plans or (file.parent / plan).is_file():
                found = self._plan(file.parent / plan)
                if not found.plan.tasks:
                    found.plan.change(found.plan.load())
                return OpenDocument(found.plan, file.name)
        return OpenDocument(self._plan(file.with_name(PLANS[0])).plan, file.name)

    def find(self, uri: str) -> OpenDocument | None:
        """An open document; None for one that is nobody's."""
        return self._by_uri.get(uri)

    def replace(self, document: OpenDocument, text: SourceText) -> None:
        """Another text for a document."""
        if document.is_plan:
            document.plan.change(text)
        else:
            document.plan.beside[document.path] = text

    def close(self, uri: str) -> OpenDocument | None:
        """Let go of a document: from here on what is written counts."""
        document = self._by_uri.pop(uri, None)
        if document is None:
            return None
        if document.is_plan:
            document.plan.change(document.plan.load())
        else:
            document.plan.beside.pop(document.path, None)
        if all(one.plan is not document.plan for one in self._by_uri.values()):
            self._plans = {at: one for at, one in self._plans.items() if one is not document.plan}
        return document

    def uri(self, plan: OpenPlan, path: str) -> str:
        """The URI of a file of the project: the client's own where it has it open."""
        for uri, one in self._by_uri.items():
            if one.plan is plan and one.path == path:
                return uri
        return (plan.root / path).absolute().as_uri()

    def is_open(self, plan: OpenPlan) -> bool:
        """Whether any document of a plan is open still."""
        return any(one.plan is plan for one in self._by_uri.values())

    # --- what is wrong ----------------------------------------------------------------

    def look_around(self, plan: OpenPlan) -> None:
        """Look at the files beside a plan, at its settings and its declared gates."""
        self._around[plan.root] = plan.look_around(self.environ)

    def problems(
        self, plan: OpenPlan, *, while_typing: bool = False
    ) -> dict[str, tuple[Problem, ...]]:
        """By path all that is wrong with a plan and what lies beside it.

        `while_typing` a large plan is looked at only where it was changed.

        A path that is open, or had problems before, and has none now is among them, with none.
        """
        is_open = [one.path for one in self._by_uri.values() if one.plan is plan]
        paths = (plan.path, *is_open, *self._shown[plan.root])
        found: dict[str, list[Problem]] = {path: [] for path in paths}
        is_quick = while_typing and len(plan.tasks) > _MANY_TASKS
        inside = plan.find_problems_here() if is_quick else plan.find_problems()
        for problem in (*inside, *self._around.get(plan.root, ())):
            found.setdefault(problem.path, []).append(problem)
        self._shown[plan.root] = {path for path, problems in found.items() if problems}
        return {path: _few(problems) for path, problems in found.items()}

    def forget(self, plan: OpenPlan) -> tuple[str, ...]:
        """The paths whose problems the client still shows, when nobody looks at a plan any more."""
        self._around.pop(plan.root, None)
        return tuple(self._shown.pop(plan.root, ()))


def _few(problems: list[Problem]) -> tuple[Problem, ...]:
    """Not more than an editor shows: mistakes before warnings, and how many are left out."""
    if len(problems) <= MOST_PROBLEMS:
        return tuple(problems)
    ordered = sorted(problems, key=lambda one: not one.is_error)
    left = len(problems) - MOST_PROBLEMS
    first = ordered[MOST_PROBLEMS]
    message = f"{left:,} more errors and warnings are not shown here"
    note = Problem(message, first.path, 1, 1, "run `runner validate` to see all", first.severity)
    return (*ordered[:MOST_PROBLEMS], note)


def path_of_uri(uri: str) -> Path | None:
    """The file of a URI (RFC 8089); None for one that is no local file."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(parts.path)
    is_file = parts.scheme == "file" and parts.netloc in _LOCAL and path.startswith("/")
    return Path(path) if is_file and path.isprintable() else None
