"""A dry run with the implementer: all of it is shown, nothing lands, and it may later."""

import string

import pytest
from drafter import NAME, Drafter, a_plan, a_script, says
from workplace import PASSES, a_task

from runner.implementers.registry import IMPLEMENTERS

WORDS = ("-n", "--with-implementer", "--no-sandbox")


@pytest.fixture
def shop(workplace, monkeypatch, tmp_path):
    """A task for an agent, one for a command, one of blocks, and one that is DONE."""
    monkeypatch.setitem(IMPLEMENTERS, NAME, Drafter)
    calls = f'echo "$MODE" >> {tmp_path}/calls'
    workplace.write(
        {
            "agent.sh": a_script(
                says(a_plan("src/a.py", "src/b.py", "src/c.py", phases=(("One",), ("Two",)))),
                "mkdir -p src; if [ -e src/a.py ]; then echo 'B = 2' > src/b.py; else "
                "echo 'A = 1' > src/a.py; fi",
                calls,
            )
        }
    )
    workplace.plan(
        a_task("TASK-001", "Base", blocks={"base.py": "import src.a\n"}, tests=[PASSES]),
        a_task(
            "TASK-002",
            "By an agent",
            needs=["TASK-001"],
            outputs=["src/**"],
            command="sh agent.sh",
            tests=["test -s src/b.py"],
            fields=[f"Implementer: {NAME}", "Gates:\n  - ok: `true`"],
        ),
        a_task("TASK-003", "By a command", outputs=["x.txt"], command="date +%N > x.txt"),
        a_task("TASK-004", "Of blocks", blocks={"y.txt": "y\n"}, tests=["false"]),
        a_task("TASK-005", "After", needs=["TASK-002"], blocks={"z.txt": "z"}),
    )
    assert workplace.run("--only", "TASK-001", "--no-sandbox").code == 0
    return workplace


def test_it_shows_everything_and_leaves_nothing_behind(shop, tmp_path):
    # It is about one task whose turn has come.
    assert shop.run(*WORDS).err.startswith("runner: --with-implementer needs exactly one task")
    assert shop.run("TASK-005", *WORDS).err.startswith(
        "runner: TASK-005 depends on unfinished tasks: TASK-002"
    )
    assert "--with-implementer needs --dry-run" in shop.run("TASK-003", "--with-implementer").err

    before = shop.everything()
    ended = shop.run("TASK-002", *WORDS)
    assert ended.code == 0, ended.said
    assert "+++ b/src/a.py" in ended.out
    assert "+B = 2" in ended.out
    assert "files planned by its plan: 3; produced: 2\n  missing: src/c.py\n" in ended.out
    assert "TC-002 pass, exit 0" in ended.out
    assert "gate:ok pass, exit 0" in ended.out
    assert "in 1 plan, 1 phase, 1 build; no token usage reported" in ended.out
    assert ended.out.endswith("TASK-002 would land; nothing has landed\n")
    assert (tmp_path / "calls").read_text().split() == ["plan", "execute", "execute"]
    after = shop.everything()
    assert {path for path in after if path not in before} == set()
    journal = str(shop.root / "artifacts/build/journal.jsonl")
    assert after[journal] == before[journal]

    # As a document it has coverage, impact, proofs and cost.
    ended = shop.run("2", *WORDS, "--json")
    told = ended.document
    assert (told["kind"], told["passed"]) == ("trial", True)
    assert told["coverage"] == {
        "planned": ["src/a.py", "src/b.py", "src/c.py"],
        "produced": ["src/a.py", "src/b.py"],
        "missing": ["src/c.py"],
        "unplanned": [],
    }
    assert [one["kind"] for one in told["sessions"]] == ["plan", "phase", "build"]
    assert [one["task"] for one in told["impact"]["tasks"]] == ["TASK-001"]
    assert told["impact"]["files"] == ["base.py"]
    assert [one["id"] for one in told["proofs"]] == [
        *("TC-002", "gate:ok", "coverage"),
        "regression:TASK-001/TC-001",
    ]
    assert told["usage"] == {"inputTokens": 0, "outputTokens": 0, "dollars": 0.0, "toolCalls": 0}

    # What does not pass is shown with its findings, and is not saved.
    saved = tmp_path / "try.json"
    ended = shop.run("TASK-004", *WORDS, "--plan-out", str(saved))
    assert ended.code == 1
    assert "✗ TC-004: " in ended.out
    assert "TASK-004 would not land" in ended.out
    assert not saved.exists()


def test_of_an_agents_task_they_land_without_calling_it_again(shop, tmp_path):
    saved = tmp_path / "try.json"
    shop.run("TASK-002", *WORDS, "--plan-out", str(saved))
    (tmp_path / "calls").unlink()
    ended = shop.run("--apply", str(saved), "--no-sandbox", "--review", "prompt")
    assert ended.code == 0, ended.said
    assert not (tmp_path / "calls").exists()
    assert shop.landings == ["TASK-001", "TASK-002"]
    assert {one["by"] for one in shop.happened("write.reviewed", "TASK-002")} == {"person"}


def test_where_anything_has_moved_nothing_lands(shop, tmp_path):
    saved = tmp_path / "try.json"
    shop.run("TASK-003", *WORDS, "--plan-out", str(saved))
    other = tmp_path / "other.json"
    other.write_text(saved.read_text().replace('"path": "x.txt"', '"path": "y.txt"'))
    assert shop.run("--apply", str(other)).code == 2
    shop.edit_plan("date +%N > x.txt", "date > x.txt")
    ended = shop.run("--apply", str(saved), "--allow-dirty")
    assert (ended.code, "what to build has changed" in ended.err) == (6, True)
    shop.commit()
    ended = shop.run("--apply", str(saved))
    assert (ended.code, "HEAD was" in ended.err) == (6, True)
    assert shop.landings == ["TASK-001"]


def test_a_key_in_what_it_proposes_is_told_and_shown_nowhere(workplace, tmp_path):
    make = "import string; a = string.ascii_letters + string.digits; print('k = ' + repr('sk-' + "
    make += "'proj-' + ''.join(a[(n * 7 + 7) % 62] for n in range(80))), file=open('k.py', 'w'))"
    workplace.write({"make.py": make})
    workplace.plan(
        a_task("TASK-001", "Leak", outputs=["k.py"], command="python3 make.py", tests=["true"])
    )
    saved = tmp_path / "try.json"
    letters = string.ascii_letters + string.digits
    key = "sk-" + "proj-" + "".join(letters[(n * 7 + 7) % 62] for n in range(80))
    for words in ((), ("--json",)):
        ended = workplace.run("1", *WORDS, *words, "--plan-out", str(saved))
        assert ended.code == 1
        assert "secret" in ended.said
        assert key not in ended.said
    assert not saved.exists()
