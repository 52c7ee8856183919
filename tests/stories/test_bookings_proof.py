"""The API of examples/bookings is not DONE until it is proven; what is DONE is proven again.

Whole runs with the real plan; a mistake is put into the block of its API task, and mended there.
"""

import re
import shutil
from pathlib import Path

import pytest
from workplace import Workplace, a_task

EXAMPLE = Path(__file__).parents[2] / "examples" / "bookings"
FEW = "proof.contract_examples = 10\n"
"""Random requests an operation: enough here, and soon done."""
MADE = "return Answer(HTTPStatus.CREATED, to_json(booking), (location,))"
UNSAID = MADE.replace(
    "to_json(booking)", '{k: v for k, v in to_json(booking).items() if k != "end"}'
)
CONFLICT = "return _problem(HTTPStatus.CONFLICT, str(error))"
LAST_LINE = 'app = Api(Store(os.environ.get("BOOKING_DB", ":memory:")))\n'


def uncalled(lines):
    """A function of so many lines that no test calls."""
    body = "".join(f"    n = {n}\n" for n in range(lines - 1))
    return f"{LAST_LINE}\n\ndef uncalled() -> int:\n{body}    return n\n"


@pytest.fixture(scope="module")
def before_the_api(tmp_path_factory):
    """The example as it is when the API is next, and the home folder it was built from."""
    folder = tmp_path_factory.mktemp("bookings")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(folder / "home" / name))
        shutil.copytree(EXAMPLE, folder / "service")
        place = Workplace.begin(folder / "service", folder / "home")
        place.commit({"runner.toml": FEW})
        assert place.run("TASK-005", "TASK-006", "TASK-007").code == 0
    return place


