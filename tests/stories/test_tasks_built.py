"""What a run builds and in which order, what it writes down, and what a dry run says of it."""

import time
from itertools import pairwise
from pathlib import Path

import pytest
from workplace import a_task

SAMPLES = Path(__file__).parent / "samples"


def chain(*ids, needs=None):
    """A task for each letter, each making a file of its own."""
    needs = needs or {}
    return [
        a_task(
            f"TASK-00{n}",
            f"Makes {n}",
            needs=[f"TASK-00{one}" for one in needs.get(n, ())],
            outputs=[f"{n}.txt"],
            command=f"echo {n} > {n}.txt",
        )
        for n in ids
    ]


DIAMOND = {2: (1,), 3: (1,), 4: (2, 3)}


def started(workplace):
    return [event["task"][-1] for event in workplace.happened("attempt.started")]


# --- selection ------------------------------------------------------------------------


def test_only_what_was_selected_is_built_and_the_dry_run_says_the_same(workplace):
    workplace.plan(*chain(1, 2, 3, 4, 5, needs=DIAMOND))
    built = []
    for words, more in (
        (["--only", "TASK-004"], ""),
        (["--until", "TASK-003"], "13"),
        (["task-2", "3"], "2"),
        (["TASK-001", "--with-dependents"], "4"),
    ):
        foreseen = workplace.runner("run", "-n", "--json", "-j", "1", *words)
        assert foreseen.code in (0, 3), foreseen.said
        ended = workplace.run("-j", "1", *words)
        assert ended.code == (0 if more else 3), ended.said
        assert [one[-1] for one in foreseen.document["order"]] == [*more], words
        built += more
        assert started(workplace) == built, words


# --- many at once ---------------------------------------------------------------------


def test_tasks_that_share_an_output_file_are_never_at_work_together(workplace):
    def adds(n, outputs):
        command = f"sleep 0.1; echo {n} >> {outputs[0].replace('*', 'x')}"
        return a_task(f"TASK-00{n}", outputs=outputs, command=command)

    workplace.plan(
        adds(1, ["log.txt"]), adds(2, ["log.txt"]), adds(3, ["*.txt"]), adds(4, ["other.md"])
    )
    ended = workplace.run("-j", "4")
    assert ended.code == 0, ended.said
    assert sorted(workplace.read("log.txt").split()) == ["1", "2"]
    spans = {}
    for event in workplace.events:
        if event["type"] == "attempt.started":
            spans.setdefault(event["task"], [event["seq"], 0])
        elif event["type"] in ("task.done", "task.blocked"):
            spans[event["task"]][1] = event["seq"]
    sharing = sorted(spans[f"TASK-00{n}"] for n in (1, 2, 3))
    assert all(one[1] < next_[0] for one, next_ in pairwise(sharing)), spans


# --- the dry run ----------------------------------------------------------------------


def test_a_dry_run_writes_nothing_and_starts_nothing(workplace, monkeypatch):
    from runner import effects

    workplace.plan(
        *chain(1, 2, 3, 4, needs=DIAMOND),
        a_task(
            "TASK-005", outputs=["5.txt"], command="echo five > 5.txt", tests=["grep five 5.txt"]
        ),
    )
    before = workplace.everything()
    seen = []

    def watch(kind, target):
        if kind in ("spawn", "scratch") or str(workplace.root) in target:
            seen.append((kind, target))

    effects.watch(watch)
    try:
        ended = workplace.runner("run", "--dry-run", "-j", "2")
    finally:
        effects.unwatch(watch)
    assert ended.code == 0, ended.said
    assert workplace.everything() == before
    assert seen == []
    assert ended.out == (
        "batch 1\n"
        "  TASK-001 Makes 1\n"
        "      $ echo 1 > 1.txt\n"
        "  TASK-005 Work\n"
        "      $ echo five > 5.txt\n"
        "      $ grep five 5.txt\n"
        "batch 2\n"
        "  TASK-002 Makes 2\n"
        "      $ echo 2 > 2.txt\n"
        "  TASK-003 Makes 3\n"
        "      $ echo 3 > 3.txt\n"
        "batch 3\n"
        "  TASK-004 Makes 4\n"
        "      $ echo 4 > 4.txt\n"
        "order: TASK-001 TASK-005 TASK-002 TASK-003 TASK-004\n"
        "critical path: TASK-001 → TASK-002 → TASK-004\n"
        "about 3.0 s with 2 at once, assuming 1 s a task\n"
    )


