"""Judge which tasks and test contracts a change may affect, with reasons, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from runner.impact.change import (
    Changed,
    explain_undeclared,
    folder_governed,
    governs,
    is_own_document,
    is_unread_code,
    with_moves,
)
from runner.impact.inputs import Knowledge, Proven, soonest_first
from runner.impact.python_blocks import is_quiet
from runner.impact.reach import COMPUTED, UNPARSED, find_reaching, find_wide
from runner.impact.reasons import Affected, Basis, Depth, Impacted, Why, Width
from runner.impact.traces import Reach, find_sharers, hit
from runner.languages.registry import is_written_in, language_of
from runner.model import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.impact.reach import Reached
    from runner.model import Digest


__all__ = ["Affected", "Basis", "Changed", "Depth", "Impacted", "Knowledge", "Why", "Width"]
__all__ += ["judge"]


def judge(
    change: Iterable[Changed],
    knowledge: Knowledge,
    width: Width = Width(),  # noqa: B008 - frozen
) -> Impacted:
    """Return the tasks and contracts that a change affects, including undecided ones."""
    if width.dependents is Depth.NONE:
        return Impacted(())
    changes = tuple(one for one in with_moves(change) if not is_own_document(one.path))
    hits = ImpactCollector(knowledge)
    held = {one.path: _digests(one) for one in changes}
    befores = {one.path: one.before for one in changes}
    current: dict[Proven, bool] = {}
    for one in changes:
        _Judge(one, hits, width, held, befores, current).judge()
    if changes and knowledge.references.lost:
        text = "the index of this repository could not be read: everything may be affected"
        hits.add_all(Why(Basis.UNDECIDED, changes[0].path, 0, text))
    return hits.answer()


class _Judge(Struct, frozen=True):
    """Judges one file of a change."""

    change: Changed
    hits: ImpactCollector
    width: Width
    held: dict[str, set[Digest]]
    """Content of each changed file before and after."""
    befores: dict[str, bytes | None]
    """Content before the change."""
    current: dict[Proven, bool]
    """Whether each recorded execution is still current; filled on demand."""

    def judge(self) -> None:
        """Add every reason; say what is in doubt."""
        decided = [
            self._owners(),
            self._check_declared(),
            self._check_governing(),
            self._check_observed(),
            self._check_reach(),
        ]
        self._check_hidden_imports()
        if self.change.is_deleted and self.change.path in self._knowledge.collected:
            return  # nobody but who imports it is without it
        if not any(decided) or self._is_unread_code():
            self._in_doubt(explain_undeclared(self.change))

    @property
    def _knowledge(self) -> Knowledge:
        return self.hits.knowledge

    def _why(self, kind: Basis, text: str, line: int | None = None) -> Why:
        at = self.change.first_line if line is None else line
        return Why(kind, self.change.path, at, text)

    # --- what people wrote down -------------------------------------------------------

    def _owners(self) -> bool:
        """Check the owners by map and Output files; for a moved file also those of the old path."""
        found = False
        paths = [path for path in (self.change.path, self.change.origin) if path]
        for path in paths:
            for task in self._knowledge.owners.of(path):
                text = f"FILE_OWNERSHIP_MAP.md says that {task} owns {path}"
                self.hits.add_task(task, self._why(Basis.OWNERSHIP, text))
            for task in self._knowledge.outputs.of(path):
                found = True
                text = f"{path} is among the Output files of {task}"
                self.hits.add_task(task, self._why(Basis.OWNERSHIP, text))
            found = found or bool(self._knowledge.owners.of(path))
        return found

    def _check_declared(self) -> bool:
        """Add the tasks that use the file as input or contract; return whether it is settled."""
        path, knowledge = self.change.path, self._knowledge
        users, readers = knowledge.contract_files.of(path), knowledge.inputs.of(path)
        breaking = knowledge.breaking.get(path)
        if users and breaking is False and not self.change.is_deleted:
            return True  # an additive change breaks nobody who keeps to the contract
        effect = "breaks" if breaking else "may break"
        for task in users:
            text = f"{task} uses the contract {path}, which this change {effect}"
            self.hits.add_task(task, self._why(Basis.CONTRACTS, text))
        for task in readers:
            text = f"{path} is among the Inputs of {task}"
            self.hits.add_task(task, self._why(Basis.INPUTS, text))
        return bool(users or readers)

    def _check_governing(self) -> bool:
        """Check test contracts in the scope of a configuration file; False for other files."""
        path = self.change.path
        if not governs(path):
            return False
        folder = folder_governed(path)
        why = self._why(
            Basis.SETTINGS, f"{path} configures every test in {folder or 'the project'}"
        )
        for proven, target in self._knowledge.commands.targets().items():
            places = (*target.files, *target.folders)
            inside = any(_is_in(one, folder) or _is_in(folder, one) for one in places)
            if (not folder or inside or target.is_whole or target.keys) and not (
                self._is_overruled(proven) and path.endswith("conftest.py")
            ):
                self.hits.add(proven, why)
        return True

    # --- what was seen, and what code says ----------------------------------------------

    def _check_observed(self) -> bool:
        """Check the test contracts that executed the changed code."""
        rows = self._knowledge.observed.at(self.change.path)
        found: dict[Proven, list[tuple[Reach, str]]] = {}
        for task, row in rows:
            proven = Proven(task, row.contract)
            reach = hit(row, self.change)
            if reach:
                found.setdefault(proven, []).append((reach, row.test))
        part = [one for one, some in found.items() if not any(reach.whole for reach, _ in some)]
        sharers = find_sharers(self.change, part, self._knowledge.observed.of, self._before)
        for proven, tests in sharers.items():
            at = found[proven][0][0]
            found[proven] += [(at, test) for test in sorted(tests)]
        for proven, reached in found.items():
            why = self._why_executed(proven.contract, reached)
            for reach, test in reached:
                self.hits.add(proven, why, "" if reach.whole else test)
        return bool(rows)

    def _before(self, path: str) -> bytes | None:
        """Return the content of a file before the whole change."""
        return self.befores[path] if path in self.befores else self._knowledge.content(path)

    def _why_executed(self, contract: str, reached: list[tuple[Reach, str]]) -> Why:
        line = min(reach.line for reach, _ in reached)
        tests = sorted({test for _, test in reached if test})
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        inside = f" in {tests[0]}{more}" if tests else ""
        place = f"{self.change.path}:{line}" if line else self.change.path
        return self._why(Basis.OBSERVED, f"{contract} executed {place}{inside}", line)

    def _check_reach(self) -> bool:
        """Check test contracts and Output files that import or name the file."""
        knowledge, change = self._knowledge, self.change
        deepest = 1 if self.width.dependents is Depth.DIRECT else None
        language = language_of(change.path)
        found = bool(language) and not change.is_deleted
        for at in find_reaching(knowledge.references, change.path, deepest, quiet=self._is_quiet()):
            found = found or at.by is not None
            self._hit_at(at)
        if language is not None:
            self._whole_commands()
        if language is not None and not self._is_quiet():
            for path in find_wide(knowledge.references, change.path, UNPARSED):
                text = f"{path} cannot be parsed: it may import {change.path}"
                self._follow(path, self._why(Basis.IMPORTS, text), deepest)
        return found

    def _whole_commands(self) -> None:
        """Add the test contracts whose command does not show what it tests."""
        for proven in self._knowledge.commands.whole():
            if not self._is_unaffected(proven) and not self._is_overruled(proven):
                named = self._knowledge.commands.targets()[proven].files
                some = "may test any file" if named else "names no file"
                text = f"the command of {proven.contract} {some}"
                self.hits.add(proven, self._why(Basis.TEST, text))

    def _follow(self, path: str, why: Why, deepest: int | None) -> None:
        """Add everything that reaches a file, for a reason other than an import of it."""
        for at in find_reaching(self._knowledge.references, path, deepest):
            for proven in (*self._find_beginning_at(at.path), *self._of_writers(at.path)):
                if not self._is_overruled(proven):
                    self.hits.add(proven, why)

    def _hit_at(self, at: Reached) -> None:
        """Add the test contracts that start at a reached file, or whose task writes it."""
        path = at.path
        if at.by is None:
            why = self._why(Basis.TEST, f"the command names {path}")
            found = [one for one in self._find_beginning_at(path) if not self._is_unaffected(one)]
        else:
            why = self._why(Basis.IMPORTS, at.describe())
            found = [*self._find_beginning_at(path), *self._of_writers(path)]
        for proven in found:
            if at.named or not self._is_overruled(proven):
                self.hits.add(proven, why)

    def _find_beginning_at(self, path: str) -> Iterator[Proven]:
        return self._knowledge.commands.find_beginning_at(path)

    def _of_writers(self, path: str) -> Iterator[Proven]:
        for task in self._knowledge.outputs.of(path):
            yield from (Proven(task, one) for one in self._knowledge.contracts_of(task))

    def _is_overruled(self, proven: Proven) -> bool:
        """Return whether recorded executions replace the import analysis for a contract.

        Only for a Python file that was there and still is (what has come or gone can change which
        file an import finds), in a folder of which anything was seen to be executed: else nobody
        may have looked there.
        """
        if not self.change.is_edited or not is_written_in(self.change.path, "python"):
            return False
        if not self._knowledge.commands.targets()[proven].only_runs:
            return False
        if not self._knowledge.observed.was_executed_in(self.change.path.rpartition("/")[0]):
            return False
        if proven not in self.current:
            self.current[proven] = self._knowledge.observed.is_current(*proven, self._holds)
        return self.current[proven]

    def _holds(self, path: str, digest: Digest) -> bool:
        """Return whether a file's digest matches its content before or after the change."""
        if path in self.held:
            return digest in self.held[path]
        return self._knowledge.digest(path) == digest

    def _is_quiet(self) -> bool:
        return is_quiet(self.change)

    def _is_unaffected(self, proven: Proven) -> bool:
        """Return whether a contract only runs code and the change affects no code."""
        return self._is_quiet() and self._knowledge.commands.targets()[proven].only_runs

    # --- what cannot be decided -----------------------------------------------------------

    def _check_hidden_imports(self) -> None:
        """Check files with computed imports, which may reach any file of their language."""
        if self._is_quiet():
            return
        suspects = [*find_wide(self._knowledge.references, self.change.path, COMPUTED)]
        if self.change.path in self._knowledge.collected:
            suspects = [one for one in suspects if one in self._knowledge.collected]
        if not suspects:
            return
        if self.width.conservative:
            for suspect in suspects:
                text = f"{suspect} imports modules by names computed at run time"
                self._follow(suspect, self._why(Basis.UNDECIDED, text), None)
            return
        more = f"; more such files: {len(suspects) - 1}" if len(suspects) > 1 else ""
        text = f"{suspects[0]} imports modules by computed names, perhaps this file{more}"
        self.hits.doubts[self._why(Basis.UNDECIDED, text)] = None

    def _is_unread_code(self) -> bool:
        """Check for code in a language without import tracking that no task declares as input."""
        path = self.change.path
        return is_unread_code(path) and not self._knowledge.inputs.of(path)

    def _in_doubt(self, text: str) -> None:
        why = self._why(Basis.UNDECIDED, text)
        if not self.width.conservative:
            self.hits.doubts[why] = None
            return
        self.hits.add_all(why)


