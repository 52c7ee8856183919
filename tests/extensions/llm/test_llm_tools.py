"""What the tools read and write of a real tree, whoever asks for what."""

import errno
import os

import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner import effects
from runner.config.shell_rules import Permission, PermissionAnswer, Permit
from runner.context.skills import load_built_in
from runner.errors import RunnerError

KEY = "ghp_" + "a1B2" * 9


def read(path, **lines):
    return ("read_file", {"path": path, **lines})


def modify(path, **how):
    return ("modify_file", {"path": path, **how})


def search(pattern, **where):
    return ("search", {"pattern": pattern, **where})


def answers(chat, *calls):
    chat.run(list(calls), "Done.")
    return chat.answers


# --- reading --------------------------------------------------------------------------


def test_what_is_private_or_outside_is_never_shown(chat, tmp_path):
    (tmp_path / "outside.txt").write_text("theirs")
    chat.shop.write(".env", "A=1")
    chat.shop.write("keys/id_rsa", "x")
    chat.shop.write("node_modules/a.js", "x")
    chat.shop.write(".git/config", "x")
    (chat.shop.tree / "link").symlink_to("../outside.txt")
    (chat.shop.tree / "up").symlink_to("..")
    os.mkfifo(chat.shop.tree / "pipe")
    asked = (".env", "keys/id_rsa", "node_modules/a.js", ".git/config", "link", "up/outside.txt")
    said = answers(chat, *map(read, (*asked, "pipe", "../outside.txt", "/etc/passwd", "keys")))
    assert [one for one in said if not one.startswith("not shown: ")] == []
    assert answers(chat, ("list_files", {}), search("theirs|x")) == [
        "no matching files",
        "no matches",
    ]


def test_read_allow_is_held_by_every_tool_that_reads(chat):
    chat.settings = settings_of(read_allow=("src/**",))
    chat.shop.write("src/a.py", "one\n")
    chat.shop.write("docs/a.md", "one\n")
    said = answers(chat, read("src/a.py"), read("docs/a.md"), search("one"))
    assert said[0] == "one\n"
    assert said[1] == "not shown: agent.read_allow excludes docs/a.md"
    assert said[2] == "src/a.py:1: one"


def test_some_lines_of_a_file_and_lines_that_are_not_there(chat):
    chat.shop.write("a", "1\n2\n3\n4\n")
    lines = answers(chat, read("a", first_line=2, last_line=3), read("./a", first_line=9))
    assert lines == ["2\n3\n", "a has 4 lines"]


def test_keys_in_files_are_redacted(chat):
    chat.shop.write("a.py", f"token = '{KEY}'\n")
    said = answers(chat, read("a.py"), search("token"))
    assert KEY not in repr(said)
    assert all("[REDACTED:" in one for one in said)


def test_lists_and_searches_are_bounded(chat):
    for number in range(505):
        chat.shop.write(f"many/{number:03}.txt", "a line\n")
    listed, found = answers(chat, ("list_files", {"folder": "many/"}), search("line"))
    assert len(listed.splitlines()) == 501
    assert listed.endswith("… more than 500 files: name a folder or a pattern")
    assert len(found.splitlines()) == 101
    chat.shop.write("large", "x" * 70_000)
    (large,) = answers(chat, read("large"))
    assert large == "not shown: large is larger than 65536 bytes"
    chat.shop.write("long", "word " * 12_000)
    (long,) = answers(chat, read("long"))
    assert len(long) < 33_000
    assert long.endswith("characters more)")


def test_a_listing_goes_no_deeper_than_a_task_may_write(chat):
    chat.shop.write("a", "a line\n")
    deep = chat.shop.tree / "/".join("d" * 70)
    deep.mkdir(parents=True)
    (deep / "f").write_text("a line\n")
    at = os.open(deep, os.O_RDONLY)
    for _ in range(1300):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    assert answers(chat, ("list_files", {}), search("line")) == ["a (7 bytes)", "a:1: a line"]
    effects.remove_tree(chat.shop.tree / "d")  # which pytest could not


def test_a_listing_keeps_to_its_folder_and_pattern(chat):
    for path in ("src/a.py", "src/b.ts", "src/in/c.py", "srcs/d.py", "e.py"):
        chat.shop.write(path, "x")
    ask = ("list_files", {"folder": "src", "pattern": "*.py"})
    (listed,) = answers(chat, ask)
    assert listed == "src/a.py (1 bytes)\nsrc/in/c.py (1 bytes)"
    (listed,) = answers(chat, ("list_files", {"folder": "../"}))
    assert listed == "no matching files"


