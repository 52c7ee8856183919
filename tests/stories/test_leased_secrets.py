"""A secret that a command of the person's own says: asked for, hidden, given back, told."""

import json

import pytest
from workplace import a_task

VALUE = "Leased-Horse/77+battery"
PRINTS = """\
import base64, os, sys
value = os.environ["API_TOKEN"]
for form in (value, value[::-1], value.encode().hex(), base64.b64encode(value.encode()).decode()):
    print("said", form, flush=True)
    print("said", form, file=sys.stderr, flush=True)
"""


@pytest.fixture
def vault(workplace):
    """A tool of the person's that says the value, and counts how often it was asked."""
    tool = workplace.home / "bin/vault"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho asked >> {workplace.home}/asked\necho '{VALUE}'\n")
    tool.chmod(0o755)
    workplace.write({"prints.py": PRINTS})
    return tool


def settle(workplace, text):
    file = workplace.home / "config/runner/runner.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def a_user(id_="TASK-001", path="a.txt", command="python3 prints.py", **more):
    return a_task(
        id_,
        outputs=[path],
        command=f"{command} && echo done > {path}",
        tests=["python3 prints.py"],
        fields=("Requires: secret API_TOKEN", *more.pop("fields", ())),
        **more,
    )


def asked(workplace):
    file = workplace.home / "asked"
    return len(file.read_text().splitlines()) if file.exists() else 0


def uses(workplace):
    return workplace.runner("secrets", "log", "--json").document["uses"]


def test_it_is_asked_for_by_the_attempt_and_leaves_by_no_form(workplace, vault):
    settle(
        workplace, f'proof.verify_at_end = false\n[secret.API_TOKEN]\ncommand = "{vault} read"\n'
    )
    workplace.plan(a_user())
    ended = workplace.run("-v")
    assert workplace.statuses["TASK-001"] == "DONE", ended.said
    assert asked(workplace) == 1
    manifest = next((workplace.root / "artifacts/build/runs").iterdir()).read_text()
    assert "API_TOKEN" in manifest
    assert str(vault) not in manifest  # its line may say too much
    (leased,) = workplace.happened("secret.leased")
    (returned,) = workplace.happened("secret.returned")
    assert (leased["name"], leased["task"], leased["attempt"]) == ("API_TOKEN", "TASK-001", 1)
    assert leased["source"] == "command vault"
    types = [event["type"] for event in workplace.events]
    assert types.index("secret.leased") < types.index("secret.returned")
    (use,) = uses(workplace)
    assert (use["since"], use["until"], use["returned"]) == (
        leased["time"],
        returned["time"],
        True,
    )
    said = ended.said + workplace.runner("secrets", "log").out + workplace.runner("log").out
    assert "API_TOKEN" in said
    forms = {VALUE, VALUE[::-1], VALUE.encode().hex()}
    for top in (workplace.root, workplace.home):
        for path in top.rglob("*"):
            if path.is_file() and path != vault:
                content = path.read_bytes()
                assert not [form for form in forms if form.encode() in content], path
    assert not [form for form in forms if form in said or form.encode() in workplace.objects()]
    log = workplace.read("artifacts/build/logs/TASK-001/1/implementer.log")
    assert log.count("[REDACTED:secret]") >= 6


def test_a_file_that_holds_it_does_not_land(workplace, vault):
    settle(workplace, f'[secret.API_TOKEN]\ncommand = "{vault}"\n')
    line = "printenv API_TOKEN > a.txt; true"
    workplace.plan(
        a_user(command=line, fields=("Budget: 1 attempt",)).replace(" && echo done > a.txt", "")
    )
    ended = workplace.run()
    assert workplace.statuses["TASK-001"] == "BLOCKED", ended.said
    assert VALUE not in ended.said
    assert VALUE.encode() not in workplace.objects()


def test_a_command_that_fails_blocks_its_task_alone_with_a_hint(workplace, vault):
    settle(workplace, '[secret.API_TOKEN]\ncommand = "exit 3"\n')
    workplace.plan(a_user(), a_task("TASK-002", outputs=["b.txt"], command="echo b > b.txt",
                                    tests=["test -s b.txt"]))  # fmt: skip
    ended = workplace.run()
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}, ended.said
    (blocked,) = workplace.happened("task.blocked")
    assert blocked["reason"] == "secret"
    assert "its command ended with exit code 3" in blocked["note"]
    assert "run its command yourself" in json.dumps(blocked["findings"])
    assert workplace.happened("secret.leased") == []
    settle(workplace, f'[secret.API_TOKEN]\ncommand = "{vault}"\n')
    assert workplace.run().code == 0  # the next run asks again, without a word of the person's
    assert workplace.statuses["TASK-001"] == "DONE"


def test_an_attempt_that_outlasts_its_time_gets_another_one(workplace, vault):
    """The proof begins after the ttl: it is asked again, and both values stay hidden."""
    settle(
        workplace,
        'proof.verify_at_end = "never"\n'
        f'[secret.API_TOKEN]\ncommand = "{vault}; echo $$"\nttl = "1s"\n',
    )
    workplace.plan(a_user(command="python3 prints.py; sleep 1.5"))
    ended = workplace.run()
    assert workplace.statuses["TASK-001"] == "DONE", ended.said
    assert asked(workplace) == 2
    assert [use["returned"] for use in uses(workplace)] == [True, True]
    assert VALUE not in workplace.read("artifacts/build/logs/TASK-001/1/TC-001.log")


def test_a_proof_of_the_whole_is_lent_it_too(workplace, vault):
    settle(workplace, f'[secret.API_TOKEN]\ncommand = "{vault}"\n')
    workplace.plan(a_user())
    assert workplace.run().code == 0
    verified = workplace.runner("verify", "--all")
    assert verified.code == 0, verified.said
    assert all(use["returned"] for use in uses(workplace))
    assert VALUE not in verified.said


def test_a_repository_can_define_none(workplace, vault):
    workplace.write({"runner.toml": f'[secret.API_TOKEN]\ncommand = "{vault}"\n'})
    workplace.plan(a_user())
    ended = workplace.run()
    assert "secret is ignored: only your own settings" in ended.said
    assert workplace.statuses["TASK-001"] == "BLOCKED"
    assert asked(workplace) == 0


def test_doctor_says_where_it_comes_from_and_bad_settings_are_told_with_their_line(
    workplace, vault
):
    settle(workplace, f'[secret.API_TOKEN]\ncommand = "{vault}"\n')
    workplace.plan(a_user())
    assert "from a command vault, read in each attempt" in workplace.runner("doctor").out
    assert asked(workplace) == 0
    for text in (
        '[secret."A B"]\ncommand = "x"\n',
        "[secret.A]\n",
        '[secret.A]\ncommand = "x"\nttl = "never"\n',
        '[secret.A]\ncommand = "x"\nvalue = "y"\n',
    ):
        settle(workplace, text)
        ended = workplace.runner("settings")
        assert ended.code == 2, text
        assert "runner.toml:" in ended.err, text
