"""Check whether the runner can and may build in this repository now.

Reports what is missing for a run. Before the first run in a repository, shows its commands and asks
a person for trust.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from runner.app.build.done_before_run import find_missing
from runner.app.inspect import requirements
from runner.config.paths import expand_home
from runner.config.settings import Settings
from runner.config.stack import detect_stack
from runner.config.trust import Trust, commands_shown, group_alike
from runner.errors import ExitCode, RunnerError
from runner.implementers.agents.preset import is_acp
from runner.implementers.registry import AGENTS, agent_of, choose, next_model
from runner.journal.events import TaskReopened
from runner.model import BlockKind, Network
from runner.plan import edit
from runner.plan.proofs import find_examples
from runner.process.environments import is_in_dependencies
from runner.process.sandbox import explain_opening, landlock_gaps, sandbox_of
from runner.repo.git import text
from runner.repo.head import PLANS
from runner.repo.repo_state import require_no_windows_drive
from runner.report.decisions_file import BUILD, find_run_files
from runner.run.worktree_include import FILE_NAME, match_in
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from runner.app.build.session import Session
    from runner.journal.state import RunState
    from runner.model import GateSpec, Task
    from runner.plan.document import Plan
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.repo.repo_state import RepoState
    from runner.run.review import Asker


_GO_HINT = """each Go command compiles Go's library anew; to use your build cache: \
sandbox.read = ["~/.cache/go-build"] in ~/.config/runner/runner.toml"""
_SHOWN = 10


def require_suitable(
    repository: Repository, own: frozenset[str], *, allow_dirty: bool
) -> tuple[str, ...]:
    """Return warnings before a run. Raises RunnerError for uncommitted changes or a merge.

    Raises RunnerError for uncommitted changes of tracked files, for a merge in progress and for a
    folder on a drive of Windows.
    """
    require_no_windows_drive(repository.root)
    facts = repository.state()
    if facts.ongoing:
        raise RunnerError(
            f"a {facts.ongoing} is in progress",
            hint=f"finish it (git {facts.ongoing} --continue) or abort it (--abort)",
        )
    changed = [file.path for file in facts.dirty if file.path not in own]
    committed = find_run_files(changed)
    dirty = [
        path
        for path in changed
        if path not in committed and not _differs_only_in_new_statuses(repository, path)
    ]
    if dirty and not allow_dirty:
        raise RunnerError(
            "there are uncommitted changes",
            detail=_format_paths(dirty),
            hint="commit them, or add --allow-dirty to build on HEAD without them",
        )
    notices = _notices(facts, repository, own, dirty)
    return (*notices, *([_warn_of_run_files(repository, committed)] if committed else []))


def _differs_only_in_new_statuses(repository: Repository, path: str) -> bool:
    """Return whether a file is another plan whose uncommitted changes are statuses only.

    A run of that plan that built nothing leaves them uncommitted.
    """
    if PurePath(path).name != PLANS[0]:
        return False
    committed = repository.blob("HEAD", path)
    try:
        now = (repository.root / path).read_bytes()
    except OSError:
        return False
    return committed is not None and edit.differs_only_in_statuses(committed, now)


def _warn_of_run_files(repository: Repository, changed: tuple[str, ...]) -> str:
    """Return a warning that git tracks run files, so a branch switch would overwrite them."""
    out = repository.git.run("ls-files", "-z", "--", repository.prefix.whole(BUILD))
    tracked = find_run_files(map(repository.prefix.inside, text(out).split("\0")))
    parts = {"/".join(path.split("/")[:3]) for path in tracked or changed}
    return (
        "git tracks files that runs write, so a checkout could replace them: "
        f"git rm -r -q --cached {' '.join(sorted(parts))}, then commit"
    )


