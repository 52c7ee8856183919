"""Import the modules that every job needs when a worker starts.

A local cluster imports it once, in the process that its workers are forked from: imports, readers
of messages and patterns are work that the first job of each worker would do
else, and with 16 workers on two cores that is what a run waits for. Nothing here starts a process
or a thread, touches a file, or remembers what is of this process alone: forks would inherit it.
"""

import gc

from runner.config import paths as _paths
from runner.config import settings as _settings
from runner.context import brief as _brief
from runner.extensions.cluster import lease as _lease
from runner.extensions.cluster import message as _message
from runner.extensions.cluster import remote_worker as _remote_worker
from runner.gates import base as _gates
from runner.gates import check_run as _check_run
from runner.gates import junit as _junit
from runner.gates import registry as _registry
from runner.gates import script_targets as _script_targets
from runner.gates import touched_files as _touched_files
from runner.implementers import base as _implementers
from runner.model import (
    Ending,
    Level,
    Outcome,
    Proof,
    ReviewMode,
    Spec,
    Task,
    TestContract,
    Verdict,
)
from runner.plan.shell import shell_commands as _quiet_lines
from runner.plan.shell import syntax as _shell_syntax
from runner.process import base as _process
from runner.process import cgroups as _cgroups
from runner.process import child as _child
from runner.process import platform as _platform
from runner.process import sandbox as _sandbox
from runner.process import supervise as _course
from runner.repo import alternates as _alternates
from runner.repo import git as _git
from runner.repo import index_file as _index_file
from runner.repo import objects as _objects
from runner.repo import proposal_bounds as _proposal_bounds
from runner.repo import scratch as _scratch
from runner.repo import tree_files as _tree_files
from runner.repo import trees as _trees
from runner.repo import worktree_scan as _worktree_scan
from runner.run import permission_prompts as _permission_prompts
from runner.run import worker_assignment as _assignment
from runner.run import worker_setup as _worker_setup
from runner.run import workers as _spare_slots
from runner.secrets.redact import redact
from runner.writes.pipeline import WriteRules

__all__: list[str] = []

_LOADED = (
    *(_settings, _brief, _course, _scratch, _script_targets, _paths, _gates, _check_run),
    *(_junit, _touched_files, _registry, _implementers, _shell_syntax, _process, _cgroups, _child),
    *(
        _platform,
        _sandbox,
        _alternates,
        _git,
        _index_file,
        _objects,
        _proposal_bounds,
        _worktree_scan,
    ),
    *(_tree_files, _trees, _assignment, _permission_prompts, _spare_slots, _worker_setup, _lease),
    *(_message, _remote_worker),
)
"""Modules that a job of a check needs."""


def _rehearse() -> None:
    """Read a job, judge its command by its words, and write its answer, as for a check."""
    test = TestContract("TC-001", Level.UNIT, "true")
    task = Task("TASK-001", "", 1, Spec("", ""), test_contracts=(test,))
    given = _assignment.Assignment(
        task=task,
        attempt=1,
        base="",
        brief=_brief.Brief(task, 1, (), (), "", ""),
        rules=WriteRules("", task.id, 1, ()),
        implementer=None,
        review=ReviewMode.OFF,
    )
    ground = _message.Ground("", "", "sha1", "", "", b"", ("", ""))
    sent = _message.Job("", "", ground, "", _settings.Settings(), _message.Work(given))
    job = _message.read_job(_message.as_bytes(sent))
    for check in _registry.checks_of(task, job.settings):
        list(_script_targets.behind(check.command, lambda _path: None))
        _quiet_lines.starts_no_program(check.command)
    proof = Proof(test.id, "test", redact(test.command), Verdict.PASS, 0, 0.0, "")
    outcome = Outcome(task.id, 1, Ending.PASSED, "", "", proofs=(proof,))
    _message.as_bytes(_message.JobAnswer("", "", outcome=outcome))


_rehearse()
# Freeze loaded objects: else each fork scans them for cycles, which copies pages that it only read
# (Python, gc.freeze).
gc.collect()
gc.freeze()
