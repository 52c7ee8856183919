"""A file's name can be a key: it is said nowhere, and no draft branch carries it away."""

import pytest
from workplace import a_task


def a_key():
    return "ghp" + "_" + "".join(chr(ord("a") + n % 26) + str(n % 10) for n in range(7, 25))


@pytest.mark.parametrize("outputs", ["a.txt", "any"])
def test_a_key_that_a_command_names_a_file_by_is_kept_nowhere(workplace, monkeypatch, outputs):
    half = len(a_key()) // 2
    parts = a_key()[:half], a_key()[half:]
    line = f"echo bad > a.txt; touch {parts[0]}$(printf {parts[1]})"
    unproven = ["Proof: none — a mark"]
    workplace.plan(a_task("TASK-001", outputs=[outputs], command=line, fields=unproven))
    ended = workplace.run("--no-sandbox", "--review", "off")
    assert ended.code == 1
    assert a_key() not in ended.said
    build = workplace.root / "artifacts/build"
    told = [path for path in build.rglob("*") if path.is_file() and path.stat().st_size]
    assert not [path for path in told if a_key().encode() in path.read_bytes()]
    drafts = workplace.git("for-each-ref", "--format=%(refname)", "refs/heads/draft").split()
    assert drafts
    for draft in drafts:
        assert a_key() not in workplace.git("log", "-1", "--format=%B", "--name-only", draft)
