import json

import pytest
from settings_of import settings_of

from runner.config.settings import Settings
from runner.config.trust import Trust, commands_shown
from runner.model import Requirement, Spec, Task


def test_trust_is_given_once_for_the_folder_itself(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    assert not Trust(tmp_path / "state").is_given(root)
    Trust(tmp_path / "state").give(root, "asked")
    assert Trust(tmp_path / "state").is_given(tmp_path / "link")
    assert not Trust(tmp_path / "state").is_given(tmp_path)


def test_trust_in_one_repository_keeps_that_in_another(tmp_path):
    trust = Trust(tmp_path / "state")
    trust.give(tmp_path / "a", "asked")
    trust.give(tmp_path / "b", "--trust")
    assert trust.is_given(tmp_path / "a")
    record = json.loads((tmp_path / "state" / "trust.json").read_text())
    assert record["repositories"][str(tmp_path / "b")]["how"] == "--trust"


@pytest.mark.parametrize(
    "damaged", [b"", b"{", b"[]", b'{"repositories": 3}', b"\xff", b"[" * 9999]
)
def test_a_damaged_record_is_no_trust_and_can_be_given_anew(tmp_path, damaged):
    trust = Trust(tmp_path)
    (tmp_path / "trust.json").write_bytes(damaged)
    assert not trust.is_given(tmp_path)
    trust.give(tmp_path, "asked")
    assert trust.is_given(tmp_path)


def test_a_record_that_does_not_say_how_is_no_trust(tmp_path):
    (tmp_path / "trust.json").write_text(json.dumps({"repositories": {str(tmp_path): True}}))
    assert not Trust(tmp_path).is_given(tmp_path)


def test_commands_are_shown_once_and_cannot_hide_anything():
    shown = commands_shown(
        [
            ("TASK-001", "pytest"),
            ("TASK-002", " pytest "),
            ("TASK-003", "ls\x1b[2K\u202e"),
            ("gate lint", ""),
            ("TASK-004", "x" * 600),
        ]
    )
    assert shown[:2] == ("TASK-001 and 1 more: pytest", "TASK-003: ls\\x1b[2K\\u202e")
    assert shown[2].endswith("… (100 more characters)")


def test_trust_does_not_depend_on_how_the_locale_spells_a_name(tmp_path):
    import subprocess
    import sys

    root = tmp_path / "dü"
    root.mkdir()
    Trust(tmp_path / "state").give(root, "asked")
    script = (
        "import sys; from pathlib import Path; from runner.config.trust import Trust\n"
        "print(Trust(Path(sys.argv[1])).is_given(Path(sys.argv[2])))"
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": ""}
    said = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "state"), str(root)],
        env=plain,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "True\n"


# --- which secrets a task's commands get ----------------------------------------------


SET = {"STRIPE": "s", "MAIL": "m", "OTHER": "o"}
TASK = Task(
    id="TASK-001",
    title="Pay",
    line=1,
    spec=Spec("what", "proof"),
    requires=(
        Requirement("secret", "STRIPE"),
        Requirement("secret", "MAIL"),
        Requirement("secret", "UNSET"),
        Requirement("tool", "OTHER"),
    ),
)


@pytest.mark.parametrize(
    ("permitted", "given"),
    [
        (None, {"STRIPE": "s", "MAIL": "m"}),
        (("MAIL", "OTHER"), {"MAIL": "m"}),
        ((), {}),
    ],
)
def test_a_task_gets_what_it_requires_as_far_as_the_person_lets_it(permitted, given):
    assert settings_of(secrets=permitted).secrets_for(TASK, SET) == given


def test_a_task_that_requires_none_gets_none():
    plain = Task(id="TASK-002", title="Plain", line=1, spec=Spec("what", "proof"))
    assert Settings().secrets_for(plain, SET) == {}
