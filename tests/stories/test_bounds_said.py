"""Bounds of commands are a person's own; what the machine does not hold is said."""

import pytest
from workplace import NO_PROOF, a_task

from runner.process import cgroups
from runner.process.cgroups import Grounds
from runner.process.sandbox import choose_sandbox


@pytest.fixture
def bounded(workplace, monkeypatch):
    workplace.settle('limits.processors = 2\nlimits.disk = "10GB"\nlimits.io = "50MB/s"\n')
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a\n"}, fields=(NO_PROOF,)))
    monkeypatch.setattr(cgroups, "our_grounds", Grounds)
    return workplace


def test_a_run_and_doctor_say_what_nothing_holds_and_go_on(bounded):
    ended = bounded.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert ended.said.count("processors is not enforced: no cgroup can be created for it here") == 1
    assert ended.said.count("disk is not enforced") == ended.said.count("io is not enforced") == 1
    said = bounded.runner("doctor").out
    assert "processors is not enforced" in said
    assert "io is not enforced" in said
    # A repository bounds nothing, and a bound that is none is refused with its line.
    bounded.write({"runner.toml": "limits.processors = 64\n"})
    shown = bounded.runner("settings")
    assert "processors is ignored: only your own settings" in shown.said
    file = bounded.home / "config/runner/runner.toml"
    for line in (
        "limits.processors = 0",
        'limits.io = "50MB"',
        'limits.io = "fast/s"',
        'limits.disk = "much"',
    ):
        file.write_text(f"{line}\n")
        ended = bounded.runner("settings")
        assert (ended.code, "runner.toml:1" in ended.err) == (2, True), ended.err


def test_an_implementers_command_that_reads_what_the_sandbox_hides_is_told_the_setting(workplace):
    if not choose_sandbox("auto").encloses:
        pytest.skip("there is no sandbox here")
    beside = workplace.root.parent / "beside.txt"
    beside.write_text("mine\n")
    block = f"```sh run\ncp {beside} b.txt\n```\n"
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], command=f"cat {beside} > a.txt"),
        a_task("TASK-002", outputs=["b.txt"]) + "\n" + block,
    )
    ended = workplace.run()
    assert ended.code == 1, ended.said
    reports = [workplace.read(f"artifacts/build/reports/TASK-00{one}.md") for one in (1, 2)]
    for report in reports:
        assert f'sandbox.read = ["{beside}"] in your own settings' in report
