"""Compile whole projects: one compiler a manifest, once a task."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from runner.languages.javascript import TYPED
from runner.languages.registry import all_languages
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.model.words import COULD_NOT_RUN
from runner.plan.shell.shell_commands import executables
from runner.text.ignore_rules import ignore_rules
from runner.writes.compile_check import CHECK, check_syntax, is_missing_tool, make_missing_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from runner.languages.base import Compiler
    from runner.model import Change
    from runner.process.base import Ran, RunCommand

    OnBase = Callable[[tuple[Change, ...]], AbstractContextManager[None]]

MOST_FINDINGS = 20
_READ = 64 << 10


class CompileCommand(Struct, frozen=True):
    """A command of the settings, run when a changed path matches its gitignore-style glob.

    `{file}` in the line stands for the path, quoted; the line is then run for each file.
    """

    glob: str
    line: str


class CompileJob(Struct, frozen=True):
    """One command to run in one folder of the tree, and the changed files it is about."""

    tool: str
    line: str
    folder: str
    paths: tuple[str, ...]
    search: str = ""
    """Shell lines that run first and are not shown."""


def compile_projects(
    tree: Path,
    paths: Sequence[str],
    commands: Sequence[CompileCommand],
    run_command: RunCommand,
    on_base: OnBase | None = None,
) -> tuple[Finding, ...]:
    """Run what the changed paths call for, each job once; return the findings.

    Where one fails it runs `on_base`, too: an error that stood there as often is a note and refuses
    nothing. A project whose compiler fails for what nobody touched could take no change otherwise.
    A compiler that fails without a place, on the base for the same reason, could not run: that is
    a warning, and grammars still read its files.
    """
    projects = project_jobs(tree, paths)
    jobs = (*projects, *command_jobs(paths, commands))
    unbuilt = {one.tool: one.unbuilt for one in compilers()}
    results = [(job, _run(job, run_command)) for job in jobs]
    failed = [job for job, weighed in results if any(one.line for one in weighed.findings)]
    unable = {job: now.unplaced for job, now in results if now.unplaced and job in projects}
    earlier: dict[CompileJob, _CompileResult] = {}
    if (failed or unable) and on_base is not None:
        with on_base(()):
            earlier = {job: _run(job, run_command) for job in (*failed, *unable)}
    unable = {
        job: output
        for job, output in unable.items()
        if job in earlier and _is_same_failure(output, earlier[job].unplaced)
    }
    found = [*_check_uncompiled(tree, paths, [job for job in jobs if job not in unable])]
    for job, now in results:
        if job in unable:
            found += [_warn_unable(job, one) for one in now.findings]
            continue
        kept = _without_old(job, now, earlier[job]) if job in earlier else now.findings
        weighed = [_weigh(one, tree, unbuilt.get(job.tool)) for one in kept]
        notes = {one.message: one for one in weighed if not one.refuses}
        refused = [one for one in weighed if one.refuses]
        found += [*refused, *notes.values()][:MOST_FINDINGS]
    return tuple(found)


def _check_uncompiled(
    tree: Path, paths: Sequence[str], jobs: Iterable[CompileJob]
) -> Iterator[Finding]:
    """Yield notes on files that no project compiles."""
    compiled = {path for job in jobs for path in job.paths}
    for path in paths:
        if path in compiled or not (tree / path).is_file():
            continue
        if path.endswith(TYPED):
            why = "types not checked: no tsconfig.json includes this file"
            yield Finding(CHECK, why, path=path, severity=Severity.NOTE)
        elif path.endswith(".rs"):  # without a project no compiler parses it
            wrong = check_syntax(path, (tree / path).read_bytes(), "no Rust grammar installed")
            if wrong is not None:
                yield wrong


def _is_same_failure(now: str, before: str) -> bool:
    """Return whether each line of an output was in the earlier one; numbers may differ."""
    new, old = (set(_NUMBER.sub("0", one).splitlines()) for one in (now, before))
    return new <= old


def _warn_unable(job: CompileJob, finding: Finding) -> Finding:
    return replace(
        finding,
        message=f"not compiled: {job.tool} {COULD_NOT_RUN}, with or without the change",
        severity=Severity.WARNING,
        hint=f"`{job.line}` fails before the change, too: install what its output names",
    )


class _CompileResult(NamedTuple):
    """The findings of one job."""

    findings: tuple[Finding, ...]
    others: int = 0
    """Number of error lines without a location."""
    unplaced: str = ""
    """Output of a failure that names no place."""


def _without_old(job: CompileJob, now: _CompileResult, before: _CompileResult) -> Iterator[Finding]:
    """Yield the new findings; of the old ones a note, wherever they have moved to."""
    left = Counter((one.path, one.message) for one in before.findings if one.line)
    old: list[Finding] = []
    new: list[Finding] = []
    for one in now.findings:
        is_old = left[one.path, one.message] > 0
        left[one.path, one.message] -= 1
        (old if is_old else new).append(one)
    yield from new
    if not new and now.others > before.others:
        yield Finding(CHECK, f"`{job.line}` reports more errors than before", path=job.paths[0])
    if old:
        first = old[0]
        more = f" and {len(old) - 1} more" if len(old) > 1 else ""
        yield replace(
            first, message=f"existed before: {first.message}{more}", severity=Severity.NOTE
        )


def _weigh(finding: Finding, tree: Path, unbuilt: Callable[[Path, str], str] | None) -> Finding:
    """Return an error that is only caused by an unbuilt package as a note.

    What the package was compiled to is in no commit; the task's own proof builds it, or fails.
    """
    name = unbuilt(tree, finding.message) if unbuilt and finding.line else ""
    if not name:
        return finding
    return replace(
        finding,
        message=f"not compiled against {name}: this package of the repository is not built here",
        severity=Severity.NOTE,
        hint="let a test contract build the package first",
    )


def find_unbuilt_package(tree: Path, output: str) -> str:
    """Return the unbuilt package of this repository in a compiler's output; else empty."""
    found = [one.message for one in _locate(output, "") if one.line]
    names = (one.unbuilt(tree, message) for message in found for one in compilers() if one.unbuilt)
    return next(filter(None, names), "")


