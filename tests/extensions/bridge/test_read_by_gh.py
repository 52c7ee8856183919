"""What the bridge and the action write, read and answered by a person's own `gh`.

The real program against the small forge, over a socket file (`http_unix_socket`). Only what it asks
of the REST API: its own commands for issues ask by GraphQL.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from fake_builder import ROW

GH = shutil.which("gh")
TOP = Path(__file__).parents[3]
STEPS = {
    step.get("id"): step
    for step in yaml.safe_load((TOP / "action.yml").read_text())["runs"]["steps"]
}
HERE = "repos/acme/shop"

pytestmark = pytest.mark.skipif(GH is None, reason="gh is not installed")


class Person:
    """Somebody at a terminal with `gh`."""

    def __init__(self, server, login, folder):
        self.folder = folder
        mine = f"token-of-{login}"
        server.tokens[mine] = login
        self.environ = {
            **os.environ,
            "GH_HOST": "forge.test",
            "GH_CONFIG_DIR": str(folder),
            "GH_ENTERPRISE_TOKEN": mine,
            "NO_COLOR": "1",
        }

    def gh(self, *words, given=None):
        done = subprocess.run(
            [GH, "api", *words],
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            input=given,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def at(case, tmp_path):
    """Somebody's `gh` at the forge of this case."""
    folder = tmp_path / "gh"
    folder.mkdir()
    with case.server.listen_at(tmp_path / "forge.sock") as file:
        (folder / "config.yml").write_text(f"http_unix_socket: {file}\n")
        yield lambda login: Person(case.server, login, folder)


def test_a_person_reads_approves_and_asks_for_changes_by_gh(case, at):
    ada = at("ada")
    case.server.page = 2  # they page, as it does
    for _ in range(5):
        case.say("talk", "eve")
    ada.gh(f"{HERE}/issues/1/labels", "-f", "labels[]=runner", "--silent")
    assert case.advance() == "the plan needs review"
    comments = f"{HERE}/issues/1/comments"
    mine = '.[] | select(.user.login == "runner-bot") | .body'
    said = ada.gh("--paginate", comments, "--jq", mine)
    assert "**runner**: the plan is ready for your review" in said
    (line,) = (one for one in said.splitlines() if "/runner approve" in one)
    ada.gh(comments, "-f", f"body={line.split('`')[1]}", "--silent")
    assert case.advance() == "the pull request needs review"
    (pull,) = json.loads(ada.gh("-X", "GET", f"{HERE}/pulls", "-f", "state=open"))
    assert pull["body"].startswith("Closes #1\n")
    states = '.[] | .context + " " + .state'
    sha = pull["head"]["sha"]
    assert ada.gh(f"{HERE}/commits/{sha}/statuses", "--jq", states) == "runner/proof success\n"
    labels = '[.labels[].name] | join(" ")'
    assert ada.gh(f"{HERE}/issues/1", "--jq", labels) == "runner runner:in-review\n"
    ada.gh(comments, "-F", "body=@-", "--silent", given=f"/runner change {ROW.id} as TSV\r\n")
    assert case.advance() == "the pull request needs review"
    assert "change as TSV (comment" in " ".join(case.builder.done)


def test_what_somebody_without_rights_says_by_gh_is_talk(case, at):
    case.label().advance()
    eve = at("eve")
    case.server.people["eve"] = "read"
    with pytest.raises(AssertionError, match="403"):
        eve.gh(f"{HERE}/issues/1/labels", "-f", "labels[]=runner:in-progress")
    case.say(f"/runner approve {case.digest}", "eve")
    assert case.advance() == "the plan needs review"


def test_the_action_keeps_one_comment_by_gh_whatever_stands_in_it(case, at, tmp_path):
    bot = at("github-actions[bot]")
    case.server.people["github-actions[bot]"] = "write"
    folder = tmp_path / "runner-gate/comments"
    folder.mkdir(parents=True)
    pull = case.server.open_pull("eve", "runner/1", "main", "Theirs")
    case.server.comment("eve", pull, "<!-- runner gate -->\nmine")
    head = case.server.sha_of("runner/1")
    for text in ("@- true 7\n`$(id)` {owner}\n", "second"):
        (folder / f"{pull}.md").write_text(f"<!-- runner gate -->\n{text}")
        (folder / f"{pull}.status").write_text(f"{head} success\n")
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", STEPS["comment"]["run"]],
            env={**bot.environ, "RUNNER_TEMP": str(tmp_path), "GITHUB_REPOSITORY": "acme/shop"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        theirs, ours = case.server.comments_of(pull)
        assert theirs["body"] == "<!-- runner gate -->\nmine"
        assert ours["body"] == f"<!-- runner gate -->\n{text}"
    assert [one["state"] for one in case.server.statuses] == ["success", "success"]
