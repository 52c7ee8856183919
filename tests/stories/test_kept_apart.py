"""With many jobs: who never runs together, and what each slot has of its own."""

from pathlib import Path

from workplace import FENCE, PASSES

ALONE = "mkdir {place} || exit 9; sleep 0.3; rmdir {place}"


def a_task(id_, line, output, *more):
    fields = "".join(f"- {one}\n" for one in more)
    return (
        f"## {id_}: task {id_[-1]}\n\n- Output files: {output}\n{fields}"
        f"- Command: sh -c '{line}; echo {id_} > {id_}.txt'\n"
        f"- Test contracts:\n  - TC-{id_[-3:]} (unit): `{PASSES}`\n"
    )


def two(tmp_path):
    """Two tasks whose commands fail when they run at the same time."""
    line = ALONE.format(place=tmp_path / "alone")
    return (
        a_task("TASK-001", line, "`TASK-001.txt`"),
        a_task("TASK-002", line, "`TASK-002.txt`"),
    )


def build(workplace):
    return workplace.run("--sandbox", "none", "-j", "2")


def collided(workplace):
    """Whether an attempt failed, since the other one was there; the next may pass."""
    return any(one["ending"] == "failed" for one in workplace.happened("attempt.finished"))


def test_two_tasks_that_share_something_never_run_together(workplace, tmp_path):
    """A file, a scarce thing, or a row of the ownership map: each pair has a place of its own."""
    rows = "| File | Tasks |\n|---|---|\n| `src/**` | TASK-005 |\n| `src/a.py` | TASK-006 |\n"
    workplace.write({"FILE_OWNERSHIP_MAP.md": rows, "runner.toml": "[resources]\ngpu = 1\n"})
    pairs = ((", `shared.txt`",), ("", "Uses: gpu 1"), ("",))
    tasks = []
    for n, (output, *fields) in enumerate(pairs):
        line = ALONE.format(place=tmp_path / f"alone{n}")
        ids = (f"TASK-00{2 * n + 1}", f"TASK-00{2 * n + 2}")
        tasks += [a_task(id_, line, f"`{id_}.txt`{output}", *fields) for id_ in ids]
    workplace.plan(*tasks)
    said = workplace.run("--sandbox", "none", "-j", "6")
    assert said.code == 0, said.said
    assert not collided(workplace)
    dry = workplace.runner("run", "--dry-run", "--json", "-j", "2").document
    assert dry["order"] == []


def test_any_runs_alone(workplace, tmp_path):
    line = ALONE.format(place=tmp_path / "alone")
    workplace.plan(a_task("TASK-001", line, "any"), a_task("TASK-002", line, "`TASK-002.txt`"))
    said = build(workplace)
    assert said.code == 0, said.said
    assert not collided(workplace)


def test_what_shares_nothing_runs_together(workplace, tmp_path):
    """Else the stories above would prove nothing: these two do fail one another."""
    workplace.plan(*two(tmp_path))
    build(workplace)
    assert collided(workplace)


def test_each_slot_has_its_number_its_ports_and_a_folder_for_what_is_temporary(workplace, tmp_path):
    out = tmp_path / "seen"
    out.mkdir()
    line = (
        f'echo "$RUNNER_SLOT $RUNNER_PORT_BASE $TMPDIR" > {out}/$RUNNER_TASK; '
        f"while ! test -e {out}/TASK-001 -a -e {out}/TASK-002; do sleep 0.05; done"
    )
    workplace.plan(
        a_task("TASK-001", line, "`TASK-001.txt`"), a_task("TASK-002", line, "`TASK-002.txt`")
    )
    assert build(workplace).code == 0
    one, other = ((out / f"TASK-00{n}").read_text().split() for n in (1, 2))
    assert all(left != right for left, right in zip(one, other, strict=True)), (one, other)
    assert all(Path(seen[2]).is_dir() for seen in (one, other))


def test_a_run_says_what_it_reached_beside_the_estimate_and_the_bound(workplace):
    blocks = "".join(
        f"## TASK-00{n}: task {n}\n\n- Output files: `{n}.txt`\n"
        f"- Test contracts:\n  - TC-00{n} (unit): `{PASSES}`\n\n"
        f"{FENCE}text file={n}.txt\n{n}\n{FENCE}\n\n"
        for n in (1, 2, 3)
    )
    workplace.plan(blocks)
    assert "were estimated" not in workplace.run().said, "nothing is known the first time"
    workplace.edit_plan("file=1.txt\n1\n", "file=1.txt\none\n")
    workplace.edit_plan("file=2.txt\n2\n", "file=2.txt\ntwo\n")
    workplace.commit(message="other words")
    workplace.run()
    assert workplace.runner("approve", "TASK-001", "TASK-002").code == 0
    dry = workplace.runner("run", "--dry-run", "-j", "2").out
    assert "with 2 at once, based on past durations" in dry
    said = workplace.run("-j", "2").said
    assert "2 tasks took " in said
    assert " estimated; lower bound " in said


HELD = """\
## TASK-001: held

- Output files: `shared.txt`
- Command: sh -c 'echo one >> shared.txt'
- Test contracts:
  - TC-001 (unit): `true`
"""
OTHER = """\
## TASK-002: other

- Depends on: none
- Output files: `shared.txt`
- Command: sh -c 'echo two >> shared.txt'
- Test contracts:
  - TC-002 (unit): `true`

## TASK-003: behind

- Depends on: TASK-002
- Test contracts:
  - TC-003 (unit): `true`

## TASK-004: far behind

- Depends on: TASK-003
- Test contracts:
  - TC-004 (unit): `true`
"""


def test_held_work_never_overwrites_what_another_task_landed_in_the_same_run(workplace):
    """It was carried to the head of the run's beginning; the other lands before its turn."""
    workplace.plan(HELD)
    workplace.write({"shared.txt": "a note of mine\n"})
    assert workplace.run("--sandbox", "none", "--allow-dirty").code == 3
    assert "in the way" in workplace.status_line("TASK-001")
    (workplace.root / "shared.txt").unlink()
    workplace.write({"TASK-GRAPH.md": workplace.read("TASK-GRAPH.md") + "\n" + OTHER})
    workplace.commit(message="more")
    build(workplace)
    assert "two" in workplace.read("shared.txt"), "what TASK-002 landed is there still"
    assert workplace.statuses["TASK-002"] == "DONE"
