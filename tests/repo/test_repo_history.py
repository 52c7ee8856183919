from itertools import product
from random import Random

import pytest
from repo_build import a_change, a_repository, commit_all, git, write

from runner import effects
from runner.model import Proof, Spec, Verdict, digest_of
from runner.repo.commit import commit_tree, swap_branch
from runner.repo.git import GitError
from runner.repo.read import Repository
from runner.repo.trailers import build_message, parse_proof, subject, task_trailers

SPEC = Spec(digest_of(b"what"), digest_of(b"proof"))
PROOF = Proof(
    "TC-002", "test", "pytest", Verdict.PASS, 0, 1.25, digest_of(b"out"), None, (("passed", 3),)
)


def land(repo, task, attempt, text="x"):
    head = repo.head()
    trailers = task_trailers(task, attempt, SPEC, (PROOF,), coverage="84%", review="off")
    message = build_message(subject(task, "Work"), "Prose.\n", trailers)
    made = commit_tree(repo, head.commit, (a_change(task, text),), message)
    assert swap_branch(repo, head, head.commit, made.sha)
    return made


def test_what_a_landing_says_is_read_back(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        begin = repo.head().commit
        made = land(repo, "TASK-002", 3)
        (found,) = repo.log_trailers("HEAD")

    assert (found.commit, found.tree, found.parent) == (made.sha, made.tree, begin)
    assert (found.task, found.attempt, found.subject) == ("TASK-002", 3, "feat(TASK-002): work")
    assert (found.spec_what, found.spec_proof) == (SPEC.what, SPEC.proof)
    assert found.trailers["Coverage"] == ("84%",)
    proof = parse_proof(found.trailers["Proof"][0])
    assert (proof.id, proof.verdict, proof.exit, proof.counts) == (
        "TC-002",
        "pass",
        0,
        (("passed", 3),),
    )
    assert proof.output == PROOF.output
    assert found.time.timestamp() > 1_700_000_000


def test_a_landing_that_names_no_project_is_of_the_folder_that_holds_all_its_files(tmp_path):
    a_repository(tmp_path, {"a/x": "1", "b/x": "1"})
    with Repository.open(tmp_path / "a") as first, Repository.open(tmp_path / "b") as other:
        made = land(first, "TASK-001", 1)
        land(other, "TASK-001", 2)
        with Repository.open(tmp_path) as top:
            both = land(top, "a/TASK-001", 3, "z")
            assert [one.attempt for one in top.log_trailers("HEAD")] == [3, 2, 1]

        assert [one.commit for one in first.log_trailers("HEAD")] == [both.sha, made.sha]
        assert [one.attempt for one in other.log_trailers("HEAD")] == [2]
        assert other.find_landing("HEAD", "TASK-001", 1) is None


def test_a_landing_is_found_by_task_and_attempt(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        begin = repo.head().commit
        first = land(repo, "TASK-001", 1)
        second = land(repo, "TASK-001", 2, "y")
        tip = land(repo, "TASK-010", 1)

        assert repo.find_landing(tip.sha, "TASK-001", 1) == first.sha
        assert repo.find_landing("main", "TASK-001", 2, since=begin) == second.sha
        assert repo.find_landing("main", "TASK-001", 1, since=first.sha) is None
        assert repo.find_landing("main", "TASK-001", 1, limit=2) is None
        assert repo.find_landing("main", "TASK-01", 1) is None
        assert repo.find_landing("main", "TASK-001", 1, since="0" * 40) == first.sha
        assert [at.task for at in repo.log_trailers("HEAD", since=first.sha)] == [
            "TASK-010",
            "TASK-001",
        ]


def test_prose_that_looks_like_a_trailer_is_none(tmp_path):
    a_repository(tmp_path)
    write(tmp_path, {"a": "1"})
    commit_all(tmp_path, "subject\n\nTask: TASK-001\nAttempt: 1\n\nand more prose")
    write(tmp_path, {"a": "2"})
    commit_all(tmp_path, "Task: TASK-001")
    with Repository.open(tmp_path) as repo:
        assert list(repo.log_trailers("HEAD")) == []


def test_our_messages_are_read_by_git_as_we_read_them(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        land(repo, "TASK-002", 3)
    said = git(tmp_path, "log", "-1", "--format=%(trailers:key=Attempt,valueonly)")
    assert said.strip() == "3"


def test_ancestors_and_bases(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        begin = repo.head().commit
        made = land(repo, "TASK-001", 1)
        git(tmp_path, "checkout", "-qb", "side", begin)
        write(tmp_path, {"b": "1"})
        side = commit_all(tmp_path, "side")

        assert repo.is_ancestor(begin, made.sha)
        assert not repo.is_ancestor(made.sha, begin)
        assert not repo.is_ancestor("0" * 40, begin)
        assert repo.merge_base(made.sha, side) == begin
        assert repo.resolve("nothing") is None


def test_contents_are_read_from_any_commit(tmp_path):
    a_repository(tmp_path, {"a b/ü": b"\0\1", "dir/x": "1"})
    with Repository.open(tmp_path) as repo:
        head = repo.head().commit
        assert repo.blob(head, "a b/ü") == b"\0\1"
        assert repo.blob("HEAD", "dir") is None
        assert repo.blob("HEAD", "missing") is None
        assert repo.blob("HEAD", "new\nline") is None
        assert repo.blob("", "a") is None
        entry = repo.tree_entries(head, ("dir/x", "dir", "missing"))
        assert entry["dir/x"].is_file
        assert not entry["dir"].is_file
        assert set(entry) == {"dir/x", "dir"}
        assert repo.tree_entries(None, ("a",)) == {}
        assert repo.content(entry["dir/x"].sha) == b"1"
        assert repo.tree_of(None) == repo.empty_tree() == git(tmp_path, "mktree", stdin=b"")
        made = land(repo, "TASK-001", 1)
        assert repo.blob(made.sha, "TASK-001") == b"x"


def test_the_reading_process_may_die(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        assert repo.blob("HEAD", "a") == b"1"
        repo._objects._helper._process.kill()
        repo._objects._helper._process.wait()
        assert repo.blob("HEAD", "a") == b"1"


@pytest.fixture
def started():
    """The git commands that are started, in their order."""
    found = []

    def see(kind, what):
        if kind == "git":
            found.append(what)

    effects.watch(see)
    yield found
    effects.unwatch(see)


def a_history(folder, commits, random):
    """So many commits, some of them merges; all of them."""
    a_repository(folder, {"a": "1"})
    made = [git(folder, "rev-parse", "HEAD").strip()]
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    for number in range(commits):
        parents = random.sample(made[-4:], min(len(made), random.choice((1, 1, 2))))
        words = [word for one in parents for word in ("-p", one)]
        made.append(git(folder, "commit-tree", tree, *words, "-m", str(number)).strip())
    return made


@pytest.mark.parametrize("seed", range(2))
def test_near_ancestors_are_those_that_git_names(tmp_path, started, seed):
    made = a_history(tmp_path, 14, Random(seed))
    with Repository.open(tmp_path) as repo:
        for older, newer in product((*made, "0" * 40), made[-6:]):
            told = repo.git.ask("merge-base", "--is-ancestor", older, newer).exit == 0
            started.clear()
            assert repo.is_ancestor(older, newer) == told
            assert set(started) <= {"cat-file"}


def test_git_is_asked_of_ancestors_that_are_far_or_cut_off(tmp_path, started):
    made = a_history(tmp_path, 40, Random(1))
    with Repository.open(tmp_path) as repo:
        assert repo.is_ancestor(made[0], made[-1])
        assert started[-1] == "merge-base"
        (tmp_path / ".git" / "shallow").write_text(made[-1] + "\n")
        assert not repo.is_ancestor(made[-2], made[-1])
        assert started[-1] == "merge-base"


def test_a_few_paths_trees_and_commits_are_looked_up_without_a_process(tmp_path, started):
    a_repository(tmp_path, {"dir/x": "1", "dir/deep/y": "2", "z": "3"})
    with Repository.open(tmp_path) as repo:
        head, tree = (git(tmp_path, "rev-parse", one).strip() for one in ("HEAD", "HEAD^{tree}"))
        paths = ("dir/x", "dir", "dir/deep/y", "z", "z/x", "missing", "dir/missing/y")
        here = [repo.tree_entries(at, paths) for at in (head, tree)]
        assert here == [repo.tree_entries(at, paths) for at in ("HEAD", "HEAD^{tree}")]
        assert set(here[0]) == {"dir/x", "dir", "dir/deep/y", "z"}
        assert (repo.tree_of(head), repo.tree_of(tree), repo.resolve(head)) == (tree, tree, head)
        assert repo.resolve(tree) is None
        assert started.count("ls-tree") == 2  # of the names that may come to mean something else
        assert started.count("rev-parse") == 1  # of the tree, which is no commit
        with pytest.raises(GitError):
            repo.tree_of("1" * 40)
