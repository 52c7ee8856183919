"""An agent that plays a script: one step an attempt, and what it was told is kept."""

from dataclasses import dataclass, field

from runner.implementers.base import WorkResult
from runner.implementers.registry import IMPLEMENTERS
from runner.model import Failure, Finding, Usage

ALONE = {
    "IMPLEMENTER": "scripted",
    "PLAN_FIRST": "false",
    "REVIEW": "off",
    "RED_FIRST": "never",
    "BACKOFF": "0",
    "SANDBOX": "none",
    "MUTATION": "off",
}
"""Settings by which a story is about the attempts, and about nothing else."""


@dataclass
class Script:
    """Steps by task; the last one is played again where more attempts come."""

    steps: dict
    told: list = field(default_factory=list)
    """(task, brief, bench) of every attempt."""

    def play(self, brief, context):
        self.told.append((brief.task.id, brief, context))
        number = sum(id_ == brief.task.id for id_, _, _ in self.told) - 1
        steps = self.steps[brief.task.id]
        step = steps[min(number, len(steps) - 1)]
        return step(context) if callable(step) else step

    def attempts(self, task="TASK-001"):
        return [(brief, context) for id_, brief, context in self.told if id_ == task]

    def installed(self, monkeypatch):
        """The script as the implementer `scripted` of this test."""
        script = self

        class Scripted:
            name, repeatable, is_agent = "scripted", False, True

            @classmethod
            def for_task(cls, _task, _settings):
                return cls()

            def implement(self, brief, context):
                return script.play(brief, context)

        monkeypatch.setitem(IMPLEMENTERS, "scripted", Scripted)
        for name, value in ALONE.items():
            monkeypatch.setenv(f"RUNNER_{name}", value)
        return script


def writes(files, **said):
    """A step that writes these files."""

    def step(context):
        for path, text in files.items():
            (context.place.tree / path).write_text(text)
        return WorkResult(**said)

    return step


def fails(failure, message, **said):
    """A step that comes to nothing for a reason of its own."""
    return WorkResult(findings=(Finding("implementer", message),), failure=failure, **said)


OVERLOADED = fails(Failure.TRANSIENT, "the provider is overloaded")
A_CALL = Usage(input_tokens=500, output_tokens=100, dollars=0.25, tool_calls=4)


def lingers(context):
    """A session that goes on until somebody ends it, and says so as every implementer does."""
    assert context.cancelled.wait(30)
    return WorkResult(findings=(Finding("implementer", "the session was cancelled"),))