def test_a_search_is_by_linear_expressions_and_says_what_is_wrong_with_one(chat):
    chat.shop.write("a", "Error\n" + "a" * 30_000 + "\n")
    said = answers(chat, search("error", ignore_case=True), search("(a+)+$b"), search("("))
    assert said[0] == "a:1: Error"
    assert said[1] == "no matches"
    assert said[2].startswith("not a valid RE2 regular expression: ")


# --- writing --------------------------------------------------------------------------


def test_a_text_is_replaced_where_it_stands_exactly_once(chat):
    chat.shop.write("src/a.py", "one\ntwo\ntwo\n")
    said = answers(
        chat,
        modify("src/a.py", old="one", new="1"),
        modify("src/a.py", old="two", new="2"),
        modify("src/a.py", old="three", new="3"),
        modify("src/b.py", old="x", new="y"),
        modify("src/a.py", new="x"),
    )
    assert chat.files == {"src/a.py": "1\ntwo\ntwo\n"}
    assert [one.removeprefix("refused, nothing was written: ") for one in said] == [
        "modify of src/a.py: done",
        "old occurs 2 times in src/a.py; it must be a text that occurs there exactly once",
        "old occurs 0 times in src/a.py; it must be a text that occurs there exactly once",
        "src/b.py does not exist: create it with write_file",
        "old is empty; it must be a text that occurs there exactly once",
    ]


def test_a_patch_modifies_makes_and_removes(chat):
    chat.shop.write("src/a.py", "one\ntwo\n")
    chat.shop.write("src/old.py", "x\n")
    change = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    misfit = change.replace("-one", "-uno")
    gone = "--- a/src/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    new = "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+y\n"
    said = answers(
        chat,
        modify("src/a.py", patch=misfit),
        modify("src/a.py", patch=change),
        modify("src/old.py", patch=gone),
        modify("src/new.py", patch=new),
        modify("src/a.py", patch=change, old="1"),
    )
    assert said[0].startswith("refused, nothing was written: the patch does not apply: ")
    assert said[1:4] == [
        "modify of src/a.py: done",
        "delete of src/old.py: done",
        "create of src/new.py: done",
    ]
    assert said[4].endswith("give either patch, or old and new")
    assert chat.files == {"src/a.py": "1\ntwo\n", "src/new.py": "y\n"}