def compilers() -> tuple[Compiler, ...]:
    """Return the whole-project compilers of all languages."""
    known = (language.compiler for language in all_languages())
    return tuple(one for one in known if one is not None)


def project_jobs(tree: Path, paths: Iterable[str]) -> tuple[CompileJob, ...]:
    """Return the compiler jobs for changed paths, by their nearest manifest."""
    wanted: dict[tuple[str, str], list[str]] = {}
    chosen = {compiler.tool: compiler for compiler in compilers()}
    for path in paths:
        for compiler in chosen.values():
            folder = _project_folder(tree, path, compiler)
            if folder is not None:
                wanted.setdefault((compiler.tool, folder), []).append(path)
    return tuple(
        CompileJob(tool, chosen[tool].line, folder, tuple(about), chosen[tool].search)
        for (tool, folder), about in wanted.items()
    )


def command_jobs(
    paths: Sequence[str], commands: Iterable[CompileCommand]
) -> tuple[CompileJob, ...]:
    """Return the configured compile commands for changed paths."""
    jobs: list[CompileJob] = []
    for command in commands:
        about = _match_paths(command.glob, paths)
        tool = command.line.split(maxsplit=1)[0] if command.line.strip() else ""
        if about and "{file}" in command.line:
            jobs += [
                # The path comes from a proposal: quoted it is a single word for the shell, and with
                # `./` no option for the tool.
                CompileJob(tool, command.line.replace("{file}", _as_word(path)), "", (path,))
                for path in about
            ]
        elif about:
            jobs.append(CompileJob(tool, command.line, "", about))
    return tuple(jobs)


def _as_word(path: str) -> str:
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def find_needed_tools(tree: Path, commands: Sequence[CompileCommand] = ()) -> tuple[str, ...]:
    """Return the programs that compiling this tree may start."""
    from_manifests = [
        compiler.tool
        for compiler in compilers()
        if (tree / compiler.manifest).is_file()
        and not (compiler.local and (tree / compiler.local).exists())
    ]

    named = (tool for command in commands for tool in executables(command.line))
    return tuple(dict.fromkeys((*from_manifests, *named)))


