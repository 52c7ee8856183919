"""Agents are slow and cost money: only a few work at once, however many jobs there are."""

import threading
import time
from dataclasses import dataclass, field

import pytest

from runner.implementers import registry
from runner.implementers.base import Mode, WorkResult
from runner.model import TaskPlan


@dataclass
class SlowAgent:
    """Waits as for a model, and counts who waits with it."""

    name: str = "slow"
    is_agent: bool = True
    repeatable: bool = False
    most: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def for_task(self, _task, _settings):
        return self

    def implement(self, brief, context):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.15)
        path = f"{brief.task.id}.txt"
        if context.mode is Mode.EXECUTE:
            (context.place.tree / path).write_text("made\n")
        with self._lock:
            self._now -= 1
        return WorkResult("made it", plan=TaskPlan(("write it",), (path,)))


@pytest.fixture
def agent(monkeypatch):
    found = SlowAgent()
    monkeypatch.setitem(registry.IMPLEMENTERS, "slow", found)
    return found


def built(workplace, agents):
    workplace.write({"runner.toml": f"proof.default_gates = false\nbuild.agents = {agents}\n"})
    workplace.plan(
        *(
            f"## TASK-00{n}: task {n}\n\n- Output files: `TASK-00{n}.txt`\n- Implementer: slow\n"
            for n in range(1, 6)
        )
    )
    return workplace.run("-j", "5", "--no-sandbox", "--no-verify-at-end", "--review", "off")


def test_five_tasks_of_agents_on_five_jobs_with_two_places(workplace, agent):
    said = built(workplace, 2)
    assert said.code == 0, said.said
    assert agent.most == 2


def test_with_a_place_for_each_all_of_them_work_at_once(workplace, agent):
    """Else the story above would prove nothing."""
    assert built(workplace, 5).code == 0
    assert agent.most > 2
