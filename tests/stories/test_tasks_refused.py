"""Work that must not land: what is refused, what is kept, and what a person is told."""

import os

from workplace import Workplace, a_task


def attempts(workplace, id_="TASK-001"):
    return len(workplace.happened("attempt.started", id_))


def a_key():
    """Looks like a key of Stripe's; put together here, so that none stands in this repository."""
    return "cd7pdz1TtjraDWjyLqH93Ce4_evil_ks"[::-1]


def test_a_change_outside_the_output_files_is_refused_with_the_line_that_would_allow_it(workplace):
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command="echo a > a.txt; echo b > b.txt"))
    ended = workplace.run()
    assert ended.code == 1, ended.said
    assert "b.txt" in ended.err
    assert "- Output files: `a.txt`, `b.txt`" in ended.err
    assert workplace.landings == []
    assert not workplace.has("a.txt")
    kept = workplace.git("ls-tree", "-r", "--name-only", "draft/TASK-001-work").splitlines()
    assert "a.txt" in kept
    assert "b.txt" not in kept
    workplace.edit_plan("- Output files: `a.txt`", "- Output files: `a.txt`, `b.txt`")
    workplace.git("commit", "-qam", "allow it")
    assert workplace.run().code == 0
    assert workplace.read("b.txt") == "b\n"


def test_a_secret_in_a_block_lands_nowhere(workplace):
    # the plan is a person's: it stays untracked, since its own text holds the key
    workplace.commit({".gitignore": "TASK-GRAPH.md\n"})
    workplace.plan(
        a_task("TASK-001", "Pays", blocks={"pay.py": f'KEY = "{a_key()}"\n', "ok.py": "OK = 1\n"}),
        commit=False,
    )
    ended = workplace.run("-v")
    assert ended.code == 1, ended.said
    assert "secret-scan" in ended.err
    assert "pay.py:1" in ended.err
    assert a_key() not in ended.said
    key = a_key().encode()
    assert key not in workplace.objects()
    files = [path for path in (workplace.root / "artifacts").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if key in path.read_bytes()]
    draft = "draft/TASK-001-pays"
    assert draft in workplace.branches
    assert "ok.py" in workplace.git("ls-tree", "-r", "--name-only", draft)
    assert "pay.py" not in workplace.git("ls-tree", "-r", "--name-only", draft)
    assert "Left out, because refused: pay.py" in workplace.git("log", "-1", draft)
    slots = workplace.home.glob("cache/runner/repositories/*/slots")
    assert not [path for slot in slots for path in _holding(slot, key)]


def _holding(folder, key):
    """Files of a folder that hold the bytes, git objects unpacked."""
    import zlib

    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if "objects" in path.parts and len(path.name) == 38:
                content = zlib.decompress(content)
            found += [path] if key in content else []
    return found


def test_a_secret_that_a_command_prints_is_shown_to_nobody(workplace):
    halves = a_key()[:10], a_key()[10:]
    command = f"printf %s {halves[0]}; sleep 0.1; echo {halves[1]}; exit 1"
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], command=command))
    ended = workplace.run("-v")
    assert ended.code == 1
    assert a_key() not in ended.said
    for path in (workplace.root / "artifacts").rglob("*"):
        assert path.is_dir() or a_key() not in path.read_text("utf-8", "replace"), path
    assert "[REDACTED:" in workplace.read("artifacts/build/journal.jsonl")


def test_blocks_that_fail_are_blocked_at_once_and_a_command_mends_its_work(workplace):
    mends = 'grep -q "exit code 1" "$RUNNER_BRIEF" && echo 2 > b.txt || echo 1 > b.txt'
    workplace.plan(
        a_task("TASK-001", "Bad sum", blocks={"a.txt": "1\n"}, tests=["grep -q 2 a.txt"]),
        a_task("TASK-002", outputs=["b.txt"], command=mends, tests=["grep -q 2 b.txt"]),
    )
    ended = workplace.run()
    assert ended.code == 1
    assert attempts(workplace) == 1
    assert workplace.status_line("TASK-001") == (
        "- Status: BLOCKED — TC-001 failed; work kept on draft/TASK-001-bad-sum"
    )
    assert workplace.git("show", "draft/TASK-001-bad-sum:a.txt") == "1"
    assert not workplace.has("a.txt")
    assert "BLOCKED TASK-001 (checks)" in ended.out
    assert attempts(workplace, "TASK-002") == 2
    assert "Attempt: 2" in workplace.git("log", "-1", "--format=%B", "HEAD~1")
    assert workplace.branches == ["draft/TASK-001-bad-sum", "main"]
    workplace.edit_plan("1\n```", "2\n```")
    workplace.git("commit", "-qam", "mend")
    assert workplace.run().code == 0
    assert workplace.status_line("TASK-001") == "- Status: DONE"