def find_missing_compiler(
    tree: Path, paths: Iterable[str], found: Callable[[str], object]
) -> Finding | None:
    """Return the finding for a missing compiler of these paths, or None."""
    written = tuple(paths)
    if not written:
        return None
    chosen = {compiler.tool: compiler for compiler in compilers()}
    for job in project_jobs(tree, written):
        local, folder = chosen[job.tool].local, PurePosixPath(job.folder)
        own = local and any((tree / one / local).exists() for one in (folder, *folder.parents))
        if not own and found(job.tool) is None:
            return make_missing_tool(job.tool, job.paths)
    return None


def _project_folder(tree: Path, path: str, compiler: Compiler) -> str | None:
    """Return the folder of the nearest manifest for a path, or None."""
    pure = PurePosixPath(path)
    if pure.suffix not in compiler.suffixes and pure.name != compiler.manifest:
        return None
    for folder in pure.parents:
        if (tree / folder / compiler.manifest).is_file():
            return "" if folder == PurePosixPath() else folder.as_posix()
    return None


def _match_paths(glob: str, paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(ignore_rules((glob,)), paths))


def _run(job: CompileJob, run_command: RunCommand) -> _CompileResult:
    ran = run_command(job.search + job.line, folder=job.folder)
    if ran.passed:
        return _CompileResult(())
    output = _output(ran)
    if is_missing_tool(ran):
        return _CompileResult((make_missing_tool(job.tool, job.paths, ran.tail.strip()),))
    located = tuple(_locate(output, job.folder))
    if located and ran.ended == "exited":
        return _CompileResult(located, len(_ERROR.findall(output)) - len(located))
    is_over = ran.ended == "exited"
    how = f"ended with exit code {ran.exit}" if is_over else "timed out"
    finding = Finding(CHECK, f"`{job.line}` {how}", path=job.paths[0], detail=ran.tail)
    return _CompileResult((finding,), unplaced=output if is_over else "")


def _output(ran: Ran) -> str:
    """Return the start of the output, where compilers report the cause, else its tail."""
    if ran.log is None or not ran.log.is_file():
        return ran.tail
    with ran.log.open("rb") as log:
        return log.read(_READ).decode("utf-8", "replace")


_NUMBER = regex(r"\d+")
_ERROR = regex(r"^.*\berror\b.*$", re.MULTILINE | re.IGNORECASE)
# tsc if its output is not a terminal, and MSBuild.
_PARENTHESES = regex(
    r"(?P<path>[^\s(][^(]*)\((?P<line>\d+),(?P<column>\d+)\): (?P<message>error .*)"
)
# The format of most tools (GNU Coding Standards, "Formatting Error Messages").
_COLONS = regex(r"(?P<path>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):?)? (?P<message>.+)")
_RUSTC = regex(r" *--> (?P<path>[^:]+):(?P<line>\d+):(?P<column>\d+)")
_RUSTC_ERROR = regex(r"error(?:\[E\d+\])?: .*")


def _locate(output: str, folder: str) -> Iterable[Finding]:
    """Yield the places in a compiler's output, in its three common formats."""
    rust_error = ""
    for line in output.splitlines():
        text = line.rstrip()
        if _RUSTC_ERROR.fullmatch(text):
            rust_error = text
        elif rust_error and (found := _RUSTC.fullmatch(text)):
            yield _at(found, rust_error, folder)
            rust_error = ""
        elif found := _PARENTHESES.fullmatch(text) or _COLONS.fullmatch(text):
            yield _at(found, found["message"], folder)


def _at(found: re.Match[str], message: str, folder: str) -> Finding:
    path = PurePosixPath(folder, found["path"].removeprefix("./"))
    inside = not path.is_absolute() and ".." not in path.parts
    return Finding(
        CHECK,
        message,
        path=path.as_posix() if inside else "",
        # A compiler's output may contain a test's own text: `int` raises beyond 4,300 digits
        # (CVE-2020-10735).
        line=int(found["line"][:9]),
        column=int((found["column"] or "0")[:9]),
    )
