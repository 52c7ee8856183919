"""Ignored files that `.worktreeinclude` names are where commands run, and nowhere else."""

import msgspec
import pytest
from clustered import Lent
from workplace import NO_PROOF, Workplace, a_task

from runner.process.sandbox import choose_sandbox

VALUE = "v4lue-of-the-key"
ENV = f"API_KEY={VALUE}\n"
SEES = "cut -d= -f2 .env && cat pkg/version.txt && test -f a.txt"
WALLS = [
    pytest.param(("--no-sandbox",), id="none"),
    pytest.param(
        (),
        id="sandbox",
        marks=pytest.mark.skipif(
            not choose_sandbox("auto").encloses, reason="there is no sandbox here"
        ),
    ),
]


def begin(place, *tasks, include=".env\npkg/version.txt\n"):
    place.write(
        {
            ".gitignore": ".env\npkg/version.txt\n",
            **({".worktreeinclude": include} if include else {}),
            ".env": ENV,
            "pkg/version.txt": "1\n",
        }
    )
    place.plan(*(tasks or [a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=[SEES])]))


@pytest.fixture
def project(workplace):
    begin(workplace)
    return workplace


@pytest.mark.parametrize("walls", WALLS)
def test_commands_see_them_and_nothing_of_them_is_committed_or_told(project, walls):
    ended = project.run(*walls)
    assert ended.code == 0, ended.said
    assert "ignored files are copied into scratch trees: .env, pkg/version.txt" in ended.said
    assert VALUE.encode() not in project.objects()
    texts = [file.read_text("utf-8", "replace") for file in project.root.rglob("artifacts/**/*.*")]
    assert "[REDACTED:secret]\n1\n" in "".join(texts)
    assert VALUE not in "".join(texts) + ended.said
    told = project.runner("evidence", "TASK-001", "-v").out
    assert "Copied files    .env, pkg/version.txt" in told
    assert "hmac-sha256:" in told
    assert "hmac-sha256:" not in "".join(texts)  # it stays in the person's state folder


@pytest.mark.parametrize(
    ("needs", "hint", "typed"),
    [
        (".env", "add /.env to .worktreeinclude", ["add", ".worktreeinclude"]),
        ("data.csv", "git add data.csv, then commit, then: runner", ["add", "data.csv"]),
    ],
)
def test_one_run_tries_all_again_that_a_file_kept_from_passing(workplace, needs, hint, typed):
    tasks = [
        a_task(f"TASK-00{n}", blocks={f"{n}.txt": "a\n"}, tests=[f"cat {lacks} {n}.txt"])
        for n, lacks in ((1, needs), (2, needs), (3, "nowhere.txt"))
    ]
    begin(workplace, *tasks, include="")
    workplace.write({"data.csv": "1\n"})
    refused = workplace.run("--no-sandbox")
    assert refused.said.count(hint) >= 2
    assert workplace.run("--no-sandbox").said.count("started") == 0
    workplace.write({".worktreeinclude": f"/{needs}\n"})
    workplace.git(*typed)
    workplace.git("commit", "-qm", "as the hint says")
    again = workplace.run("--no-sandbox")
    assert "TASK-001 runs again — what it needed is now available" in again.said
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "DONE", "TASK-003": "BLOCKED"}


def test_the_first_use_shows_their_names_with_the_question_of_trust(project):
    refused = project.run(trust=False)
    assert refused.code == 3
    assert ".worktreeinclude: copies .env, which git ignores" in refused.said
    assert project.run().code == 0
    project.commit({".gitignore": ".env\npkg/version.txt\ndata/\n", ".worktreeinclude": "*\n"})
    project.write({"data/x": "1"})
    project.edit_plan(SEES, f"{SEES} && test -f data/x")
    project.commit()
    refused = project.run(trust=False)
    assert (refused.code, "copies data/, which" in refused.said) == (3, True), refused.said
    assert "copies .env" not in refused.said


def test_a_repository_names_files_by_the_committed_file_alone(workplace):
    begin(workplace, include="")
    workplace.commit({"runner.toml": 'sandbox.worktree_include = [".env"]\n'})
    workplace.write({".worktreeinclude": ".env\n"})
    ended = workplace.run()
    assert ended.code == 1
    assert "copies .env" not in ended.said
    assert (
        "worktree_include is ignored: only your own settings" in workplace.runner("settings").said
    )


def test_a_persons_own_setting_names_more(workplace):
    begin(workplace, include="pkg/version.txt\n")
    workplace.settle('sandbox.worktree_include = [".env"]\n')
    assert workplace.run().code == 0


def test_a_task_that_changes_the_file_waits_for_a_person(workplace):
    widens = "printf '.env\\n.other\\n' > .worktreeinclude"
    begin(
        workplace,
        a_task("TASK-001", outputs=[".worktreeinclude"], command=widens, fields=[NO_PROOF]),
    )
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert workplace.read(".worktreeinclude") == ".env\npkg/version.txt\n"


def test_no_task_takes_a_value_or_the_file_into_the_repository(workplace):
    takes = "cat .env > {0}.txt; printf '' > .gitignore; echo more >> {1}"
    outputs = [".gitignore", ".env"]
    rows = {"b": takes.format("b", "b.txt"), "c": takes.format("c", ".env")}
    begin(
        workplace,
        *(
            a_task(f"TASK-00{n}", outputs=[f"{one}.txt", *outputs], command=line, fields=[NO_PROOF])
            for n, (one, line) in enumerate(rows.items(), 1)
        ),
    )
    ended = workplace.run("--review", "off")
    assert ended.code == 1, ended.said
    assert set(workplace.statuses.values()) == {"BLOCKED"}
    for id_ in ("TASK-001", "TASK-002"):
        shown = workplace.runner("show", id_).out
        assert "the file contains the value of the declared secret API_KEY" in shown, id_
        assert VALUE not in shown
    assert VALUE.encode() not in workplace.objects()
    assert VALUE not in ended.said


@pytest.mark.parametrize("sent", [False, True])
def test_they_travel_to_a_cluster_with_the_setting_alone(
    shared_cluster, tmp_path, alone, monkeypatch, sent
):
    pytest.importorskip("distributed")
    from runner.extensions.cluster import local_cluster
    from runner.extensions.cluster.cluster import Cluster
    from runner.extensions.cluster.message import read_job

    jobs, begins = [], Cluster.begin
    monkeypatch.setattr(Cluster, "begin", lambda *given: (jobs.append(given[3]), begins(*given))[1])
    monkeypatch.setattr(local_cluster, "LocalCluster", lambda *_: Lent(shared_cluster))
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", "dask")
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    monkeypatch.setenv("RUNNER_SANDBOX_WORKTREE_INCLUDE_REMOTE", str(sent).lower())
    place = Workplace.begin(tmp_path / "shop", alone)
    begin(place)
    ended = place.run()
    assert ended.code == 0, ended.said
    assert any(VALUE in repr(msgspec.structs.asdict(read_job(job))) for job in jobs) is sent
    assert ("sandbox.worktree_include_remote = true in your own settings" in ended.said) is not sent
