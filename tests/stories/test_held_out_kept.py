"""With `held_out_land = false` held-out files stay out of the repository and prove all the same."""

import json
import shutil

import pytest
from built import begun_at_home, replace_by
from held_out_plans import (
    HELD_OUT,
    RIGHT,
    SEEN,
    TESTS,
    UNITTEST,
    VISIBLE,
    WRONG,
    a_held_out_task,
    a_test,
    hold_out,
    planned,
    store_of,
    told,
)
from scripted_agent import Script, writes
from workplace import a_task

NOT_HERE = "TC-002 could not run: its held-out files are not on this machine"
MINE = "tests/test_rates.py"
RATED = a_test("self.assertEqual(shop.price(rates.RATE), 3)", "rates shop")
RATES = {"rates.py": "RATE = 1\n", MINE: RATED}


@pytest.fixture(autouse=True)
def keep(monkeypatch):
    """A person who keeps held-out tests to themselves."""
    monkeypatch.setenv("RUNNER_PROOF_HELD_OUT_LAND", "false")


def script_of(monkeypatch, steps):
    """Install the script of an implementer whose commands are enclosed."""
    script = Script(steps).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "bubblewrap")
    return script


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A repository whose task is DONE, built once for all tests of this file."""
    with begun_at_home(tmp_path_factory.mktemp("kept")) as (place, patch):
        patch.setenv("RUNNER_PROOF_HELD_OUT_LAND", "false")
        script_of(patch, {"TASK-001": [writes(RIGHT)]})
        planned(place)
        ended = place.run()
        assert ended.code == 0, ended.said
        return place


@pytest.fixture
def done(template, workplace, monkeypatch):
    """A copy of that repository, and a script for whatever its implementer is asked next."""
    replace_by(workplace, template)
    return script_of(monkeypatch, {"TASK-001": [writes(RIGHT)]})


def lose(workplace):
    """The machine of somebody else, as far as the store goes."""
    store_of(workplace).drop("TASK-001", TESTS)
    shutil.rmtree(store_of(workplace).results_of("TASK-001"))


def stored(workplace):
    return store_of(workplace).read("TASK-001", TESTS)


def test_the_files_stay_in_the_store(workplace, done):
    assert not workplace.has(TESTS)
    assert workplace.git("log", "--all", "--format=%h", "--", TESTS) == ""
    assert stored(workplace) == HELD_OUT.encode()
    assert TESTS not in workplace.read("FILE_OWNERSHIP_MAP.md")
    assert workplace.dirt == []
    message = workplace.git("log", "--format=%B", "-n", "2")
    assert f"Held-out: {TESTS} sha256:" in message
    assert "Grade: proven, independent" in message
    assert f"{TESTS}" in workplace.runner("evidence", "TASK-001").out
    assert workplace.run().code == 0
    assert stored(workplace) == HELD_OUT.encode()


@pytest.mark.parametrize("word", ["TASK-001", "--all", "--changed"])
def test_verify_runs_them_from_the_store_and_says_what_is_not_on_this_machine(
    workplace, done, word
):
    ended = workplace.runner("verify", word)
    assert ended.code == 0, ended.said
    assert "✓ TC-002" in ended.out
    assert not workplace.has(TESTS)

    lose(workplace)
    ended = workplace.runner("verify", word)
    assert ended.code == 3, ended.said
    assert NOT_HERE in ended.out
    assert f"runner hold-out TASK-001 {TESTS} --from FOLDER" in ended.out
    assert "NOT verified" in ended.out
    assert workplace.statuses["TASK-001"] == "DONE"
    document = workplace.runner("verify", word, "--json").document
    assert document["passed"] is False


def test_a_failure_is_known_where_another_contract_cannot_run(workplace, done):
    lose(workplace)
    workplace.commit({VISIBLE: SEEN.replace("3", "4")})
    assert workplace.runner("verify", "--all").code == 1
    assert [one["passed"] for one in workplace.happened("tree.verified")][-1:] == [False]


def test_the_grade_stays_and_says_that_it_was_not_verified_here(workplace, done):
    known = "independent, TC-002 not verified here"
    assert known not in workplace.runner("status", "--list").out
    lose(workplace)
    clone = workplace.cloned()
    for words in (["status", "--list"], ["show", "1"], ["evidence", "1"], ["list"]):
        assert known in workplace.runner(*words).out, words
        assert known in clone.runner(*words).out, words
    for here in (workplace, clone):
        [task] = here.runner("status", "--json").document["tasks"]
        assert task["notMeasured"] == ["TC-002 not verified here"]
        assert task["provenBy"] == "independent"
    assert f"TASK-001: proven, {known}" in workplace.runner("verify", "--all").out
    assert workplace.runner("hold-out", "--check").code != 0
    hold_out(workplace, {TESTS: HELD_OUT})
    assert known not in workplace.runner("status", "--list").out


def test_ship_waits_for_the_files_and_ships_with_them(workplace, done, tmp_path):
    lose(workplace)
    workplace.commit({"notes.txt": "a tree that nobody verified yet"})
    ended = workplace.runner("ship")
    assert ended.code == 3, ended.said
    assert NOT_HERE in ended.err
    (tmp_path / "test_acceptance.py").write_text(HELD_OUT)
    back = workplace.runner("hold-out", "TASK-001", "--from", str(tmp_path))
    assert back.code == 0, back.said
    ended = workplace.runner("ship")
    assert ended.code == 0, ended.said


def test_no_repository_decides_where_the_files_go(workplace, monkeypatch):
    monkeypatch.delenv("RUNNER_PROOF_HELD_OUT_LAND")
    workplace.write({"runner.toml": "proof.held_out_land = false\n"})
    planned(workplace)
    shown = workplace.runner("settings").said
    assert "runner.toml:1: proof.held_out_land is ignored: only your own settings" in shown


# --- other tasks ----------------------------------------------------------------------


def with_rates(workplace, monkeypatch, *steps):
    """A second task, which may change what the first one's held-out tests run."""
    script = script_of(monkeypatch, {"TASK-001": [writes(RIGHT)], "TASK-002": list(steps)})
    monkeypatch.setenv("RUNNER_PROOF_COVERAGE", "0")
    other = a_task(
        "TASK-002",
        needs=["TASK-001"],
        outputs=["rates.py", MINE, "shop.py"],
        tests=[f"{UNITTEST} {MINE}"],
    )
    workplace.write({"tests/.keep": "", "conftest.py": ""})
    workplace.plan(a_held_out_task({TESTS: HELD_OUT}), other)
    hold_out(workplace, {TESTS: HELD_OUT})
    return script