# --- BLOCKED at once ------------------------------------------------------------------


CANNOT_GO_ON = {
    "Command: `sudo make install`": ("root", "needs root"),
    "Requires: root": ("root", "needs root"),
    "Requires: secret SHOP_KEY": ("secret", "secret SHOP_KEY is not set in the environment"),
    "Requires: tool frobnicate": ("tool", "tool frobnicate is not on PATH"),
    "Implementer: nobody": ("policy", "no implementer"),
    "Keywords: x": ("policy", "no implementer"),
}


def test_what_cannot_go_on_is_blocked_at_once_with_the_reason(workplace):
    ids = {f"TASK-00{n}": field for n, field in enumerate(CANNOT_GO_ON, 1)}
    line = {id_: f"echo a > {id_}.txt" for id_ in ids}
    workplace.plan(
        *(
            a_task(
                id_,
                outputs=[f"{id_}.txt"],
                command=line[id_] if field.startswith("Requires") else "",
                fields=[field],
            )
            for id_, field in ids.items()
        )
    )
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert workplace.happened("attempt.started") == []
    for id_, field in ids.items():
        reason, note = CANNOT_GO_ON[field]
        (blocked,) = workplace.happened("task.blocked", id_)
        assert blocked["reason"] == reason, field
        assert note in workplace.status_line(id_) or reason == "policy", field
    assert workplace.run().code == 3
    assert len(workplace.happened("task.blocked")) == len(ids)
    workplace.plan(*(a_task(id_, outputs=[f"{id_}.txt"], command=line[id_]) for id_ in ids))
    fixed = workplace.run()
    assert fixed.code == 0, fixed.said
    assert all(workplace.read(f"{id_}.txt") == "a\n" for id_ in ids)


def test_a_secret_that_is_there_later_lets_the_task_run_and_reaches_it_alone(
    workplace, monkeypatch
):
    secret = "hush-" + "hush-1234567890"
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command='printf %s "$SHOP_KEY" | wc -c > a.txt; echo "$SHOP_KEY"',
            fields=["Requires: secret SHOP_KEY"],
        ),
        a_task("TASK-002", outputs=["b.txt"], command='test -z "$SHOP_KEY" && echo b > b.txt'),
    )
    assert workplace.run().code == 3
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}
    monkeypatch.setenv("SHOP_KEY", secret)
    ended = workplace.run("-v")
    assert ended.code == 0, ended.said
    assert workplace.read("a.txt").strip() == str(len(secret))
    assert secret not in ended.said
    assert secret not in workplace.read("artifacts/build/logs/TASK-001/1/implementer.log")


def test_a_tool_that_is_there_later_lets_the_task_run(workplace, monkeypatch):
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="echo a > a.txt",
            fields=["Gates:\n  - frob: `frobnicate`"],
        )
    )
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert "frobnicate, which gate frob runs, is not on PATH" in workplace.status_line("TASK-001")
    tools = workplace.home / "tools"
    tools.mkdir()
    (tools / "frobnicate").write_text("#!/bin/sh\nexit 0\n")
    (tools / "frobnicate").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    forecast = workplace.runner("run", "-n", "--json").document
    assert forecast["order"] == ["TASK-001"]
    assert workplace.run().code == 0


# --- what goes on ---------------------------------------------------------------------


