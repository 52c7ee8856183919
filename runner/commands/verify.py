"""`runner verify`, `evidence --check`, `ship`: prove again, or check an attestation.

`ship` proves everything together, declares SHIP in CHECKPOINT.md and tags the commit.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.app.build.done_before_run import last_ship_tag
from runner.app.prove.publish import find_request, publish_ship
from runner.app.prove.ship_and_tag import ShipRequest, ship
from runner.app.prove.task_evidence import (
    check_attestation,
    check_document,
    check_text,
    require_current,
)
from runner.app.prove.verify_done import (
    task_document,
    task_lines,
    verify_task,
    verify_whole,
    whole_document,
    whole_lines,
)
from runner.commands.output import (
    load_trusted_plan,
    open_with_gates,
    tell,
    with_flag,
)
from runner.errors import ExitCode, RunnerError
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.prove.publish import PullRequestDraft
    from runner.app.prove.ship_and_tag import Shipped
    from runner.project import Project
    from runner.run.proof.verification import Verified


def execute_verify(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Prove again; exit 1 where anything falls short, 3 where held-out files are missing."""
    whole = given.all or given.changed
    if bool(given.id) == whole or (given.all and given.changed):
        raise RunnerError(
            "name one task, --all or --changed" if whole else "name a task, or use --all",
            hint="`runner verify --all` tests everything, `runner verify TASK-001` one task",
        )
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust, again=with_flag(given, "--trust"))
    if whole:
        found = verify_whole(project, tell, changed_only=given.changed)
        lines = whole_lines(found.verified, found.not_done, found.grades)
        text = whole_document(found) if given.json else "\n".join(lines) + "\n"
        code = found.verified.code
    else:
        one = verify_task(project, given.id, tell)
        text = task_document(one) if given.json else "\n".join(task_lines(one)) + "\n"
        code = one.code
    print(redact(text), end="")
    return code


def check_statement(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Check the statement; exit 1 where it says what this repository does not."""
    data = _read(given.id)
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    found = check_attestation(project, data)
    passed, code = None, ExitCode.OK
    if given.run and not found.faults:
        load_trusted_plan(project, trusted=given.trust, again=with_flag(given, "--trust"))
        require_current(project, found)
        again = verify_task(project, found.name, tell) if found.kind == "task" else None
        code = again.code if again else verify_whole(project, tell).verified.code
        passed = code is ExitCode.OK
    render = check_document if given.json else check_text
    sys.stdout.write(redact(render(found, passed=passed)))
    return ExitCode.FAILED if found.faults else code


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise RunnerError(
            f"the attestation cannot be read: {error.strerror}",
            where=path,
            hint="create one with: runner evidence ID --format in-toto",
        ) from error


# --- declared finished ----------------------------------------------------------------


def execute_ship(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ship, or print what prevents it."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust, again=with_flag(given, "--trust"))
    pull = find_request(project) if given.pr else None
    if pull is not None and (tag := last_ship_tag(project, project.state())):
        return _publish(project, pull, tag, as_json=given.json)
    done = ship(
        project,
        ShipRequest(given.tag, given.unproven, given.strict, given.assurance == "independent"),
        tell,
    )
    if done.shortfall is not None:
        _print_shortfall(done.shortfall, as_json=given.json)
        return ExitCode.FAILED
    if pull is None or not given.json:
        _say(done, as_json=given.json)
    return _publish(project, pull, done.tag, as_json=given.json) if pull else ExitCode.OK


def _publish(project: Project, pull: PullRequestDraft, tag: str, *, as_json: bool) -> ExitCode:
    """Push what was shipped, maybe by an earlier ship, and open its pull request."""
    address = publish_ship(project, pull, tag)
    if as_json:
        commit = project.head().commit
        print(document("ship", shipped=True, tag=tag, commit=commit, pull_request=address), end="")
    else:
        print(f"pull request: {address}")
    return ExitCode.OK


def _print_shortfall(verified: Verified, *, as_json: bool) -> None:
    if as_json:
        shortfalls = verified.shortfalls
        print(document("ship", shipped=False, tag=None, shortfalls=shortfalls), end="")
    else:
        print("\n".join(whole_lines(verified)))
        print("not shipped: the tree does not pass all checks")


def _say(done: Shipped, *, as_json: bool) -> None:
    tag, commit, verified = done.tag, done.commit, done.verified
    if as_json:
        text = document(
            "ship",
            shipped=True,
            tag=tag,
            commit=commit,
            verified=verified,
            unproven=list(done.unproven),
            attestation=done.attestation,
        )
        print(text, end="")
        return
    print(f"SHIP: {plural(verified.tasks, 'task')} as {display(tag)} on {commit[:12]}")
    if done.unproven:
        print(f"shipped without a proof: {join_few(done.unproven)}; the tag gives the reasons")
    print(f"attestation: {done.attestation} (to check it: runner evidence --check)")
    print(f"to publish it: git push --follow-tags; to view it: git show {display(tag)}")
