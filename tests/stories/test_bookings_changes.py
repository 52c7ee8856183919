"""The bookings example changes: its rule, its specification, its history.

Whole runs with the real plan up to its API, built once and copied for each story.
"""

import shutil
from pathlib import Path

import pytest
from workplace import Workplace

EXAMPLE = Path(__file__).parents[2] / "examples" / "bookings"
SETTINGS = "proof.contract_examples = 5\nproof.verify_at_end = false\n"
RULE = "one.start < other.end and other.start < one.end"
TOUCHING = "one.start <= other.end and other.start <= one.end"
TASK_009 = """\
## TASK-009: Bookings that touch overlap

- Status: PENDING
- Depends on: TASK-003
- Output files: `booking/overlap.py`, `tests/test_overlap.py`
- Test contracts:
  - TC-009 (unit): `python3 -m unittest -q tests.test_overlap`

The room is cleaned between two guests.

"""
BACK_TO_BACK = """\
        for document in (NEXT, MORNING, LATER):
            self.assertEqual(self.book(document)[0], 201)
"""
CLEANED_BETWEEN = """\
        for document, status in ((MORNING, 201), (NEXT, 409), (LATER, 201)):
            self.assertEqual(self.book(document)[0], status)
"""


def up_to_the_api():
    text = (EXAMPLE / "TASK-GRAPH.md").read_text("utf-8")
    return text.split("## TASK-009:")[0]


def block(text, path):
    """A fenced file of the plan, as it stands there."""
    start = text.index(f"```python file={path}")
    return text[start : text.index("\n```\n", start) + 5]


def touching():
    """The task that changes the rule and its own test, and nobody else's."""
    text = up_to_the_api()
    rule = block(text, "booking/overlap.py").replace(RULE, TOUCHING)
    test = block(text, "tests/test_overlap.py")
    old = "a_booking(9, 10), a_booking(10, 11), expected=False"
    assert old in test
    test = test.replace(old, old.replace("False", "True"))
    return f"{TASK_009}{rule}\n{test.replace('back_to_back_is_fine', 'back_to_back_overlaps')}"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The example up to its API, and the home folder it was built from."""
    folder = tmp_path_factory.mktemp("bookings")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(folder / "home" / name))
        shutil.copytree(EXAMPLE, folder / "service")
        place = Workplace.begin(folder / "service", folder / "home")
        place.commit({"runner.toml": SETTINGS, "TASK-GRAPH.md": up_to_the_api()})
        ended = place.run()
        assert ended.code == 0, ended.said
    return place


@pytest.fixture
def service(built, workplace):
    """A copy of it that a test may spoil."""
    shutil.copytree(built.root, workplace.root, dirs_exist_ok=True)
    return workplace


def begun(place, since):
    """Tasks and modes of the attempts that began after so many records."""
    later = [one for one in place.events[since:] if one["type"] == "attempt.started"]
    return {(one["task"], one.get("mode", "build")) for one in later}


def tree(place):
    """Path and blob of everything that is no document of the runner's."""
    listed = place.git("ls-tree", "-r", "HEAD").splitlines()
    ours = ("\tartifacts/", "\tTASK-GRAPH.md", "\tFILE_OWNERSHIP_MAP.md", "\t.gitignore")
    return [line for line in listed if not any(one in line for one in ours)]


@pytest.mark.nightly(
    sibling="tests/gates/test_gates_base_result.py::test_another_tasks_contract_is_measured_against_the_tree_before"
)
def test_a_changed_rule_breaks_the_api_halts_and_both_ways_out_work(service):
    before = tree(service)
    service.commit({"TASK-GRAPH.md": service.read("TASK-GRAPH.md") + touching()})
    ended = service.run()
    assert ended.code == 4, ended.said
    statuses = service.statuses
    assert (statuses.pop("TASK-008"), statuses.pop("TASK-009")) == ("STALE", "BLOCKED")
    assert set(statuses.values()) == {"DONE"}
    assert "TASK-009 changed booking/overlap.py:8; TC-008 fails" in service.status_line("TASK-008")
    assert "waits for you to approve or reject TASK-008" in service.status_line("TASK-009")
    assert "test_back_to_back_is_not_taken" in service.runner("review", "TASK-009").out
    assert tree(service) == before
    held = service.root.parent / "held"
    shutil.copytree(service.root, held)

    assert service.runner("reject", "TASK-009", "--reason", "guests clean up").code == 0
    assert service.statuses["TASK-008"] == "DONE"
    assert service.statuses["TASK-009"] == "PENDING"
    assert tree(service) == before
    assert "guests clean up" in service.runner("brief", "TASK-009").out

    shutil.rmtree(service.root)
    shutil.move(held, service.root)
    service.edit_plan(BACK_TO_BACK, CLEANED_BETWEEN)
    assert service.runner("approve", "TASK-008").code == 0
    since = len(service.events)
    ended = service.run()
    assert ended.code == 0, ended.said
    assert set(service.statuses.values()) == {"DONE"}
    assert TOUCHING in service.read("booking/overlap.py")
    assert CLEANED_BETWEEN in service.read("tests/test_api.py")
    assert service.landings[-2:] == ["TASK-009", "TASK-008"]
    assert {task for task, _ in begun(service, since)} == {"TASK-008", "TASK-009"}


@pytest.mark.nightly(
    sibling="tests/app/test_app_change.py::test_a_change_makes_stale_what_was_built_on_the_old_words"
)
def test_a_changed_specification_is_previewed_marked_and_waits(service):
    before, since = tree(service), len(service.events)
    seen = service.runner("!change", "TASK-005", "times are shown in UTC", "-n")
    assert seen.code == 0, seen.said
    assert "TASK-005" in seen.said
    assert "TASK-008" in seen.said
    assert "TASK-004" not in seen.said
    assert service.statuses["TASK-005"] == "DONE"
    assert len(service.events) == since

    assert service.runner("!change", "TASK-005", "times are shown in UTC", "--yes").code == 0
    stale = {id_ for id_, status in service.statuses.items() if status == "STALE"}
    assert stale == {"TASK-005", "TASK-008"}
    service.commit()
    assert service.run().code == 3
    assert begun(service, since) == set()

    text = block(service.read("TASK-GRAPH.md"), "booking/json_form.py")
    old = text.splitlines()[1]
    service.edit_plan(old, f"{old}\n# Times are shown in UTC.")
    service.commit()
    assert service.runner("approve", "TASK-005").code == 0
    ended = service.run()
    assert ended.code == 0, ended.said
    assert set(service.statuses.values()) == {"DONE"}
    assert begun(service, since) == {("TASK-005", "build"), ("TASK-008", "prove")}
    differing = {line.split("\t")[1] for line in set(tree(service)) ^ set(before)}
    assert differing == {"booking/json_form.py"}


@pytest.mark.nightly(
    sibling="tests/history/test_history_reuse.py::test_after_a_replay_the_same_bytes_land_again"
)
def test_what_is_rolled_back_is_built_again_byte_for_byte_with_nobody_implementing(service):
    before, since = tree(service), len(service.events)
    ended = service.runner("!replay", "TASK-003", "--yes")
    assert ended.code == 0, ended.said
    assert not service.has("booking/api.py")
    ended = service.run("--reuse")
    assert ended.code == 0, ended.said
    assert tree(service) == before
    again = begun(service, since)
    assert again
    assert {mode for _, mode in again} == {"prove"}
    assert set(service.statuses.values()) == {"DONE"}