def three(fails="exit 1"):
    return (
        a_task(
            "TASK-001", "Fails", outputs=["a.txt"], command=fails, fields=["Budget: 1 attempts"]
        ),
        a_task(
            "TASK-002", "Needs it", needs=["TASK-001"], outputs=["b.txt"], command="echo b > b.txt"
        ),
        a_task("TASK-003", "Apart", outputs=["c.txt"], command="echo c > c.txt"),
        a_task(
            "TASK-004", "Behind", needs=["TASK-003"], outputs=["d.txt"], command="echo d > d.txt"
        ),
    )


def test_independent_tasks_go_on_after_a_failure_but_with_fail_fast(workplace):
    workplace.plan(*three())
    ended = workplace.run("-j", "1", "--fail-fast")
    assert ended.code == 1
    assert set(workplace.statuses.values()) == {"BLOCKED", "PENDING"}
    assert workplace.landings == []
    ended = workplace.run("-j", "1")
    assert ended.code == 1
    assert workplace.statuses == {
        "TASK-001": "BLOCKED",
        "TASK-002": "PENDING",
        "TASK-003": "DONE",
        "TASK-004": "DONE",
    }
    assert "waiting TASK-002: needs TASK-001" in ended.out


def test_named_tasks_that_were_blocked_are_tried_again(workplace):
    marker = "ok"
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="echo a > a.txt",
            tests=[f"test -e {marker}"],
            fields=["Budget: 1 attempts"],
        )
    )
    assert workplace.run().code == 1
    assert workplace.run().code == 1
    assert attempts(workplace) == 1
    workplace.commit({marker: "1\n"})
    assert workplace.run("TASK-001").code == 0
    assert attempts(workplace) == 2


def test_exit_codes_say_the_worst_that_holds(workplace):
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command="exit 1", fields=["Budget: 1 attempts"]),
        a_task("TASK-002", outputs=["b.txt"], command="echo b > b.txt", fields=["Requires: root"]),
    )
    assert workplace.run().code == 1
    assert workplace.run("--only", "TASK-002").code == 3
    assert workplace.runner("run", "TASK-017").code == 2
    assert "`runner status --list` lists the tasks" in workplace.runner("run", "TASK-011").err
    assert isinstance(workplace, Workplace)


def test_a_secret_in_a_tasks_command_stands_in_no_journal_and_no_answer(workplace):
    key = a_key()
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}, tests=[f"test -n {key}"]))
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert key not in workplace.read("artifacts/build/journal.jsonl")
    for words in (
        ["log"],
        ["show", "TASK-001"],
        ["show", "TASK-001", "--json"],
        ["why", "TASK-001"],
    ):
        assert key not in workplace.runner(*words).said, words
    assert key not in workplace.git("log", "--format=%B")


def test_what_keeps_an_edited_task_from_starting_is_no_older_than_its_text(workplace):
    """They were built before, by another text: plan and status say the same of it all the same."""
    given = {
        "TASK-001": ("- Keywords: x", "policy"),
        "TASK-002": ("- Command: `sudo echo a > TASK-002.txt`", "root"),
        "TASK-003": ("- Command: `echo ab > TASK-003.txt`\n- Requires: tool nix9", "tool"),
    }
    workplace.plan(
        *(
            a_task(
                id_,
                outputs=[f"{id_}.txt"],
                command=f"echo a > {id_}.txt",
                tests=[f"grep a {id_}.txt"],
            )
            for id_ in given
        )
    )
    assert workplace.run().code == 0
    for id_, (text, _) in given.items():
        workplace.edit_plan(f"- Command: `echo a > {id_}.txt`", text)
    workplace.commit()
    assert workplace.run("--rebuild").code == 3
    assert workplace.statuses == dict.fromkeys(given, "BLOCKED")
    told = workplace.runner("status").out
    for id_, (_, reason) in given.items():
        assert workplace.status_line(id_).startswith("- Status: BLOCKED")
        assert any(f"BLOCKED ({reason})" in line for line in told.splitlines() if id_ in line), id_
    workplace.run()
    assert len(workplace.happened("task.blocked")) == len(given)
    for id_, (text, _) in given.items():
        workplace.edit_plan(text, f"- Command: `echo aa > {id_}.txt`")
    workplace.commit()
    mended = workplace.run()
    assert (mended.code, workplace.statuses) == (0, dict.fromkeys(given, "DONE")), mended.said