def test_an_executable_file_stays_one_and_a_link_is_never_written_through(chat, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (chat.shop.tree / "src").mkdir()
    (chat.shop.tree / "src/out").symlink_to(outside)
    script = chat.shop.write("src/run.sh", "old")
    script.chmod(0o755)
    write = [
        ("write_file", {"path": path, "content": "new"}) for path in ("src/run.sh", "src/out/x")
    ]
    made = ("write_file", {"path": "src/tool", "content": "x", "executable": True})
    said = answers(chat, *write, made)
    assert script.stat().st_mode & 0o777 == 0o755
    assert (chat.shop.tree / "src/tool").stat().st_mode & 0o111
    assert said[1].endswith("a symbolic link is in the way")
    assert list(outside.iterdir()) == []


def test_a_full_disk_is_no_fault_of_the_models_and_ends_the_run(chat, request):
    def full(kind, target):
        if kind == "mkdir":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    effects.watch(full)
    request.addfinalizer(lambda: effects.unwatch(full))
    with pytest.raises(RunnerError, match="the disk is full"):
        chat.run([("write_file", {"path": "src/deep/er.txt", "content": "x"})], "Done.")


@pytest.mark.parametrize("path", ["src/../../x", "/etc/x", "src/.git/hooks/x", "src/a\u200b.py"])
def test_a_path_that_no_task_may_write_is_refused_by_both_writers(chat, path):
    said = answers(
        chat, ("write_file", {"path": path, "content": "x"}), modify(path, old="a", new="b")
    )
    assert [one for one in said if not one.startswith("refused, nothing was written: ")] == []
    assert chat.files == {}


def test_a_skill_that_comes_with_the_runner_is_read_by_the_path_of_the_brief(chat):
    (path,) = [skill.path for skill in load_built_in() if skill.name == "tdd-loop"]
    chat.run([("read_file", {"path": path})], "Done.")
    assert chat.answers[0].startswith("# The loop: red, green, tidy\n")


def test_a_link_that_a_check_put_in_the_place_of_the_project_is_not_followed(chat, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "diary.txt").write_text("dear diary")
    project = chat.shop.tree / "sub"
    project.mkdir()

    def swaps():
        project.rmdir()
        project.symlink_to(theirs)
        return ()

    chat.gates["TC-001"] = swaps
    chat.set(place=replace(chat.attempt.place, start="sub"))
    calls = [
        read("diary.txt"),
        ("list_files", {}),
        search("diary"),
        ("write_file", {"path": "src/a.py", "content": "x = 1\n"}),
        modify("diary.txt", old="dear", new="mad"),
    ]
    chat.run([("run_gate", {"name": "TC-001"})], calls, "Done.")
    assert chat.answers[0] == "TC-001 passes"
    for answer in chat.answers[1:]:
        assert "the project's folder is a symbolic link in the scratch tree" in answer
    assert (theirs / "diary.txt").read_text() == "dear diary"
    assert [path.name for path in theirs.iterdir()] == ["diary.txt"]


def write(path, content="x = 1\n"):
    return ("write_file", {"path": path, "content": content})


@pytest.fixture
def person(chat):
    """A person who is asked, and says in turn what is in `answers`; then nobody is there."""

    def ask(tool, subject, rule):
        chat.asked.append((tool, subject, rule))
        said = chat.words.pop(0) if chat.words else None
        if said is None:
            return None
        return PermissionAnswer(tool, subject, said != "no", "use b.py", once=said == "once")

    chat.asked, chat.words = [], []
    chat.set(ask=ask)
    ruled = [("*", "src/**"), ("run_gate", "deploy*"), ("modify_file", "tests/**")]
    rules = tuple(Permission(*one, Permit.ASK) for one in ruled)
    chat.settings = settings_of(permission=(*rules, Permission("*", "src/core/**", Permit.DENY)))
    return chat


def test_a_yes_for_once_holds_for_one_call_and_one_for_the_task_for_all(person):
    person.shop.write("src/a.py", "x\n")
    person.words = ["once", "once", "task"]
    twice = [read("src/a.py"), read("tests/none.py"), read("./src/a.py"), read("src/a.py")]
    person.run(twice, [read("src/a.py")], "Done.")
    assert [answer == "x\n" for answer in person.answers] == [True, False, True, True, True]
    assert person.asked[0] == ("read_file", "src/a.py", 'the rule "ask * src/**" of your settings')
    assert len(person.asked) == 3


def test_a_no_is_told_with_its_reason_and_not_asked_again(person):
    person.words = ["no"]
    person.run([read("src/a.py"), read("src/b.py"), read("src/a.py")], "Done.")
    no = "denied: a person does not allow read_file src/a.py: use b.py"
    assert (person.answers[0], person.answers[2]) == (no, no)
    assert person.answers[1] == (
        'denied for now: the rule "ask * src/**" of your settings needs a person\'s approval for '
        "read_file src/b.py, and nobody is available; the runner asks later. Try another way, or "
        "say at the end what is missing"
    )


def test_an_answer_of_an_earlier_attempt_holds_and_none_loosens_a_deny(person):
    person.shop.write("src/core/a.py", "x\n")
    calls = [("read_file", f"src/{name}a.py") for name in ("", "core/")]
    person.set(answers=tuple(PermissionAnswer(*call, allowed=True) for call in calls))
    person.run([read("src/a.py"), read("src/core/a.py"), ("run_gate", {"name": "deploy"})], "Done.")
    assert person.answers[0].startswith("not shown: src/a.py cannot be read")
    assert person.answers[1].startswith('denied: the rule "deny * src/core/**" of your settings')
    assert [one[:2] for one in person.asked] == [("run_gate", "deploy")]


def test_a_search_that_a_person_allows_shows_what_is_to_be_asked_about_and_nothing_denied(person):
    person.shop.write("src/a.py", "x\n")
    person.shop.write("src/core/b.py", "x\n")
    person.settings = settings_of(
        permission=(
            Permission("list_files", "**", Permit.ASK),
            Permission("list_files", "src/core/**", Permit.DENY),
        )
    )
    person.words = ["once"]
    person.run([("list_files", {})], [("list_files", {"folder": "src"})], "Done.")
    assert person.answers[0] == "src/a.py (2 bytes)"
    assert person.answers[1].startswith("denied for now")


def test_a_write_is_asked_about_by_the_rule_that_the_pipeline_will_hold_it_to(person):
    person.shop.write("tests/test_a.py", "x = 1\n")
    person.words = ["task"]
    person.run([write("tests/test_a.py"), write("tests/test_b.py")], "Done.")
    assert [one[:2] for one in person.asked] == [("modify_file", "tests/test_a.py")]
    assert person.answers[1] == "create of tests/test_b.py: done"


def test_a_write_that_a_person_will_see_anyway_is_not_asked_about(person):
    person.set(reviewed=True)
    person.run([write("src/a.py"), read("src/a.py")], "Done.")
    assert person.answers[0] == "create of src/a.py: done"
    assert [one[0] for one in person.asked] == ["read_file"]
