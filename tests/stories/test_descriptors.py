"""Nothing stays open behind a command: hundreds of them may run in one process."""

from pathlib import Path

from cutoff_build import COMMENTED, FILES, changed, tasks


def test_no_command_leaves_a_file_or_a_pipe_open(workplace):
    workplace.write(FILES)
    workplace.plan(*tasks())
    assert workplace.run("--no-sandbox").code == 0
    changed(workplace, COMMENTED)
    before = len([*Path("/proc/self/fd").iterdir()])
    assert workplace.run("--no-sandbox").code == 0
    for words in (("impact", "made/rules.py"), ("why", "TASK-002"), ("status",), ("ownership",)):
        workplace.runner(*words)
    workplace.runner("undo", "TASK-003", "--yes")
    assert len([*Path("/proc/self/fd").iterdir()]) <= before