def _notices(
    facts: RepoState, repository: Repository, own: frozenset[str], dirty: list[str]
) -> Iterator[str]:
    if dirty:
        yield f"not committed, so tasks can't see it:\n{_format_paths(dirty)}"
    seen = own | {path for path in facts.untracked if is_in_dependencies(repository.root, path)}
    untracked = [path for path in facts.untracked if path not in seen]
    if untracked:
        yield f"untracked, so tasks can't see it (git add and commit):\n{_format_paths(untracked)}"
    if facts.head.detached:
        yield "HEAD is detached: commits land on no branch (git switch -c NAME keeps them)"
    if facts.submodules:
        names = ", ".join(facts.submodules)
        yield f"submodules are not checked out (git submodule update --init): {names}"
    if facts.lfs:
        yield "tasks see Git LFS files as pointers and cannot write them"
    if facts.autocrlf:
        yield "line endings are converted on checkout: tasks see and land them as git stores them"
    if facts.sparse:
        yield "the checkout is sparse: tasks see the whole tree"
    if (who := repository.identity()).invented:
        yield f"git user.name is not set: commits are made as {who.name} <{who.email}>"


def limits_of(project: Project, plan: Plan, *, terminal: bool) -> tuple[str, ...]:
    """Return warnings about limits of this machine or environment, to show before a run."""
    unseen = () if terminal else _warn_without_review(project, plan)
    matches = match_in(project.root, project.settings)
    copied = matches.lines if matches else ()
    lines = (*_warn_of_sandbox(project, plan), *_without_compilers(project))
    return (*copied, *lines, *find_unheld_bounds(project), *unseen)


def find_unheld_bounds(project: Project) -> tuple[str, ...]:
    """Return the command limits that this machine does not enforce, or only partly."""
    settings = project.settings
    if not (settings.limits.processors or settings.limits.disk or settings.limits.io):
        return ()
    from runner.process.cgroups import explain_unheld
    from runner.process.limits import Limits, apply_bounds, with_device

    project.cache.mkdir(parents=True, exist_ok=True)  # where scratch trees are
    return explain_unheld(with_device(apply_bounds(Limits(), settings), project.cache))


def _warn_of_sandbox(project: Project, plan: Plan) -> tuple[str, ...]:
    """Return warnings for a run without a sandbox, and what a sandbox hides from Go."""
    sandbox = sandbox_of(project.settings, project.environ)
    by_flag = project.loaded.sources.get("sandbox.kind", "").startswith("--")
    reason = "set on the command line" if by_flag else sandbox.reason
    why = f": {reason}" if reason else ""
    if sandbox.encloses:
        return _find_go_hint(project)
    lines = [f"commands run with all your permissions, without a sandbox{why}"]
    if any(task.held_out_contracts or task.test_author for task in plan.tasks):
        lines.append("held-out tests are not hidden: an implementer could read their files")
    if project.settings.sandbox.kind == "none":
        return tuple(lines)
    read = tuple(map(expand_home, project.settings.sandbox.read))
    gaps = "; ".join(landlock_gaps(read))
    second = (f"Landlock would isolate them, but: {gaps}",) if gaps else ()
    return (*lines, f"to isolate them: {explain_opening()}", *second)


def _find_go_hint(project: Project) -> tuple[str, ...]:
    """Return how commands in the sandbox can read the person's build cache of Go."""
    cache, read = expand_home("~/.cache/go-build"), map(expand_home, project.settings.sandbox.read)
    uses = cache.is_dir() and cache not in read and "go" in detect_stack(project.root).names
    return (_GO_HINT,) if uses else ()


def _without_compilers(project: Project) -> tuple[str, ...]:
    """Return a line for missing compilers, now rather than in the middle of the run."""
    missing = ", ".join(requirements.find_missing_compilers(project))
    return (
        (f"changed files are rejected, since their compilers are not on PATH: {missing}",)
        if missing
        else ()
    )


def _is_unseen(task: Task, settings: Settings) -> bool:
    """Return whether an agent or command writes the task's files without a review setting."""
    by_others = agent_of(task, settings) or getattr(choose(task, settings), "name", "") == "command"
    return bool(by_others) and task.writes_anything and task.review is None


def _warn_without_review(project: Project, plan: Plan) -> tuple[str, ...]:
    """Return a warning if unreviewed writes can land and no review setting was chosen."""
    settings = project.settings
    if (
        not any(_is_unseen(task, settings) for task in plan.tasks)
        or settings.review.mode is not None
        or settings.floor.review is not None
    ):
        return ()
    return ("not a terminal: changes are not reviewed (--review prompt holds them for you)",)


def _format_paths(paths: list[str]) -> str:
    lines = [f"  {display(path)}" for path in paths[:_SHOWN]]
    if len(paths) > _SHOWN:
        lines.append(f"  … and {len(paths) - _SHOWN} more")
    return "\n".join(lines)