def _digests(change: Changed) -> set[Digest]:
    contents = (change.before, change.after)
    return {digest_of(content) for content in contents if content is not None}


def _is_in(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


# --- collector ------------------------------------------------------------------------


_MOST_REASONS = 12


class ImpactCollector(Struct):
    """Tasks and test contracts that are found to be affected; grows while a change is judged."""

    knowledge: Knowledge
    reasons: dict[str, dict[Why, None]] = field(default_factory=dict)
    contracts: dict[Proven, set[str] | None] = field(default_factory=dict)
    """Affected tests of each contract; None for all of them."""
    doubts: dict[Why, None] = field(default_factory=dict)

    def add_task(self, task: str, why: Why) -> None:
        """Add a task with all its test contracts; an unknown task is ignored."""
        if task not in self.knowledge.tasks:
            return
        self._because(task, why)
        for contract in self.knowledge.contracts_of(task):
            self.contracts[Proven(task, contract)] = None

    def add(self, proven: Proven, why: Why, test: str = "") -> None:
        """Add one test contract, or one test in it."""
        if proven not in self.knowledge.commands.targets():
            return  # it was taken out of the plan since
        self._because(proven.task, why)
        tests = self.contracts.setdefault(proven, set())
        if not test:
            self.contracts[proven] = None
        elif tests is not None:
            tests.add(test)

    def add_all(self, why: Why) -> None:
        """Add every test contract."""
        for proven in self.knowledge.commands.targets():
            self.add(proven, why)

    def _because(self, task: str, why: Why) -> None:
        reasons = self.reasons.setdefault(task, {})
        if len(reasons) < _MOST_REASONS:
            reasons[why] = None

    def answer(self) -> Impacted:
        """Return all results, ordered by their contracts' priority."""
        by_task: dict[str, list[Proven]] = {task: [] for task in self.reasons}
        for proven in soonest_first(self.contracts, self.knowledge.past):
            by_task[proven.task].append(proven)
        rank = {proven.task: at for at, proven in reversed([*enumerate(_first(by_task, self))])}
        order = sorted(self.reasons, key=lambda task: rank.get(task, len(rank)))
        found = tuple(self._make_affected(task, by_task[task]) for task in order)
        return Impacted(found, tuple(self.doubts))

    def _make_affected(self, task: str, proven: list[Proven]) -> Affected:
        single = ((one.contract, self.contracts[one]) for one in proven)
        tests = tuple((name, tuple(sorted(some))) for name, some in single if some is not None)
        names = tuple(one.contract for one in proven)
        return Affected(task, names, tuple(self.reasons[task]), tests)


def _first(by_task: dict[str, list[Proven]], hits: ImpactCollector) -> Iterable[Proven]:
    firsts = [proven[0] for proven in by_task.values() if proven]
    return soonest_first(firsts, hits.knowledge.past)