BREAKS = RATES | {"shop.py": WRONG["shop.py"].replace("count + 2", "3 if count == 1 else 0")}


def test_a_change_that_breaks_them_hears_counts_alone(workplace, monkeypatch):
    script = with_rates(
        workplace, monkeypatch, writes(BREAKS), writes(RATES | {"shop.py": RIGHT["shop.py"]})
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    heard = script.attempts("TASK-002")[1][0].text
    assert "this change breaks TASK-001's TC-002: 2 of 3 held-out tests fail: A1, A2" in heard
    assert told(heard) == []
    assert told(json.dumps(workplace.events)) == []
    kept = [one for one in (workplace.root / "artifacts").rglob("*") if one.is_file()]
    assert [one for one in kept if told(one.read_text(errors="replace"))] == []
    assert "Held-out:" not in workplace.git(
        "log", "--format=%B", "-n", "1", "--grep", "Task: TASK-002"
    )


def test_other_tasks_are_built_where_the_files_are_missing(workplace, monkeypatch):
    script = with_rates(workplace, monkeypatch, writes(BREAKS))
    assert workplace.run("TASK-001").code == 0
    lose(workplace)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert NOT_HERE in ended.said
    assert len(script.attempts("TASK-002")) == 1
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}
    assert not workplace.happened("tree.verified")


