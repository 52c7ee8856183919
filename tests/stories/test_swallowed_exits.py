"""A test contract that cannot fail blocks its own task; all else is built."""

from workplace import a_task

SWALLOWS = "python3 -m unittest -q test_d | tee x"


def test_a_swallowed_exit_blocks_its_task_alone_and_tells_the_right_line(workplace):
    workplace.plan(
        a_task("TASK-001", "Fine", blocks={"a.txt": "a"}, tests=["rm -f x || true; test -f a.txt"]),
        a_task("TASK-002", "Swallowed", blocks={"b.txt": "b"}, tests=[SWALLOWS]),
        a_task("TASK-003", "After it", needs=["TASK-002"], blocks={"c.txt": "c"}),
    )
    told = workplace.runner("validate")
    assert told.code == 2
    assert f"cannot fail: `| tee x` swallows the exit code of `{SWALLOWS[:-8]}`" in told.out
    assert "hint: write it as `python3 -m unittest -q test_d`" in told.out

    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "BLOCKED", "TASK-003": "PENDING"}
    assert workplace.happened("task.blocked", "TASK-002")[-1]["reason"] == "proof"
    assert 'write it as "python3 -m unittest -q test_d"' in workplace.status_line("TASK-002")
    assert not workplace.has("b.txt")
    assert "fix the task as the note says" in ended.said
    assert "Proof: none" not in ended.said
    assert "mistake" not in workplace.runner("verify", "--all", "--trust").said

    workplace.edit_plan(" | tee x", "")
    workplace.write({"test_d.py": "import unittest\nclass T(unittest.TestCase):\n def test(s): 0"})
    workplace.commit()
    assert workplace.run().code == 0
    assert set(workplace.statuses.values()) == {"DONE"}


def test_words_that_skip_checks_and_a_substituted_test_are_no_proof(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.txt": "a"}, tests=["SKIP=mypy test -f a.txt"]),
        a_task("TASK-002", blocks={"b.txt": "b"}, tests=["echo $(python3 -m unittest)"]),
    )
    workplace.edit_plan("`echo $(python3 -m unittest)`", "`` echo `python3 -m unittest` ``")
    told = workplace.runner("validate", "--json")
    assert told.code == 2
    assert [one["task"] for one in told.document["problems"]][:2] == ["TASK-001", "TASK-002"]
    assert workplace.run().code == 3
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "BLOCKED"}
    said = (
        'cannot fail: "echo `python3 -m unittest`" swallows the exit code of "python3 -m unittest"'
    )
    assert said in workplace.status_line("TASK-002")


HALF = 'def half(x):\n    """\n    >>> half(4)\n    {}\n    """\n    return x / 2\n'
ITSELF = '\n\nif __name__ == "__main__":\n    import doctest\n\n    doctest.testmod()\n'
READS = 'import doctest\n\ndoctest.testfile("a.txt")\n'
ASKS = "import doctest\nimport sys\n\nimport bad\n\nassert bad.half(4) == 2\n"
ASKS += "sys.exit(doctest.testmod(bad)[0] != 1)\n"


def test_an_example_of_doctest_that_fails_beats_an_exit_of_0(workplace):
    workplace.plan(
        a_task("TASK-001", blocks={"a.py": HALF.format(3) + ITSELF}, tests=["python3 a.py"]),
        a_task("TASK-002", blocks={"b.py": HALF.format(2.0) + ITSELF}, tests=["python3 b.py"]),
        a_task(
            "TASK-003", blocks={"a.txt": ">>> 1 + 1\n3\n", "c.py": READS}, tests=["python3 c.py"]
        ),
        a_task(
            "TASK-004",
            blocks={"bad.py": HALF.format(3), "d.py": ASKS},
            tests=["python3 d.py"],
        ),
    )
    assert workplace.run().code == 1
    assert workplace.statuses == {
        "TASK-001": "BLOCKED",
        "TASK-002": "DONE",
        "TASK-003": "BLOCKED",
        "TASK-004": "BLOCKED",
    }
    assert "DONE, proven by tests" in workplace.runner("evidence", "TASK-002").out
