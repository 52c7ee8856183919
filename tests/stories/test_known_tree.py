"""A run with nothing to do says what is known of the whole: proven, not proven since, or short."""

from workplace import a_task

NOT_SINCE = "note: not verified as a whole since "


def test_a_run_with_nothing_to_do_tells_what_is_known_of_this_very_tree(workplace):
    workplace.write({"b.txt": "good\n"})
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=("grep -q good b.txt",)))
    assert workplace.run("--no-sandbox").code == 0
    assert workplace.run().said == "the one task is DONE; nothing to do\n"

    workplace.commit({"b.txt": "bad\n"})
    after = workplace.run("--no-sandbox")  # it looks at the commit, and builds nothing
    assert (after.code, NOT_SINCE in after.err) == (0, True)
    assert workplace.run().err.startswith(NOT_SINCE)

    assert workplace.runner("verify", "--all", "--trust", "--sandbox", "none").code == 1
    assert workplace.statuses == {"TASK-001": "STALE"}
    assert workplace.run().code == 3

    workplace.commit({"b.txt": "good\n"})  # the tree that was proven, by another commit
    assert workplace.runner("approve", "TASK-001").code == 0
    assert workplace.run("--no-sandbox").code == 0
    assert "verif" not in workplace.run().err
