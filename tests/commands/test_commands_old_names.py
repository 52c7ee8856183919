"""Old names of commands mean what today's names mean."""

import pytest

from runner.operations.table import find_operation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("list", "status --list"),
        ("list --status done --json", "status --list --status done --json"),
        ("next", "status --next"),
        ("analyse --json", "doctor --repository --json"),
        ("brief TASK-001", "show TASK-001 --brief"),
        ("brief 1 --parts", "show 1 --brief --parts"),
        ("verify-attestation nothing.json", "evidence --check nothing.json"),
        ("ownership show a.txt", "plan ownership show a.txt"),
        ("pattern list", "plan pattern list"),
        ("decide", "plan decide"),
        ("completion zsh", "help completion zsh"),
        ("version --json", "--version --json"),
        ("events --json", "log --events --json"),
        ("events --doors", "team events --doors"),
        ("lease --json", "team lease --json"),
        ("artifacts list --json", "team artifacts list --json"),
        ("store check", "team store check"),
        ("repo list", "team repo list"),
        ("queue list", "team queue list"),
        ("people list", "team people list"),
        ("worker --nonsense", "team worker --nonsense"),
        ("bridge gitlab", "team bridge gitlab"),
        ("secrets list --json", "pipeline secrets list --json"),
        ("secrets log", "pipeline secrets log"),
        ("sast show --json", "pipeline sast-log --json"),
        ("sast-scan a.txt --task TASK-001", "pipeline sast-scan a.txt --task TASK-001"),
        ("secret-scan a.txt", "pipeline secret-scan a.txt"),
        ("staged-write list --all", "pipeline staged-write list --all"),
        ("write-log show --task TASK-001", "pipeline write-log show --task TASK-001"),
        ("check-coverage --task TASK-001", "pipeline check-coverage --task TASK-001"),
        ("commit-by-task -n", "pipeline commit-by-task -n"),
        ("build", "run"),
        ("resume", "run"),
        ("test TASK-001 --trust --json", "verify TASK-001 --trust --json"),
    ],
)
def test_an_old_name_means_what_the_new_one_means(old, new):
    before, after = (find_operation(words.split(), {}) for words in (old, new))
    assert before.operation is after.operation
    assert sorted(before.rest) == sorted(after.rest)
