"""A test suite that cannot load here proves nothing: work that nobody wrote in the plan waits."""

from workplace import NO_PROOF, a_task

FILES = {
    ".gitignore": "pkg/_version.py\n__pycache__/\n.pytest_cache/\n",
    "pkg/__init__.py": "from pkg._version import v\n",
    "pkg/price.py": "def price(n):\n    return 3 * n\n",
    "test_price.py": "from pkg.price import price\n\ndef test_price(): assert price(2) == 6\n",
    "runner.toml": '[gates]\ntests = "python3 -m pytest -q -p no:cacheprovider"\n',
}


def test_two_tasks_of_commands_wait_with_one_question_and_land_after_one_answer(workplace):
    workplace.write(FILES)
    workplace.plan(
        a_task(
            "TASK-001", blocks={"notes.txt": "by a person\n"}, tests=["grep -q person notes.txt"]
        ),
        a_task("TASK-002", outputs=["a.txt"], command="echo a > a.txt", fields=[NO_PROOF]),
        a_task("TASK-003", outputs=["b.txt"], command="echo b > b.txt", fields=[NO_PROOF]),
    )
    workplace.write({"pkg/_version.py": "v = 1\n"})

    ended = workplace.run("--no-sandbox", "-j", "1")

    assert ended.code == 3, ended.said
    assert workplace.statuses["TASK-001"] == "DONE"
    assert [workplace.statuses[f"TASK-00{n}"] for n in (2, 3)] == ["BLOCKED", "BLOCKED"]
    tries = workplace.happened("attempt.started")
    assert {event["attempt"] for event in tries} == {1}
    assert "could not run here" in workplace.runner("show", "TASK-001").said

    assert workplace.runner("approve", "TASK-002").code == 0
    again = workplace.run("--no-sandbox", "-j", "1")

    assert again.code == 0, again.said
    assert set(workplace.statuses.values()) == {"DONE"}


def test_a_suite_that_could_load_before_and_cannot_after_the_change_refuses(workplace):
    workplace.write({**FILES, ".gitignore": "__pycache__/\n", "pkg/_version.py": "v = 1\n"})
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["pkg/_version.py"],
            command="echo > pkg/_version.py",
            fields=[NO_PROOF],
        )
    )

    ended = workplace.run("--no-sandbox")

    assert ended.code == 1, ended.said
    assert workplace.read("pkg/_version.py") == "v = 1\n"


def test_the_hint_leads_to_a_proof_of_the_same_work_once_the_suite_can_run(workplace):
    workplace.write(FILES)
    again = "echo a >> calls; echo a > a.txt"
    workplace.plan(a_task("TASK-001", outputs=["a.txt", "calls"], command=again, fields=[NO_PROOF]))
    assert workplace.run("--no-sandbox").code == 3
    shown = workplace.run("--no-sandbox").said
    assert "install what the tests need, or list it in .worktreeinclude" in shown
    assert "then: runner retry TASK-001" in shown
    workplace.commit({".worktreeinclude": "pkg/_version.py\n"})
    workplace.write({"pkg/_version.py": "v = 1\n"})
    told = workplace.runner("retry", "TASK-001")  # it also names what is new to agree to
    assert "runner run TASK-001 --trust" in told.err
    ended = workplace.run("TASK-001", "--no-sandbox")
    assert workplace.statuses["TASK-001"] == "DONE", ended.said
    assert workplace.read("calls") == "a\n", "the implementer was called once"
