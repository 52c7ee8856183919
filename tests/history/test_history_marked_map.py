"""FILE_OWNERSHIP_MAP.md in the middle of a merge: nothing is built by it, nothing written to it."""

from workplace import a_task

MARKED = """\
| File | Tasks |
|---|---|
<<<<<<< HEAD
| `a.txt` | TASK-001 |
=======
| `b.txt` | TASK-002 |
>>>>>>> side
"""


def test_a_run_is_refused_with_the_map_and_its_line(workplace):
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}))
    workplace.write({"FILE_OWNERSHIP_MAP.md": MARKED})
    ended = workplace.run()
    assert ended.code == 2
    assert "the ownership map has conflict markers (FILE_OWNERSHIP_MAP.md:3)" in ended.err
    said = workplace.runner("ownership", "propose", "--write")
    assert said.code in (0, 2)
    assert workplace.read("FILE_OWNERSHIP_MAP.md") == MARKED
    assert workplace.landings == []
    workplace.write({"FILE_OWNERSHIP_MAP.md": "| File | Tasks |\n|---|---|\n"})
    assert workplace.run().code == 0