# --- tasks that were taken away --------------------------------------------------------


def confirm_removed_tasks(
    session: Session, ids: Collection[str], *, yes: bool, asker: Asker | None
) -> None:
    """Ask about DONE tasks that were taken out of the plan; a yes is kept, and asked once.

    Their code stays. Raises RunnerError (exit 3) where nobody says yes.
    """
    missing = find_missing(session.journal.state, ids)
    gone = _were_there(session.project, session.repository, session.journal.state, missing)
    if not gone:
        return
    named = ", ".join(gone)
    question = f"{named} was DONE and is no longer in the plan. Confirm? (its code stays) [y/N] "
    if not (yes or (asker is not None and asker.choose("", question) in ("y", "yes"))):
        raise RunnerError(
            f"{named} was DONE and is no longer in the plan; nothing has run",
            hint="restore the section, or confirm: `runner run --yes`;"
            " `runner undo ID` reverts its code",
            code=ExitCode.PERSON,
        )
    for id_ in gone:
        known = session.journal.state.task(id_)
        event = TaskReopened(note="taken out of the plan", by="plan")
        session.journal.note(event, task=id_, attempt=known.last_attempt, durable=True)


def _were_there(
    project: Project, repository: Repository, state: RunState, ids: Collection[str]
) -> list[str]:
    """Return those task IDs that this plan contained when the last run on this branch ended.

    Nor are those of another branch: there the last run's end is no ancestor.
    """
    last = state.ended_head
    if not (ids and last and repository.is_ancestor(last, repository.head().commit or "")):
        return []
    data = repository.blob(last, project.plan_path)
    had = {task.id for task in project.plan(data).tasks} if data else set()
    return [id_ for id_ in ids if id_ in had]


_FIRST = "this plan runs commands on your machine"
_NEW = "this repository has new commands that you have not trusted yet"
_QUESTION = "run them, now and in later runs of this repository? [y/N] "
_QUESTION_DETAILS = "run them, now and in later runs of this repository? [y/N], [d]etails "
_AGENT = "the agent program {}, with your login and the network"


def require_trust(
    project: Project,
    plan: Plan,
    *,
    trusted: bool,
    asker: Asker | None,
    again: str = "runner --trust",
) -> None:
    """Raise RunnerError (exit 3) unless a person lets this repository's commands run.

    Asked once a repository, kept in the user's state folder, and once more for what its settings
    bring later and for agents that it calls later. `--trust` and `CI=true` are a yes.
    `again` is what to type to say so: it starts no more than what was asked for.
    """
    trust = Trust(project.places.state)
    # Reversed, so that of several sources of a line the first is named.
    brought = {line: who for who, line in reversed(tuple(_list_repository_commands(project, plan)))}
    given = trust.is_given(project.root)
    if given and not trust.covers_later_plans(project.root):
        brought |= {
            line: who for who, line in reversed(tuple(list_commands(project, plan))) if line
        }
    if given:
        unseen = trust.list_unseen(project.root, reversed(brought))
        shown = commands_shown((brought[line], line) for line in unseen)
    else:
        shown = commands_shown(list_commands(project, plan))
    if not shown or project.environ.get("CI", "").lower() == "true":
        return
    if trusted:
        trust.give(project.root, "--trust", brought)
        return
    if asker is not None and _ask(asker, f"{_NEW if given else _FIRST}:", shown):
        trust.give(project.root, "asked", brought)
        return
    raise RunnerError(
        f"{_NEW}; nothing has run"
        if given
        else "this repository's commands are not trusted yet; nothing has run",
        detail="\n".join(f"  {display(redact(line))}" for line in shown),
        hint=f"read them, then: {again}",
        code=ExitCode.PERSON,
    )