def test_a_dry_run_of_a_half_built_plan_foresees_the_rest_and_writes_nothing(workplace):
    workplace.plan(*chain(1, 2, 3, 4, needs=DIAMOND))
    assert workplace.run("TASK-002").code == 0
    workplace.commit({"mine.txt": "1\n"})
    before = workplace.everything()
    foreseen = workplace.runner("run", "-n", "--json", "-j", "1")
    assert workplace.everything() == before
    assert foreseen.document["order"] == ["TASK-003", "TASK-004"]
    assert workplace.run("-j", "1").code == 0
    assert started(workplace)[2:] == ["3", "4"]


# --- what is written down -------------------------------------------------------------


def test_decisions_that_are_printed_or_written_are_numbered_in_decisions_md(workplace):
    workplace.plan(
        a_task(
            "TASK-001",
            "Chooses",
            outputs=["a.txt"],
            command=(
                "echo a > a.txt; printf 'DECISION: Use files\\nContext: small\\n"
                "Decision: no database\\nTrade-off: no queries\\n\\n'; "
                "printf 'DECISION: Use ASCII\\nDecision: plain\\n' > \"$RUNNER_DECISIONS\""
            ),
        ),
        a_task(
            "TASK-002",
            "Chooses, too",
            needs=["TASK-001"],
            outputs=["b.txt"],
            command="echo b > b.txt; echo 'DECISION: Third'",
        ),
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    text = workplace.read("artifacts/build/DECISIONS.md")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert sorted(line.split(": ")[0] for line in headings) == [
        "## DECISION-001",
        "## DECISION-002",
        "## DECISION-003",
    ]
    assert headings[2] == "## DECISION-003: Third"
    for said in ("Use files", "Use ASCII", "Context: small", "Trade-off: no queries", "TASK-001"):
        assert said in text
    assert workplace.git("show", "HEAD:artifacts/build/DECISIONS.md") + "\n" == text


def test_patterns_that_fit_are_in_the_brief_the_journal_and_the_status_line(workplace):
    workplace.write(
        {
            "PATTERN_INDEX.md": (
                "| Pattern | Title | Domain | Stack | Keywords | File |\n"
                "|---|---|---|---|---|---|\n"
                "| PATTERN-001 | Retry on lock | data | db | lock | `patterns/PATTERN-001.md` |\n"
                "| PATTERN-002 | Dark mode | ui | css | theme | `patterns/PATTERN-002.md` |\n"
            ),
            "patterns/PATTERN-001.md": "# Retry on lock\n\nAt most three times.\n",
            "patterns/PATTERN-002.md": "# Dark mode\n\nInvert.\n",
        }
    )
    workplace.plan(
        a_task(
            "TASK-001",
            "Store",
            outputs=["brief.md"],
            command='cp "$RUNNER_BRIEF" brief.md',
            fields=["Type: data", "Keywords: lock"],
        )
    )
    assert workplace.run().code == 0
    assert "At most three times." in workplace.read("brief.md")
    assert "Dark mode" not in workplace.read("brief.md")
    assert workplace.happened("attempt.started")[0]["patterns"] == ["PATTERN-001"]
    assert "Patterns applied: PATTERN-001" in workplace.read("artifacts/build/CHECKPOINT.md")


def test_each_task_leaves_its_line_and_every_five_a_checkpoint(workplace):
    workplace.plan(*chain(*range(1, 8)))
    assert workplace.run().code == 0
    text = workplace.read("artifacts/build/CHECKPOINT.md")
    assert text.count("— DONE — unproven: only documents") == 7
    assert text.count("Checkpoint 1") == 1
    assert text.count("Checkpoint 2") == 1  # of the two that were left when the run ended
    assert "Checkpoint 3" not in text
    assert workplace.dirt == []


def test_each_task_is_one_commit_with_its_files_and_its_evidence(workplace):
    workplace.plan(
        a_task(
            "TASK-001", "Model", blocks={"m.py": "M = 1\n"}, tests=["python3 -m py_compile m.py"]
        ),
        a_task("TASK-002", "Only looks", needs=["TASK-001"], tests=["test -e m.py"]),
    )
    assert workplace.run().code == 0
    assert workplace.subjects == ["plan", "feat(TASK-001): model", "chore(runner): record"]
    body = workplace.git("log", "-1", "--format=%B", "HEAD~1")
    assert "\nTask: TASK-001\nAttempt: 1\nSpec: sha256:" in body
    assert "\nProof: TC-001 " in body
    assert "Checked: TASK-002 attempt=1" in workplace.git("log", "-1", "--format=%B")
    assert workplace.git("show", "--name-only", "--format=", "HEAD~1") == "m.py"


# --- time and processes ---------------------------------------------------------------


def test_a_command_that_takes_too_long_is_ended(workplace):
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command="echo a > a.txt; sleep 30",
            fields=["Timeout: 1 second", "Budget: 1 attempts"],
        )
    )
    began = time.monotonic()
    ended = workplace.run()
    assert ended.code == 1
    assert time.monotonic() - began < 25
    assert "the command took longer than 1 seconds and was stopped" in ended.err


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_what_a_command_leaves_running_is_ended_with_it(workplace, sandbox):
    name = f"sleep 7{time.time_ns() % 10**6}"
    workplace.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt"],
            command=f"({name} &) ; setsid {name} & echo a > a.txt",
        )
    )
    ended = workplace.run("--sandbox", sandbox)
    assert ended.code == 0, ended.said
    assert not _running(name)


