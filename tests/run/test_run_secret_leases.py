"""A secret that a command says is one attempt's: told as its own, gone with it, missed by it."""

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from run_build import a_task

from runner.config.setting_values import SecretSource
from runner.config.settings import Settings
from runner.gates.regression import Suspects, Traced
from runner.model import Ending, Reason, Requirement
from runner.run.secret_leases import SecretLeases, lend_secrets, lend_to_traced
from runner.run.worker_assignment import Assignment


def a_user(id_, *names):
    return a_task(id_, requires=tuple(Requirement("secret", name) for name in names))


@dataclass
class Site:
    """As much of a slot as secrets are lent by, with what the journal heard."""

    leases: SecretLeases
    told: list = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def settings(self):
        return self.leases.settings

    @property
    def workers(self):
        return SimpleNamespace(report=self.hear)

    def hear(self, task, attempt, event):
        self.told.append((type(event).__name__, event.name, task, attempt))


@pytest.fixture
def site(tmp_path):
    sources = (
        SecretSource("MINE", "echo my-own-value"),
        SecretSource("THEIRS", "echo of-the-others"),
        SecretSource("AWAY", "exit 3"),
    )
    path = {"PATH": "/usr/bin:/bin"}
    return Site(SecretLeases(replace(Settings(), secret=sources), path, tmp_path))


@pytest.fixture
def assignment():
    fields = dict.fromkeys(("brief", "rules", "implementer", "review"))
    return Assignment(task=a_user("TASK-002", "MINE"), attempt=3, base="", **fields)


def reached(*names):
    return Suspects(traced=(Traced(a_user("TASK-001", *names), "TC-001", "a.txt", 0, "read"),))


def test_tests_of_others_have_theirs_by_the_attempt_that_runs_them(site, assignment):
    def work(lent, site):
        (traced,) = lend_to_traced(reached("THEIRS"), lent, site).traced
        assert (lent.secrets, traced.secrets) == (
            (("MINE", "my-own-value"),),
            (("THEIRS", "of-the-others"),),
        )
        return "done"

    assert lend_secrets(assignment, site, work) == "done"
    assert site.told == [
        ("SecretLeased", "MINE", "TASK-002", 3),
        ("SecretLeased", "THEIRS", "TASK-002", 3),
        ("SecretReturned", "MINE", "TASK-002", 3),
        ("SecretReturned", "THEIRS", "TASK-002", 3),
    ]


def test_one_that_is_not_to_be_had_later_blocks_the_task_too(site, assignment):
    outcome = lend_secrets(
        assignment, site, lambda lent, site: lend_to_traced(reached("AWAY"), lent, site)
    )
    assert (outcome.ending, outcome.reason) == (Ending.BLOCKED, Reason.SECRET)
    assert "AWAY is not available" in outcome.findings[0].message
    assert site.told[-1] == ("SecretReturned", "MINE", "TASK-002", 3)


def test_a_run_that_is_stopped_meanwhile_blames_no_secret(site, assignment):
    site.cancelled.set()
    away = replace(assignment, task=a_user("TASK-002", "AWAY"))
    outcome = lend_secrets(away, site, lend_to_traced)
    assert outcome.ending is Ending.INTERRUPTED
