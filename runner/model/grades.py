"""The grade of a DONE task: proven and how, unproven, or waived by a person.

Pure, from what the journal or a commit recorded: old records are graded by the same rules.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from runner.model.words import COULD_NOT_RUN, NOT_VERIFIED_HERE, PROVES_NOTHING, ProvenBy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.model.work import Proof


class Grade(StrEnum):
    """The grade of a DONE task."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    WAIVED = "waived"


NOTHING = "nothing proves it"
STATIC_ALONE = "lint, types and builds alone prove nothing"
CANNOT_FAIL = "nothing showed that its proof can fail"
BY_HAND = "marked DONE by a person"
"""Why a task is unproven if no reason was given."""

DOCUMENTS = "only documents"
"""Why a task whose files can't be executed is unproven."""
STUB_UNKNOWN = "stub not measured"
"""Gap of a proof whose contracts could not run on a tree with raising stubs."""
LINES_UNKNOWN = "lines not measured"
"""Gap of a proof without a tool that reports which lines its tests ran."""

_BY = tuple(ProvenBy)
_NOTES = (f"{Grade.UNPROVEN}:", f"{Grade.WAIVED}:")
_WORTH = (Grade.UNPROVEN, Grade.WAIVED, Grade.PROVEN)


class Graded(Struct, frozen=True):
    """The grade of one DONE task; `why` is for what is not proven."""

    grade: Grade
    by: ProvenBy | None = None
    """Kind of proof; for an unproven task the kind that exists anyway (`static`)."""
    why: str = ""
    gaps: tuple[str, ...] = ()
    """What could not be measured for a task that is proven anyway."""

    @property
    def is_proven(self) -> bool:
        """Whether the runner ran something that could have failed, and it passed."""
        return self.grade is Grade.PROVEN

    @property
    def is_independent(self) -> bool:
        """Whether tests or readers other than the implementer cover every acceptance item."""
        return self.is_proven and self.by is ProvenBy.INDEPENDENT

    @property
    def words(self) -> str:
        """`proven by tests, lines not measured`, `unproven: nothing proves it`, `waived: why`."""
        if self.is_independent:
            return f"proven, {self._basis}"
        if self.grade is Grade.PROVEN:
            return f"{self.grade} by {self._basis}"
        return f"{self.grade}: {self.why}" if self.why else str(self.grade)

    @property
    def note(self) -> str:
        """Note after DONE in the plan; empty if the task is proven."""
        return "" if self.is_proven else self.words

    @property
    def caveat(self) -> str:
        """Caveat on DONE: its note, or `tests, lines not measured`."""
        return self.note or (self._basis if self.gaps else "")

    @property
    def _basis(self) -> str:
        return ", ".join((str(self.by), *self.gaps))


def grade_of(proofs: Iterable[Proof], *, none: str = "") -> Graded:
    """Return the grade that follows from these proofs.

    `none`: why the plan says that nothing proves it.
    """
    proofs = tuple(proofs)
    by = strongest(proofs)
    if by is not None and by not in PROVES_NOTHING:
        return Graded(Grade.PROVEN, by, gaps=find_gaps(proofs))
    return Graded(Grade.UNPROVEN, by, none or explain_unproven(by))


def explain_unproven(by: ProvenBy | None) -> str:
    """Return why the existing checks prove nothing."""
    if by is ProvenBy.PASSED:
        return CANNOT_FAIL
    return STATIC_ALONE if by else NOTHING


def is_grade(note: str) -> bool:
    """Return whether the note of a DONE task is a grade, not a person's note."""
    return note.startswith(_NOTES)


def strongest(proofs: Iterable[Proof]) -> ProvenBy | None:
    """Return the strongest evidence among these proofs; None if there is none."""
    found = [by for by in map(proof_kind, proofs) if by is not None]
    return min(found, key=_BY.index, default=None)


def find_gaps(proofs: Iterable[Proof]) -> tuple[str, ...]:
    """Return the parts of these proofs that could not be measured."""
    proofs = tuple(proofs)
    skipped = [one for one in proofs if one.verdict == "skipped" and not one.is_of_another_task]
    lines = any(one.kind == "coverage" for one in skipped)
    stub = any(one.kind == "mutation" and one.note.startswith(STUB_UNKNOWN) for one in skipped)
    unrun = (
        f"{one.id} {one.note}" for one in skipped if one.note in (COULD_NOT_RUN, NOT_VERIFIED_HERE)
    )
    doubts = dict.fromkeys(one.row.doubt.words for one in proofs if one.row and one.row.doubt)
    return (
        *((LINES_UNKNOWN,) if lines else ()),
        *((STUB_UNKNOWN,) if stub else ()),
        *unrun,
        *doubts,
    )