def _running(line):
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                said = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            found += [said] if said.strip() == line else []
    return found


def test_what_a_command_cannot_do_twice_is_landed_once_and_never_changes(workplace):
    workplace.plan(
        a_task("TASK-001", outputs=["stamp.txt"], command="date +%s%N > stamp.txt"),
        a_task(
            "TASK-002", needs=["TASK-001"], outputs=["copy.txt"], command="cp stamp.txt copy.txt"
        ),
    )
    assert workplace.run("TASK-001").code == 0
    stamp = workplace.read("stamp.txt")
    for _ in range(2):
        assert workplace.run().code == 0
    assert workplace.read("stamp.txt") == workplace.read("copy.txt") == stamp
    assert workplace.landings == ["TASK-001", "TASK-002"]


# --- plans in the styles people write them --------------------------------------------


def test_a_plan_as_planners_write_it_is_run_and_edited_in_place(workplace, monkeypatch):
    text = (SAMPLES / "planner-style.md").read_text("utf-8")
    workplace.write({"shortener/__init__.py": ""})
    workplace.commit({"TASK-GRAPH.md": text}, "plan")
    assert workplace.statuses == {
        "TASK-001": "DONE",
        "TASK-002": "PENDING",
        "TASK-003": "PENDING",  # IN_PROGRESS in the file, but no run is alive
        "TASK-004": "PENDING",
    }
    foreseen = workplace.runner("run", "-n", "--json", "-j", "2").document
    assert foreseen["batches"] == [["TASK-002", "TASK-003"]]  # TASK-004 is an api without Contracts
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert "type api needs Contracts, but the task has none" in workplace.status_line(
        "TASK-004", "###"
    )
    monkeypatch.setenv("RUNNER_PROOF_REQUIRE_CONTRACTS", "none")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert workplace.landings[-1] == "TASK-004"
    wanted = text.replace("**Status:** pending  ", "**Status:** DONE  ")
    wanted = wanted.replace("**Status:** IN_PROGRESS  ", "**Status:** DONE  ")
    wanted = wanted.replace("**Status:** PENDING  ", "**Status:** DONE  ")
    made = workplace.read("TASK-GRAPH.md")
    assert made in (wanted, wanted.replace("DONE ✅", "DONE"))
    assert "```text\nnot a fence of the plan\n```" in workplace.read("shortener/store.py")
    assert workplace.dirt == []


