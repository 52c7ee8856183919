import errno
import os

import pytest

from runner import effects
from runner.config.settings import Settings
from runner.errors import ExitCode, RunnerError
from runner.implementers.blocks import Blocks
from runner.model import Block, BlockKind, Finding


def implement(shop, *blocks):
    brief = shop.brief(blocks=blocks)
    chosen = Blocks.for_task(brief.task, Settings())
    return chosen.implement(brief, shop.context)


def file(path, text):
    return Block(BlockKind.FILE, path, text)


def run(text, line=7):
    return Block(BlockKind.RUN, "", text, line)


def test_files_are_written_as_they_stand(shop):
    said = implement(shop, file("src/a/b.py", "x = 1\n"), file("empty", ""), file("ü x", "ü"))
    assert said.findings == ()
    assert shop.files() == {"empty": "", "src/a/b.py": "x = 1\n", "ü x": "ü"}
    assert said.summary == "3 files from the plan"


def test_an_executable_file_stays_so(shop):
    script = shop.write("run", "old")
    script.chmod(0o755)
    implement(shop, file("run", "new"), file("other", ""))
    assert os.access(script, os.X_OK)
    assert not os.access(shop.tree / "other", os.X_OK)


def test_a_patch_changes_a_file_and_a_deletion_removes_it(shop):
    shop.write("a.py", "one\ntwo\n")
    shop.write("old/b.py", "")
    patch = Block(BlockKind.PATCH, "a.py", "@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
    said = implement(shop, patch, Block(BlockKind.DELETE, "old/b.py", ""))
    assert said.findings == ()
    assert shop.files() == {"a.py": "one\n2\n"}


def test_a_patch_that_does_not_apply_says_hunk_file_line_and_line_of_the_plan(shop):
    shop.write("a.py", "one\nzwei\n")
    text = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    said = implement(shop, Block(BlockKind.PATCH, "a.py", text, line=40))
    assert said.findings == (
        Finding(
            "patch",
            "hunk 1 does not apply: line 2 should be 'two', but it is 'zwei' (line 43 of the plan)",
            path="a.py",
            line=1,
            hint="make a new diff from the current file, or give the whole file",
        ),
    )


@pytest.mark.parametrize("path", ["../x", "/etc/x", ".git/config", "a/.GIT/x", "", "a//b"])
@pytest.mark.parametrize("kind", [BlockKind.FILE, BlockKind.PATCH, BlockKind.DELETE])
def test_an_unsafe_path_refuses_everything(shop, path, kind):
    said = implement(shop, file("good.py", ""), Block(kind, path, "x"))
    assert [finding.refuses for finding in said.findings] == [True]
    assert shop.files() == {}


def test_links_are_never_followed(shop, tmp_path):
    (tmp_path / "outside").mkdir()
    (shop.tree / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "secret").write_text("secret")
    (shop.tree / "file").symlink_to(tmp_path / "secret")
    said = implement(shop, file("link/x", "x"), file("file", "x"))
    assert [finding.path for finding in said.findings] == ["link/x", "file"]
    assert list((tmp_path / "outside").iterdir()) == []
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_full_disk_is_no_fault_of_the_plans_and_ends_the_run(shop, request):
    def full(kind, target):
        if kind == "mkdir":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    effects.watch(full)
    request.addfinalizer(lambda: effects.unwatch(full))
    with pytest.raises(RunnerError, match="the disk is full") as told:
        implement(shop, file("deep/er/two.txt", "two\n"))
    assert (told.value.code, told.value.hint) == (
        ExitCode.USAGE,
        "free some space and run again",
    )


def test_deleting_what_is_not_there_is_a_finding(shop):
    said = implement(shop, Block(BlockKind.DELETE, "a.py", ""))
    assert said.findings[0].message == "the file to delete does not exist"


def test_commands_run_after_all_files_are_written(shop):
    said = implement(
        shop, run("cat a > b\necho $RUNNER_TASK $RUNNER_ATTEMPT >> b\n"), file("a", "A\n")
    )
    assert said.findings == ()
    assert shop.files()["b"] == "A\nTASK-002 1\n"
    assert said.summary == "1 file from the plan, 1 command run"


def test_a_step_that_fails_ends_the_block_and_is_told(shop):
    said = implement(shop, run("echo about to fail\nfalse\necho went on > x\n"), run("touch y"))
    (finding,) = said.findings
    assert finding.message == "the sh run block in line 7 of the plan ended with exit 1"
    assert "about to fail" in finding.detail
    assert shop.files() == {}


def test_commands_may_report_decisions(shop):
    said = implement(shop, run("printf 'DECISION: SQLite\\nContext: small\\n'"))
    assert [decision.title for decision in said.decisions] == ["SQLite"]


def test_only_commands_make_it_not_repeatable(shop):
    blocks_only = shop.brief(blocks=(file("a", ""),)).task
    with_command = shop.brief(blocks=(file("a", ""), run("date"))).task
    assert Blocks.for_task(blocks_only, Settings()).repeatable
    assert not Blocks.for_task(with_command, Settings()).repeatable


def test_a_task_without_blocks_gets_a_hint(shop):
    finding = Blocks.for_task(shop.brief().task, Settings())
    assert finding.message == "TASK-002 has no file blocks"
    assert finding.hint
