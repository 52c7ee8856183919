"""Expectations that a change bends: a question after one repair, answered for these bytes."""

from scripted_agent import Script, writes
from workplace import a_task

CODE = "def price():\n    return 3\n"
TEST = "import shop\n\n\ndef test_price():\n    assert shop.price() == 3\n"
DEARER = {"shop.py": CODE.replace("3", "4"), "test_shop.py": TEST.replace("== 3", "> 0")}
KEPT = {"shop.py": CODE.replace("3", "1 + 2")}
PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q -p no:cacheprovider test_shop.py"


def planned(workplace, *fields, **more):
    workplace.commit({"shop.py": CODE, "test_shop.py": TEST})
    outputs = ["shop.py", "test_shop.py"]
    task = a_task("TASK-001", outputs=outputs, tests=[PYTEST], fields=fields, **more)
    workplace.plan(task)


def test_a_bent_test_is_repaired_once_and_then_waits_with_its_work_kept(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(DEARER)]}).installed(monkeypatch)
    planned(workplace)
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 2
    assert "test_price" in script.attempts()[1][0].text
    assert workplace.statuses == {"TASK-001": "BLOCKED"}
    assert "test_price" in workplace.status_line("TASK-001")
    assert workplace.read("test_shop.py") == TEST
    shown = workplace.runner("review", "TASK-001").out
    assert shown.index("? ") < shown.index("modify shop.py")
    (waiting,) = workplace.runner("review", "--json").document["waiting"]
    assert "test_price" in waiting["questions"][0]
    assert workplace.run().code == 3
    assert len(script.told) == 2


def test_what_a_person_lets_pass_lands_and_says_so(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(DEARER)]}).installed(monkeypatch)
    planned(workplace)
    workplace.run()
    assert workplace.runner("approve", "TASK-001").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert len(script.told) == 2
    assert workplace.read("shop.py") == DEARER["shop.py"]
    evidence = workplace.runner("evidence", "TASK-001").out
    assert "test_price" in evidence
    assert "approved by a person" in evidence
    assert "approved by a person" in workplace.read("artifacts/build/CHECKPOINT.md")
    message = workplace.git("log", "--format=%B", "-n", "3")
    assert "Proof: integrity pass exit=0 changed=" in message
    assert "Review: applied" in message
    assert workplace.runner("verify", "TASK-001").code == 0


def test_an_approval_is_of_these_bytes_and_of_no_others(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(DEARER)]}).installed(monkeypatch)
    planned(workplace)
    workplace.run()
    workplace.runner("approve", "TASK-001")
    workplace.commit({"shop.py": "# mine\n" + CODE})
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert len(script.told) == 2  # the bytes that were carried to the new base are others
    assert "test_price" in workplace.status_line("TASK-001")


def test_a_no_is_the_next_attempts_brief(workplace, monkeypatch):
    steps = [writes(DEARER), writes(DEARER), writes(KEPT)]
    script = Script({"TASK-001": steps}).installed(monkeypatch)
    planned(workplace)
    workplace.run()
    assert workplace.runner("reject", "TASK-001", "--reason", "three it is").code == 0
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert "three it is" in script.attempts()[2][0].text
    assert workplace.read("test_shop.py") == TEST


def test_one_who_mends_it_is_not_asked(workplace, monkeypatch):
    script = Script({"TASK-001": [writes(DEARER), writes(KEPT)]}).installed(monkeypatch)
    planned(workplace)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert len(script.told) == 2
    assert "integrity" not in workplace.git("log", "--format=%B", "-n", "2")
