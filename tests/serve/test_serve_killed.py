"""An answer from the page is given whole or not at all, wherever its process is killed."""

import os
import shutil
import signal

import pytest
from site_plans import GREET, NOTE, journal

from runner import effects
from runner.app.answer.waiting import list_waiting
from runner.app.answer.waiting_document import digest_shown
from runner.repo.read import Repository
from runner.serve.application import FormInput, approve_item, reject_item, retry_task, save_plan
from runner.serve.builds import Build

MOST = 400


def waiting(build):
    project = build.open()
    with Repository.open(project.root) as repository:
        state = project.state()
        known = list_waiting(project, repository, state)
        return {one.task: digest_shown(project, state, one) for one in known if not one.answered}


def killed_at(number, act):
    """Whether the process that acts reached its effect of this number, and died there."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))

        def count(_kind, _target):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        effects.watch(count)
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    return status != 0


@pytest.fixture
def build(workplace):
    """Two things wait in it; as it stands is kept beside it."""
    workplace.plan(GREET, NOTE)
    assert workplace.run("--review", "prompt").code == 3
    kept = workplace.root.parent / "kept"
    shutil.copytree(workplace.root, kept, symlinks=True)
    return Build("shop", workplace.root, dict(os.environ)), kept


def as_it_was(workplace, kept):
    shutil.rmtree(workplace.root)
    shutil.copytree(kept, workplace.root, symlinks=True)


@pytest.mark.parametrize(
    ("act", "more", "kind"),
    [
        (approve_item, {}, "write.reviewed"),
        (reject_item, {"reason": "say good morning"}, "write.rejected"),
    ],
)
def test_an_answer_killed_at_any_step_is_one_decision_or_none(workplace, build, act, more, kind):
    served, kept = build
    seen = waiting(served)["TASK-001"]
    given = FormInput({"item": "TASK-001", "seen": seen, **more})
    ended = []
    for number in range(MOST):
        as_it_was(workplace, kept)
        if not killed_at(number, lambda: act(served, given)):
            break
        said = [one for one in journal(workplace, kind) if " via page by " in one["producer"]]
        assert len(said) <= 1, number
        ended.append(len(said))
        if said:  # it counts: whoever asks again is told
            assert "TASK-001" not in waiting(served), number
        else:  # it can be given still, and is one then
            act(served, given)
            said = [one for one in journal(workplace, kind) if " via page by " in one["producer"]]
            assert len(said) == 1, number
    assert sorted(ended) == ended, "a decision that was there is gone"
    assert set(ended) == {0, 1}
    assert workplace.runner("log").code == 0


def test_a_plan_saved_here_is_the_old_one_or_the_new_one(workplace, build):
    served, kept = build
    from runner.app.write.workplace import EditableText

    old = (workplace.root / "TASK-GRAPH.md").read_bytes()
    text = EditableText.of(old)
    new = text.text.replace("Greeting", "Salutation")
    given = FormInput({"seen": text.digest, "text": new})
    seen = set()
    for number in range(MOST):
        as_it_was(workplace, kept)
        if not killed_at(number, lambda: save_plan(served, given)):
            break
        seen.add((workplace.root / "TASK-GRAPH.md").read_bytes())
    assert seen <= {old, old.replace(b"Greeting", b"Salutation")}
    assert old in seen
    assert workplace.runner("validate").code == 0


def test_a_task_that_is_asked_for_again_is_so_once_or_not(workplace):
    workplace.plan(GREET.replace("'hello'", "'good day'"))
    assert workplace.run().code == 1
    kept = workplace.root.parent / "kept"
    shutil.copytree(workplace.root, kept, symlinks=True)
    served = Build("shop", workplace.root, dict(os.environ))
    asked = FormInput({"task": "TASK-001", "reason": "look at the test"})
    ended = []
    for number in range(MOST):
        as_it_was(workplace, kept)
        if not killed_at(number, lambda: retry_task(served, asked)):
            break
        ended.append(len(journal(workplace, "task.approved")))
    assert set(ended) == {0, 1}
    assert sorted(ended) == ended