def carry_trust(source: Project, clone: Project, plan: Plan) -> None:
    """Trust a clone's commands as far as the person trusts the same ones in `source`.

    Raises RunnerError (exit 3) for a `source` that is not trusted, and for what its settings, or
    agents, were not when the person was asked. `CI=true` is a yes, as everywhere.
    """
    if clone.environ.get("CI", "").lower() == "true":
        return
    trust = Trust(source.places.state)
    brought = {line: who for who, line in reversed(tuple(_list_repository_commands(clone, plan)))}
    if not trust.covers_later_plans(source.root):
        raise RunnerError(
            "this repository's commands are not trusted yet; nothing has run",
            hint="read its plan and settings, then: runner team bridge github --trust",
            code=ExitCode.PERSON,
        )
    unseen = trust.list_unseen(source.root, reversed(brought))
    if unseen:
        shown = commands_shown((brought[line], line) for line in unseen)
        raise RunnerError(
            f"{_NEW}; nothing has run",
            detail="\n".join(f"  {display(redact(line))}" for line in shown),
            hint="read them, then: runner team bridge github --trust",
            code=ExitCode.PERSON,
        )
    trust.give(clone.root, "bridge", brought)


def _ask(asker: Asker, head: str, shown: tuple[str, ...]) -> bool:
    """Ask for consent, grouping similar commands; the full list is shown on request."""
    grouped = group_alike(shown)
    question = _QUESTION if len(grouped) == len(shown) else _QUESTION_DETAILS
    lines = grouped
    while True:
        text = "\n".join([head, *(f"  {display(redact(line))}" for line in lines)])
        answer = asker.choose(text, question)
        if answer not in ("d", "details") or question == _QUESTION:
            return answer in ("y", "yes")
        lines, question = shown, _QUESTION