def test_no_test_of_another_task_can_put_a_file_in_their_place(workplace, monkeypatch):
    fake = "open('tests/test_accept' + 'ance.py', 'w').write('def test_nothing(): pass')\n"
    steps = BREAKS | {MINE: f"{fake}{RATES[MINE]}"}
    script = with_rates(
        workplace, monkeypatch, writes(steps), writes(steps | {"shop.py": RIGHT["shop.py"]})
    )
    workplace.run()
    heard = script.attempts("TASK-002")[1][0].text
    assert "this change breaks TASK-001's TC-002" in heard


def test_no_change_of_another_task_may_name_the_files(workplace, monkeypatch):
    named = RATES | {"shop.py": f"{RIGHT['shop.py']}SKIP = '{TESTS}'\n"}
    script = with_rates(workplace, monkeypatch, writes(named), writes(RATES))
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "names the held-out file" in script.attempts("TASK-002")[1][0].text


# --- the same task once more ----------------------------------------------------------


BETTER = {"shop.py": "def price(count):\n    return count + count + count\n"}


def test_a_rebuild_is_held_out_again_and_stays_independent(workplace, monkeypatch, done):
    done.steps["TASK-001"] = [writes(WRONG), writes(BETTER)]
    assert workplace.runner("change", "TASK-001", "add it up", "--yes").code == 0
    ended = workplace.run("--rebuild")
    assert ended.code == 0, ended.said
    heard = done.attempts()[1][0].text
    assert "held-out tests fail" in heard
    assert told(heard) == []
    assert workplace.read("shop.py") == BETTER["shop.py"]
    assert "Grade: proven, independent" in workplace.git("log", "--format=%B", "-n", "2")
    assert stored(workplace) == HELD_OUT.encode()


def test_a_rebuild_of_other_functions_asks_nobody_whether_the_tests_can_fail(workplace, done):
    more = {"shop.py": f"{RIGHT['shop.py']}\n\ndef label():\n    return 'price'\n"}
    labelled = "\n    def test_label(self):\n        self.assertEqual(shop.label(), 'price')\n"
    done.steps["TASK-001"] = [writes(more | {VISIBLE: RIGHT[VISIBLE] + labelled})]
    assert workplace.runner("change", "TASK-001", "add a label", "--yes").code == 0
    ended = workplace.run("--rebuild")
    assert ended.code == 0, ended.said
    assert "Grade: proven, independent" in workplace.git("log", "--format=%B", "-n", "2")


def test_undo_leaves_the_files_in_the_store_and_they_were_never_in_git(workplace, done):
    assert workplace.runner("undo", "TASK-001", "--yes").code == 0
    assert stored(workplace) == HELD_OUT.encode()
    assert "once in git" not in workplace.runner("hold-out", "--list").out
    ended = workplace.run("--reuse")
    assert ended.code == 0, ended.said
    assert done.told == []
    assert not workplace.has(TESTS)
    assert "Grade: proven, independent" in workplace.git("log", "--format=%B", "-n", "2")


def test_bytes_that_a_person_edited_are_proven_again(workplace, done):
    workplace.commit({"shop.py": WRONG["shop.py"].replace("count + 2", "3 if count == 1 else 0")})
    ended = workplace.runner("verify", "TASK-001")
    assert ended.code == 1, ended.said
    assert "2 of 3 held-out tests fail: A1, A2" in ended.out
    assert "for the output: runner hold-out --show TASK-001" in ended.out
    assert told(ended.said) == []
    for words in (["verify"], ["show"], ["log"], ["evidence"], ["why"]):
        asked = workplace.runner(*words, "TASK-001", "--json")
        assert told(asked.said) == [], words
    assert not list((store_of(workplace).base.parent / "workspaces").iterdir())
    assert workplace.statuses == {"TASK-001": "STALE"}
    failed = [test for test, _ in store_of(workplace).read_failures("TASK-001")]
    assert "tests.test_acceptance.Prices.test_many_items" in failed