@pytest.fixture
def service(before_the_api, workplace, monkeypatch):
    """A copy of it that a test may spoil."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(before_the_api.home / "XDG_CACHE_HOME"))
    shutil.copytree(before_the_api.root, workplace.root, dirs_exist_ok=True)
    return workplace


def refusals(place, task, ended):
    """What kept a task from being DONE: place, message, hint and detail of each."""
    assert ended.code == 1, ended.said
    assert place.statuses[task] == "BLOCKED"
    (attempt,) = place.happened("attempt.finished", task)[-1:]
    return [one for one in attempt["findings"] if one.get("severity", "error") == "error"]


def mended(place, task="TASK-008"):
    """The same plan as it was committed, run again."""
    place.git("checkout", "TASK-GRAPH.md")
    ended = place.run(task)
    assert (ended.code, place.statuses[task]) == (0, "DONE"), ended.said


@pytest.mark.nightly(
    sibling="tests/contracts/test_contracts_inside.py::test_a_report_keeps_the_shortest_request_of_each_problem"
)
def test_a_field_that_is_missing_from_the_answer_is_named_with_the_request(service):
    service.edit_plan(MADE, UNSAID)
    (test, contract) = refusals(service, "TASK-008", service.run("TASK-008"))

    assert test["check"] == "TC-008"
    assert "tests.test_api" in test["hint"]
    assert "test_a_room_is_booked_shown_and_given_back" in test["detail"]
    assert contract["path"] == "contracts/openapi.json"
    assert contract["message"] == (
        "POST /bookings answers with a body that differs from the document: "
        '"end" is a required property'
    )
    assert contract["detail"].startswith("curl -X POST -H 'Content-Type: application/json' -d '{")
    assert "# answered 201: {" in contract["detail"]
    mended(service)


@pytest.mark.nightly(
    sibling="tests/gates/test_gates_coverage_python.py::test_below_the_threshold_each_file_says_its_lines"
)
def test_a_coverage_just_missed_names_the_lines_and_one_line_less_is_enough(service):
    service.edit_plan(LAST_LINE, uncalled(36))
    (finding,) = refusals(service, "TASK-008", service.run("TASK-008"))

    assert finding["path"] == "booking/api.py"
    assert finding["message"] == (
        "lines 119-154 are not run by any test contract (69% of 119 lines, threshold 70%)"
    )
    assert "❌ 69% of 119 lines (threshold 70%)" in service.read("artifacts/build/CHECKPOINT.md")

    service.git("checkout", "TASK-GRAPH.md")
    service.edit_plan(LAST_LINE, uncalled(35))
    ended = service.run("TASK-008")
    assert (ended.code, service.statuses["TASK-008"]) == (0, "DONE"), ended.said
    assert "✅ 70% of 118 lines (threshold 70%)" in service.read("artifacts/build/CHECKPOINT.md")


@pytest.mark.nightly(sibling="tests/app/test_app_prove.py::test_without_a_journal_the_commits_tell")
def test_the_finished_service_is_proven_again_told_by_a_clone_and_not_weakened(service):
    ended = service.run("--no-verify-at-end")
    assert ended.code == 0, ended.said
    assert set(service.statuses.values()) == {"DONE"}

    said = service.runner("verify", "--all", "--trust", "--json")
    assert (said.code, said.document["passed"]) == (0, True), said.said
    assert (said.document["shortfalls"], said.document["notDone"]) == ([], [])

    clone = service.cloned()
    assert not clone.has("artifacts/build/journal.jsonl")
    for task in service.statuses:
        assert_same_evidence(evidence(service, task), evidence(clone, task))

    weaken(service)


def evidence(place, task):
    ended = place.runner("evidence", task, "--json")
    assert ended.code == 0, ended.said
    return ended.document


def assert_same_evidence(mine, theirs):
    """All that the trailers carry; seconds and percent are rounded there."""
    assert (theirs["status"], theirs["standing"]) == (mine["status"], mine["standing"])
    mine, theirs = mine["evidence"], theirs["evidence"]
    assert (mine["source"], theirs["source"]) == ("journal", "trailers")
    for name in ("verified", "attempt", "commit", "tree", "spec", "review", "tools"):
        assert theirs[name] == mine[name], name
    assert len(theirs["proofs"]) == len(mine["proofs"])
    for ours, other in zip(mine["proofs"], theirs["proofs"], strict=True):
        for name in ("id", "kind", "verdict", "exit", "output", "counts"):
            assert other[name] == ours[name], (ours["id"], name)
        assert other["seconds"] == pytest.approx(ours["seconds"], abs=0.006)
        if ours["kind"] != "regression":  # what the plan says of it, for the task's own
            assert (other["command"], other["level"]) == (ours["command"], ours["level"])
    if mine["coverage"]:
        assert theirs["coverage"]["percent"] == int(mine["coverage"]["percent"])
        for name in ("lines", "threshold"):
            assert theirs["coverage"][name] == mine["coverage"][name], name


def weaken(place):
    """A later task takes a test away; then it is put back."""
    test = place.read("tests/test_api.py")
    start = test.index("    def test_a_taken_room_is_a_conflict")
    gone = re.match(r" {4}def .*\n(?:(?: {8}.*)?\n|\Z)+", test[start:])[0]
    plan = place.read("TASK-GRAPH.md")
    place.write({"TASK-GRAPH.md": f"{plan}\n{rooms(test)}"})
    place.commit()
    place.edit_plan(rooms(test), rooms(test.replace(gone, "")))
    (finding,) = refusals(place, "TASK-013", place.run("TASK-013"))
    assert finding["path"] == "tests/test_api.py"
    assert "ApiTest.test_a_taken_room_is_a_conflict was removed" in finding["message"]
    assert finding["hint"].startswith("landed tests must not change")
    assert place.read("tests/test_api.py") == test
    mended(place, "TASK-013")


def rooms(test):
    """A task that comes later and rewrites the API's test, which it may by a pattern."""
    return a_task(
        "TASK-013",
        "Rooms",
        needs=["TASK-012"],
        outputs=["booking/rooms.py", "tests/*.py"],
        blocks={"booking/rooms.py": 'ROOMS = ("Blue", "Red")\n', "tests/test_api.py": test},
        tests=["python3 -c 'import booking.rooms' && python3 -m unittest -q tests.test_api"],
    )