def weakest(grades: Sequence[Graded]) -> Graded:
    """Return the lowest of these grades, for milestones; unproven if there are none."""
    return min(grades, key=_worth, default=Graded(Grade.UNPROVEN, None, NOTHING))


def _worth(graded: Graded) -> tuple[int, int]:
    by = len(_BY) if graded.by is None else _BY.index(graded.by)
    return _WORTH.index(graded.grade), -by


def proof_kind(proof: Proof) -> ProvenBy | None:
    """Return the evidence of one proof; None if it failed, ran nothing or is of another task."""
    if proof.verdict not in ("pass", "flaky"):
        return None
    if proof.by is not None:
        return proof.by
    match proof.kind:
        case "test":
            return _of_a_test(proof)
        case "contract" if not proof.id.startswith("contract:command"):
            # no process takes zero time: the schema check ran nothing
            return ProvenBy.CONTRACT if proof.seconds else ProvenBy.STATIC
        case "contract" | "gate":
            return _of_a_command(proof)
    return None


def would_show(kind: str, id_: str, command: str) -> ProvenBy | None:
    """Return the best grade that a check not run yet can prove."""
    match kind:
        case "test":
            static = _runs_static(command)
            return ProvenBy.STATIC if static else ProvenBy.TESTS
        case "contract" if not id_.startswith("contract:command"):
            return ProvenBy.CONTRACT
        case "contract" | "gate":
            name = id_.partition(":")[2]
            static = kind == "gate" and _is_static_gate(name, command)
            return ProvenBy.STATIC if static else ProvenBy.TESTS
    return None


def _of_a_test(proof: Proof) -> ProvenBy | None:
    if not proof.counts:
        return ProvenBy.STATIC if _runs_static(proof.command) else ProvenBy.COMMAND
    return ProvenBy.TESTS if _count_passed(proof) else None


def _of_a_command(proof: Proof) -> ProvenBy:
    if _count_passed(proof):
        return ProvenBy.TESTS
    name = proof.id.partition(":")[2]
    is_static = proof.kind == "gate" and _is_static_gate(name, proof.command)
    return ProvenBy.STATIC if is_static else ProvenBy.COMMAND


def _is_static_gate(name: str, command: str) -> bool:
    """Return whether a gate only reads files, by its name or command, or does nothing."""
    is_idle = bool(command) and not _working_parts(command)
    return is_idle or _names_static(name) or _runs_static(command)


def _count_passed(proof: Proof) -> int:
    return sum(number for word, number in proof.counts if word == "passed")


