import contextlib
import difflib
import errno
import os
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner import effects
from runner.config.settings import Settings
from runner.errors import ExitCode, RunnerError
from runner.implementers.blocks import Blocks
from runner.implementers.unified_diff import DoesNotApplyError, apply_patch
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


POEM = b"one\ntwo\nthree\nfour\nfive\nsix\n"


def diff(old, new, path="poem.txt"):
    lines = difflib.unified_diff(
        old.decode().splitlines(keepends=True),
        new.decode().splitlines(keepends=True),
        f"a/{path}",
        f"b/{path}",
    )
    told = "".join(line if line.endswith("\n") else line + "\n\\ No newline\n" for line in lines)
    return told.encode()


def refusal(content, text, path="poem.txt"):
    with pytest.raises(DoesNotApplyError) as caught:
        apply_patch(content, text, path)
    return caught.value


def test_lines_are_changed_where_the_hunk_says():
    new = POEM.replace(b"three\n", b"3\n3.5\n").replace(b"six\n", b"")
    assert apply_patch(POEM, diff(POEM, new), "poem.txt") == new


def test_lines_that_moved_are_found_at_their_one_other_place():
    new = POEM.replace(b"three", b"3")
    assert apply_patch(b"zero\n\n" + POEM, diff(POEM, new), "poem.txt") == b"zero\n\n" + new


def test_two_possible_places_are_no_place():
    error = refusal(b"x\n" + POEM * 2, diff(POEM, POEM.replace(b"three", b"3")))
    assert error.message.startswith("hunk 1 matches several places (lines 2, 8)")


def test_what_does_not_fit_is_told_with_the_line_and_what_stands_there():
    error = refusal(POEM.replace(b"two", b"zwei"), diff(POEM, POEM.replace(b"three", b"3")))
    assert error.message == "hunk 1 does not apply: line 2 should be 'two', but it is 'zwei'"
    assert (error.line, error.patch_line) == (1, 3)


def test_a_new_file_and_a_removed_one():
    new = b"--- /dev/null\n+++ b/poem.txt\n@@ -0,0 +1 @@\n+hello\n"
    assert apply_patch(None, new, "poem.txt") == b"hello\n"
    gone = b"--- a/poem.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n"
    assert apply_patch(b"hello\n", gone, "poem.txt") is None
    assert "already exists" in refusal(POEM, new).message
    assert "the file to change does not exist" in refusal(None, gone).message


def test_a_missing_final_newline_is_kept_made_and_mended():
    assert apply_patch(b"a\nb", diff(b"a\nb", b"a\nc"), "poem.txt") == b"a\nc"
    assert apply_patch(b"a\nb", diff(b"a\nb", b"a\nb\n"), "poem.txt") == b"a\nb\n"
    assert apply_patch(b"a\nb\n", diff(b"a\nb\n", b"a\nb"), "poem.txt") == b"a\nb"


def test_a_file_with_crlf_keeps_it():
    dos = POEM.replace(b"\n", b"\r\n")
    new = POEM.replace(b"three", b"3")
    assert apply_patch(dos, diff(POEM, new), "poem.txt") == new.replace(b"\n", b"\r\n")


def test_an_empty_context_line_without_its_blank_is_read():
    text = b"@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"
    assert apply_patch(b"a\n\nb\n", text, "poem.txt") == b"a\n\nc\n"


def test_removed_lines_that_look_like_headers_are_lines():
    old, new = b"-- a\n++ b\nend\n", b"-- c\nend\n"
    assert apply_patch(old, diff(old, new), "poem.txt") == new


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no hunk"),
        (b"just words\n", "no hunk"),
        (b"@@ nonsense @@\n-a\n", "must begin with"),
        (b"@@ -1,2 +1,2 @@\n one\n-two\n", "its header says more"),
        (b"@@ -1,1 +1,1 @@\n-one\n+1\n+1.5\n", "more than 1 old"),
        (b"@@ -1 +1 @@\n\\ No newline\n", "no line precedes the missing newline"),
        (b"--- a/other.txt\n+++ b/other.txt\n@@ -1 +1 @@\n-one\n+1\n", "is for 'a/other.txt'"),
        (b"--- a/../poem.txt\n@@ -1 +1 @@\n-one\n+1\n", "is for"),
        (
            b"diff --git a/x b/y\nrename from x\nrename to y\n@@ -1 +1 @@\n",
            "can only change the lines",
        ),
        (b"old mode 100644\nnew mode 120000\n@@ -1 +1 @@\n-one\n+1\n", "can only change the lines"),
        (b"@@ -1 +1 @@\n-one\n+1\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-q\n+r\n", "more than one file"),
        (b"@@ -99,0 +99 @@\n+x\n", "outside the file"),
        (b"@@ -999999999 +1 @@\n-one\\\n+1\n", "does not apply"),
    ],
)
def test_what_is_malformed_or_means_more_than_lines_is_refused(text, words):
    assert words in refusal(POEM, text).message


LINES = st.lists(st.sampled_from(["a", "b", "", "-- c", "+d", "\\ e", " f"]), max_size=12)
TEXTS = st.builds(
    lambda lines, end: ("\n".join(lines) + ("\n" if end else "")).encode(), LINES, st.booleans()
)


@given(old=TEXTS, new=TEXTS)
@settings(max_examples=150, deadline=None)
def test_whatever_git_diffs_is_applied_to_the_same_bytes(tmp_path_factory, old, new):
    if old == new or not old or not new:
        return
    folder = tmp_path_factory.getbasetemp()
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    command = ["git", "diff", "--no-index", "--no-color", "--no-ext-diff", "old", "new"]
    told = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    if told:
        text = told.replace(b"a/old", b"a/poem.txt").replace(b"b/new", b"b/poem.txt")
        assert apply_patch(old, text, "poem.txt") == new


@given(content=TEXTS, text=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise_anything_else(content, text):
    with contextlib.suppress(DoesNotApplyError):
        assert apply_patch(content, b"@@ -1,3 +1,2 @@\n" + text, "poem.txt") is not None


def test_a_diff_that_is_in_already_changes_nothing():
    diff = b"--- a/r.md\n+++ b/r.md\n@@ -1 +1,3 @@\n # mine\n+\n+All about shapes.\n"
    once = apply_patch(b"# mine\n", diff, "r.md")
    assert once == b"# mine\n\nAll about shapes.\n"
    assert apply_patch(once, diff, "r.md") == once


def test_a_diff_of_several_hunks_that_is_in_already_changes_nothing():
    before = b"".join(b"line %d\n" % n for n in range(1, 21))
    diff = (
        b"--- a/t\n+++ b/t\n@@ -1,3 +1,4 @@\n line 1\n+new\n line 2\n line 3\n"
        b"@@ -10,3 +11,2 @@\n line 10\n-line 11\n line 12\n"
    )
    once = apply_patch(before, diff, "t")
    assert once is not None
    assert once != before
    assert apply_patch(once, diff, "t") == once


def test_many_lines_that_are_the_same_are_looked_for_in_linear_time():
    removed = b"-\n" * 40_000
    began = time.thread_time()
    with pytest.raises(DoesNotApplyError, match="does not apply"):
        apply_patch(b"\n" * 80_000, b"@@ -1,40001 +1 @@\n" + removed + b"-x\n+y\n", "a")
    with pytest.raises(DoesNotApplyError, match=r"several places \(lines 1, 2, 3, 4, 5\)"):
        apply_patch(b"\n" * 80_000, b"@@ -90000,40000 +1 @@\n" + removed + b"+y\n", "a")
    assert time.thread_time() - began < 8