def test_a_plan_of_tables_is_run_and_edited_in_place(workplace, monkeypatch):
    text = (SAMPLES / "tables.md").read_text("utf-8")
    workplace.commit({"TASK-GRAPH.md": text}, "plan")
    assert workplace.run().code == 3  # nothing proves what the command of T001 writes
    assert workplace.statuses == {"T001": "BLOCKED", "T002": "PENDING", "T010": "PENDING"}
    monkeypatch.setenv("RUNNER_PROOF_REQUIRE_PROOF", "never")
    ended = workplace.run("-v")
    assert workplace.statuses["T001"] == "DONE", ended.said
    assert ended.code == 0, ended.said
    assert workplace.statuses == {"T001": "DONE", "T002": "DONE", "T010": "DONE"}
    made = workplace.read("TASK-GRAPH.md").splitlines()
    changed = [(old, new) for old, new in zip(text.splitlines(), made, strict=True) if old != new]
    unproven = "DONE — unproven: nothing proves it"
    assert [
        new.replace(unproven, "PENDING").replace("DONE", "PENDING").split() for _, new in changed
    ] == [old.split() for old, _ in changed]
    assert sum(unproven in new for _, new in changed) == 2
    assert len(changed) == 3
    assert "| Status | PENDING |" in workplace.read("TASK-GRAPH.md")  # the one in the fence


def test_what_was_dear_to_write_is_written_though_no_news_come(workplace, monkeypatch):
    """The last task goes on only once the plan says that the one before it is DONE."""
    from runner import effects
    from runner.run.landing import status_writer

    monkeypatch.setattr(status_writer, "_LONGEST_REST", 0.5)
    monkeypatch.setattr(status_writer, "_TIMES_AS_LONG", 2.0)
    plan = workplace.root / "TASK-GRAPH.md"

    def slow(kind, target):
        if kind == "replace" and target == str(plan):
            time.sleep(0.3)

    waits = f"until test $(grep -c '^- Status: DONE' {plan}) = 2; do sleep 0.05; done; "
    workplace.plan(
        *chain(1, 2, needs={2: [1]}),
        a_task(
            "TASK-003",
            outputs=["3.txt"],
            needs=["TASK-002"],
            command=waits + "echo 3 > 3.txt",
            fields=["Timeout: 30 seconds", "Budget: 1 attempts"],
        ),
    )
    effects.watch(slow)
    try:
        ended = workplace.run("--no-sandbox", "-j", "1")
    finally:
        effects.unwatch(slow)
    assert ended.code == 0, ended.said


@pytest.mark.parametrize(
    ("sample", "before", "line"),
    [
        ("planner-style.md", "**Task type:** api  \n", "**Contracts:** none — in one process  \n"),
        (
            "tables.md",
            "| Output files | `pipeline/reader.py` |\n",
            "| Proof | none — fixed text |\n",
        ),
    ],
)
def test_a_plan_of_another_style_goes_on_by_the_one_line_that_is_advised(
    workplace, sample, before, line
):
    text = (SAMPLES / sample).read_text("utf-8")
    assert before in text
    workplace.write({"shortener/__init__.py": ""})
    workplace.commit({"TASK-GRAPH.md": text.replace(before, before + line)}, "plan")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