_STATIC_NAME = (
    r"(?:lint|linter|linting|types?|typing|typecheck|type-check|typescript|format|formatting|fmt"
    r"|style|build|compile|compilation|static|sast|security|audit|spelling"
    r"|ruff|flake8|pylint|black|isort|mypy|pyright|bandit|eslint|prettier|biome|stylelint|tsc"
    r"|vet|gofmt|staticcheck|golangci|clippy|rustfmt|shellcheck|semgrep)"
)
_STATIC_COMMAND = (
    r"(?:\S*/)?(?:(?:python[\d.]*|uv\s+run|poetry\s+run|pipenv\s+run|npx|pnpm(?:\s+exec)?|bunx"
    r"|yarn(?:\s+run)?|hatch\s+run)\s+(?:-m\s+|--\S+\s+)*)?(?:\S*/)?"
    r"(?:ruff|flake8|pylint|pyflakes|pycodestyle|pydocstyle|black|isort|autopep8|mypy|pyright"
    r"|basedpyright|pyre|pyrefly|pytype|ty|dmypy|bandit|vulture|lint-imports|codespell|compileall"
    r"|py_compile|pylama|interrogate|xmllint|jsonlint|luacheck|swiftlint|sqlfluff|tflint|detekt"
    r"|eslint|prettier|biome|stylelint|standard|xo|oxlint|tsc|vue-tsc|svelte-check"
    r"|gofmt|goimports|staticcheck|golangci-lint|rustfmt|shellcheck|shfmt|hadolint|yamllint"
    r"|actionlint|markdownlint\S*|semgrep|clang-format|clang-tidy|cppcheck|checkstyle|ktlint"
    r"|rubocop|phpstan|psalm|phpcs|javac|rustc|gcc|g\+\+|clang(?:\+\+)?|ajv)(?=\s|\Z)"
    r"|go\s+(?:build|vet|fmt|mod)\b|cargo\s+(?:build|check|clippy|fmt|doc|audit|deny)\b"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:--?\S+\s+)*(?:run(?:-script)?\s+)?(?:--?\S+\s+)*"
    r"(?:lint|types?|typecheck|type-check|check-types|tsc|format|fmt|build|compile|prettier|eslint)"
    r"(?::\S+)?(?=\s|\Z)"
    r"|(?:make|just|task|nox\s+-s|tox\s+-e)\s+(?:--?\S+\s+)*"
    r"(?:lint|types?|typecheck|mypy|format|fmt|style|build|compile)(?=\s|\Z)"
    r"|mvn\s+(?:--?\S+\s+)*(?:compile|package\s+-DskipTests\S*)\b|(?:\./)?gradlew?\s+(?:assemble|classes)\b"
    r"|dotnet\s+(?:build|format)\b|docker\s+(?:image\s+)?build\b|python[\d.]*\s+-m\s+build\b"
    r"|(?:node\s+(?:-c|--check)|(?:ba|da|z)?sh\s+-n)\b"
    r"|deno\s+(?:check|lint|fmt)\b|mix\s+(?:compile|format|credo)\b|(?:dart|flutter)\s+analyze\b"
    r"|terraform\s+(?:validate|fmt)\b|next\s+(?:build|lint)\b|vite\s+build\b"
    r"|(?:php\s+-l|(?:ruby|perl)\s+-\w*c)(?=\s|\Z)"
)
_BETWEEN = r"&&|\|\||;|\n|(?<![>&])&(?![>&])"
_IDLE = r"(?:cd|export|set)\s|(?:true|:)(?=\s|\Z)"
"""Parts of a shell line that prepare for another part, or do nothing."""


@lru_cache(maxsize=256)
def _names_static(name: str) -> bool:
    return bool(re.fullmatch(rf"{_STATIC_NAME}(?:[-_.:/ ].*)?", name, re.IGNORECASE))


def is_static_tool(command: str) -> bool:
    """Return whether a command, without variables in front, is a static analysis tool."""
    without_variables = re.sub(r"\A(?:env\s+)?(?:[A-Za-z_]\w*=\S*\s+)*", "", command)
    return bool(re.match(_STATIC_COMMAND, without_variables))


@lru_cache(maxsize=256)
def _runs_static(command: str) -> bool:
    """Return whether every program of a shell line only reads files.

    A shell is no part of this floor: what starts others is seen through where a check runs.
    """
    parts = _working_parts(command)
    return bool(parts) and all(map(is_static_tool, parts))


def _working_parts(command: str) -> list[str]:
    parts = [part.strip() for part in re.split(_BETWEEN, command) if part.strip()]
    return [part for part in parts if not re.match(_IDLE, part)]


_DOCUMENT = (
    r"(?:.*/)?(?:[^/]*\.(?:md|markdown|mdown|rst|txt|adoc|asciidoc|org|tex|pdf|odt|docx?)"
    r"|(?:README|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTORS|CHANGELOG|CHANGES)[^/.]*)"
)
_NO_DOCUMENT = r"(?:.*/)?(?:(?:dev[-_])?(?:requirements|constraints)[^/]*|CMakeLists)\.txt"
"""Text files from which programs are built."""
_CODE = (
    r".*\.(?:py|pyi|js|jsx|mjs|cjs|ts|tsx|mts|cts|go|rs|java|kt|kts|rb|php|cs|c|h|cc|cpp|cxx|hpp|swift"
    r"|scala|ex|exs|sh|bash|sql|vue|svelte|lua|dart|zig|clj|hs|ml|r|jl|pl|pm)"
)


@lru_cache(maxsize=65536)
def is_document(path: str) -> bool:
    """Return whether a path or glob names documents, which nothing runs."""
    return bool(
        re.fullmatch(_DOCUMENT, path, re.IGNORECASE)
        and not re.fullmatch(_NO_DOCUMENT, path, re.IGNORECASE)
    )


@lru_cache(maxsize=65536)
def is_code(path: str) -> bool:
    """Return whether a path or glob names files in a programming language."""
    return bool(re.fullmatch(_CODE, path, re.IGNORECASE))


def without_proof(reason: str, paths: Sequence[str]) -> str:
    """Return why these files need no proof: the plan's reason, or being documents; else empty."""
    if reason or not paths:
        return reason
    return DOCUMENTS if all(map(is_document, paths)) else ""