# --- hold-out -------------------------------------------------------------------------


def test_hold_out_names_the_state_and_takes_the_files_of_the_plan_alone(workplace, done, tmp_path):
    assert "in the store" in workplace.runner("hold-out", "--list").out
    assert workplace.runner("hold-out", "--check").code == 0
    lose(workplace)
    missing = workplace.runner("hold-out", "--check")
    assert missing.code == 1
    assert "missing" in missing.out
    file = tmp_path / "test_acceptance.py"
    file.write_text(f"{HELD_OUT}# more\n")
    refused = workplace.runner("hold-out", "TASK-001", "--from", str(tmp_path))
    assert refused.code != 0
    assert stored(workplace) is None
    file.write_text(HELD_OUT)
    assert workplace.runner("hold-out", "TASK-001", "--from", str(tmp_path)).code == 0
    listed = workplace.runner("hold-out", "--list").out
    assert "in the store" in listed
    assert "once in git" not in listed
    assert workplace.runner("verify", "TASK-001").code == 0
    workplace.write({TESTS: HELD_OUT})  # a copy in the work tree has not landed
    assert "in the store" in workplace.runner("hold-out", "--list").out


# --- questions about a change ---------------------------------------------------------


def test_gate_and_impact_run_them_and_say_what_is_missing(workplace, done):
    base = workplace.head
    workplace.git("checkout", "-q", "-b", "other")
    workplace.commit({"shop.py": BETTER["shop.py"]})
    words = ["gate", "--base", base, "--trust"]
    ended = workplace.runner(*words)
    assert ended.code == 0, ended.said
    lose(workplace)
    ended = workplace.runner(*words)
    assert ended.code == 0, ended.said
    assert f"note: {NOT_HERE}" in ended.out
    assert "TC-002  not run" in ended.err
    ended = workplace.runner("impact", "--since", base, "--run", "--trust")
    assert ended.code == 0, ended.said
    assert NOT_HERE in ended.err
    words = ["pipeline", "check-coverage", "--task", "TASK-001", "--again", "--trust"]
    ended = workplace.runner(*words)
    assert ended.code == 0, ended.said
    assert NOT_HERE in ended.err


def test_gate_fails_where_they_fail(workplace, done):
    base = workplace.head
    workplace.git("checkout", "-q", "-b", "other")
    workplace.commit({"shop.py": BREAKS["shop.py"]})
    ended = workplace.runner("gate", "--base", base, "--trust")
    assert ended.code == 1, ended.said
    assert "2 of 3 held-out tests fail" in ended.said
    assert told(ended.said) == []


def test_a_cluster_runs_them_at_home(workplace, monkeypatch):
    lines = (f"pathlib.Path({path!r}).write_text({text!r})" for path, text in BREAKS.items())
    workplace.write({"build.py": "\n".join(("import pathlib", *lines)), "tests/.keep": ""})
    for name, value in {"REVIEW": "off", "COVERAGE": "0", "SANDBOX": "bubblewrap"}.items():
        monkeypatch.setenv(f"RUNNER_{name}", value)
    blocks = {"shop.py": RIGHT["shop.py"], VISIBLE: RIGHT[VISIBLE]}
    other = a_task(
        "TASK-002",
        needs=["TASK-001"],
        outputs=["rates.py", MINE, "shop.py"],
        command="python3 build.py",
        tests=[f"{UNITTEST} {MINE}"],
    )
    workplace.plan(a_held_out_task({TESTS: HELD_OUT}, blocks=blocks), other)
    hold_out(workplace, {TESTS: HELD_OUT})
    assert workplace.run("TASK-001").code == 0
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", "dask")
    ended = workplace.run()
    assert ended.code != 0, ended.said
    assert "this change breaks TASK-001's TC-002: 2 of 3 held-out tests fail" in ended.said
    assert told(ended.said) == []