def _list_repository_commands(project: Project, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the commands of the repository's settings and its agents, with the source of each.

    A plan's commands are not among them: it is edited all the time, and each of them runs in the
    sandbox. Neither are gates that its manifests declare, since their words are ours.
    """
    settings, sources = project.settings, project.loaded.sources
    yield from _list_included(project)
    files = {name: file for name, source in sources.items() if (file := _file(source))}
    keys = {
        name.rpartition(".")[2]: file for name, file in files.items() if name.startswith("gates.")
    }
    gates = (*settings.gates, *(gate for _, typed in settings.gates_by_type for gate in typed))
    yield from ((keys[gate.name], _gate(gate)) for gate in gates if gate.name in keys)
    for glob, command in settings.compile:
        if (name := f"compile.{glob}") in files:
            yield files[name], f"{command} (compiles {glob})"
    if "build.command" in files:
        yield files["build.command"], settings.build.command
    yield from _agents(settings, files, plan)


def _list_included(project: Project) -> Iterator[tuple[str, str]]:
    """Yield the ignored files that the repository copies into scratch trees.

    A person's own setting names more, without a question.
    """
    matches = match_in(project.root, Settings())
    for name in matches.names if matches else ():
        yield FILE_NAME, f"copies {name}, which git ignores, to where commands and agents run"


def _gate(gate: GateSpec) -> str:
    network = "" if gate.network is Network.NO else f" (network: {gate.network})"
    return f"{gate.command}{network}"


def _agents(settings: Settings, files: Mapping[str, str], plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the agents and models that the settings or the plan use, with the setting or task."""
    named = {task.implementer.casefold(): task.id for task in reversed(plan.tasks)}
    if file := files.get("build.implementer"):
        named.setdefault(settings.build.implementer.casefold(), file)
    for name in (*AGENTS, *sorted(filter(is_acp, named))):
        if name in named:
            with_key = name == "model"
            yield named[name], "a model, with your key" if with_key else _AGENT.format(name)
    for setting in ("plan", "execute", "review", "draft"):
        if file := files.get(f"model.{setting}"):
            yield file, f"model_{setting} = {getattr(settings.model, setting)}"
    if file := files.get("model.escalate"):
        yield file, f"model_escalate = {', '.join(settings.model.escalate)}"


def _file(source: str) -> str:
    """Return the repository's settings file in a setting's source; empty for any other source."""
    file = source.partition(":")[0]
    return file if file in ("runner.toml", "pyproject.toml") else ""


def list_commands(project: Project, plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield every command that a run would start, with the task or setting that defines it."""
    yield from _list_included(project)
    for gate in project.settings.gates:
        yield "settings", gate.command
    for _, gates in project.settings.gates_by_type:
        yield from (("settings", gate.command) for gate in gates)
    yield from (("settings", command) for _, command in project.settings.compile)
    for task in plan.tasks:
        yield from ((task.id, line) for line in _worker(task, project.settings))
        for block in task.blocks:
            if block.kind is BlockKind.RUN:
                yield task.id, block.text
        yield from ((task.id, contract.command) for contract in task.test_contracts)
        yield from ((task.id, c.value) for c in task.contracts if c.kind == "command")
        yield from ((task.id, gate.command) for gate in task.gates)
        if code := find_examples(task):
            yield task.id, code


def _worker(task: Task, settings: Settings) -> Iterator[str]:
    """Yield who works on a task: a model, an agent with the person's login, or a command."""
    name = agent_of(task, settings)
    if name == "model":
        named = next_model(task, settings, 0) or settings.model.execute
        yield f"a model, with your key: {named or 'not set yet'}"
    elif name:
        yield _AGENT.format(name) + (f", model {display(task.model)}" if task.model else "")
    if task.command:
        yield task.command
    elif not name:
        yield settings.build.command


# --- commit hooks ---------------------------------------------------------------------


_HOOKS = ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit")
_PRE_COMMIT = ".pre-commit-config.yaml"
_HUSKY = ".husky/pre-commit"
_COPY = "scripts/pre-commit"


def explain_commit_hooks(repository: Repository, settings: Settings) -> str:
    """Return a note on commit hooks that do not run and the gate to add; empty if not needed.

    Hooks run programs of the repository, so the runner's commits run none: a gate runs in the
    sandbox, before anything lands.
    """
    hooks = _find_hooks(repository)
    commands = [gate.command for gate in settings.gates]
    commands += [gate.command for _, gates in settings.gates_by_type for gate in gates]
    words = ("pre-commit", ".husky", "hooks/")
    if not hooks or any(word in command for command in commands for word in words):
        return ""
    gate = _make_gate(repository, hooks)
    shown = ", ".join(hooks)
    if gate is None:
        return f"commit hooks do not run on the runner's commits: {shown}"
    command, first = gate
    # A `gates` table replaces the gates that the repository declares.
    lines = [f"  {one.name} = {json.dumps(one.command)}" for one in settings.gates]
    lines.append(f"  hooks = {json.dumps(command)}")
    return "\n".join(
        (
            f"commit hooks do not run on the runner's commits: {shown}; {first}add to runner.toml:",
            "  [gates]",
            *lines,
        )
    )


def _find_hooks(repository: Repository) -> tuple[str, ...]:
    """Return the names of the commit hooks that git would run here."""
    top, common = repository.folders.top, repository.folders.common
    values = repository.configuration().entries
    # Options that the runner passes to every git are not the user's settings.
    named = [one.value for one in values if one.key == "core.hookspath" and one.scope != "command"]
    folder = top / Path(named[-1]).expanduser() if named else common / "hooks"
    hooks = (folder / name for name in _HOOKS)
    found = [one for one in hooks if one.is_file() and os.access(one, os.X_OK)]
    shown = [os.path.relpath(one, top) for one in found]
    if (top / _HUSKY).is_file() and not any(".husky" in one for one in shown):
        shown.append(_HUSKY)
    if (top / _PRE_COMMIT).is_file() and not shown:
        shown.append(_PRE_COMMIT)
    return tuple(shown)


def _make_gate(repository: Repository, hooks: tuple[str, ...]) -> tuple[str, str] | None:
    """Return a gate command that replaces the commit hooks and its setup command, or None."""
    top = repository.folders.top
    if (top / _PRE_COMMIT).is_file():
        return "pre-commit run --files {files}", ""
    if (top / _HUSKY).is_file():
        return _on_staged(repository, f"sh {_HUSKY}"), ""
    hook = next((one for one in hooks if one.endswith("/pre-commit")), "")
    if not hook:
        return None
    head = repository.head().commit
    inside = repository.prefix.inside(hook)
    if head and repository.tree_entries(head, [inside]):
        return _on_staged(repository, f"./{shlex.quote(hook)}"), ""
    copy = f"mkdir -p scripts && cp {shlex.quote(hook)} {_COPY} && git add {_COPY} && git commit"
    return _on_staged(
        repository, f"./{_COPY}"
    ), f"copy it into the repository (`{copy} -m hooks`) and "


def _on_staged(repository: Repository, command: str) -> str:
    """Return a shell command that stages all files and runs `command` in the top folder.

    As git does, they run in the repository's own folder.
    """
    up = os.path.relpath(repository.folders.top, repository.root)
    return f"sh: {'' if up == '.' else f'cd {up} && '}git add -A && {command}"
