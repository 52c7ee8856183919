import subprocess

import pytest
from run_build import a_ledger, a_task

from runner.journal.events import StatusesPublished
from runner.model import Action, Status
from runner.repo.read import Repository
from runner.run.landing.own_lines import Landings, entries_of, own_work
from runner.run.outdated_plan import make_take_back_test
from runner.run.proof.same_tree import tree_key


@pytest.fixture
def root(tmp_path, monkeypatch):
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def git(root, *words):
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(root, files, message="x"):
    for path, text in files.items():
        file = root / path
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


def left(root, made):
    with Repository.open(root) as repository:
        return own_work(repository, {made: [made, ""]}, git(root, "rev-parse", "HEAD"))


def test_a_file_that_a_task_made_is_its_own_whole_as_long_as_it_is_unchanged(root):
    made = commit(root, {"a.py": "one\n", "ü b.py": "two\n"})
    commit(root, {"c.py": "of others\n"})
    own = left(root, made)[made]
    assert [(one.path, one.action, one.content) for one in own.changes] == [
        ("a.py", Action.CREATE, b"one\n"),
        ("ü b.py", Action.CREATE, b"two\n"),
    ]
    assert own.others == {"a.py": None, "ü b.py": None}


@pytest.mark.parametrize(
    ("now", "others"),
    [
        ("one\ntwo\nlater\n", b"later\n"),
        ("first\none\nbetween\ntwo\n", b"first\nbetween\n"),
        ("one\nchanged\n", b"changed\n"),
        ("two\n", None),
        ("written again\n", b"written again\n"),
    ],
    ids=["appended", "inserted", "changed", "cut", "replaced"],
)
def test_lines_that_others_put_into_a_file_that_a_task_made_are_not_its_own(root, now, others):
    made = commit(root, {"a.py": "one\ntwo\n"})
    commit(root, {"a.py": now})
    own = left(root, made)[made]
    assert [one.content for one in own.changes] == [now.encode()]
    assert own.others == {"a.py": others}


def test_a_file_that_others_removed_and_a_task_made_again_has_the_lines_of_both_landings(root):
    first = commit(root, {"a.py": "one\n"})
    commit(root, {"a.py": None})
    commit(root, {"a.py": "of others\n"})
    last = commit(root, {"a.py": "of others\ntwo\n"})
    commit(root, {"a.py": "one\nof others\ntwo\n"})
    with Repository.open(root) as repository:
        own = own_work(repository, {"T": [last, first]}, git(root, "rev-parse", "HEAD"))["T"]
    assert own.others == {"a.py": b"of others\n"}


def test_of_a_file_of_others_only_the_lines_it_added_are_its_own_wherever_they_stand(root):
    commit(root, {"a.py": "old 1\nold 2\n"})
    made = commit(root, {"a.py": "old 1\nmine\nold 2\nmine too\n"})
    commit(root, {"a.py": "first\nold 1\nmine\nold 2\nlater\n"})
    own = left(root, made)[made]
    assert [one.action for one in own.changes] == [Action.MODIFY]
    assert own.others["a.py"] == b"first\nold 1\nold 2\nlater\n"


def test_what_several_landings_of_a_task_made_is_its_own_together(root):
    commit(root, {"a.py": "old 1\nold 2\n"})
    first = commit(root, {"a.py": "mine\nold 1\nold 2\n", "b.py": "one\n"})
    commit(root, {"a.py": "mine\nold 1\nof others\nold 2\n"})
    last = commit(root, {"a.py": "mine\nold 1\nof others\nold 2\nmine, too\n"})
    commit(root, {"b.py": "one\ntwo\n"})
    head = git(root, "rev-parse", "HEAD")
    with Repository.open(root) as repository:
        own = own_work(repository, {"T": [last, first]}, head)["T"]
    assert own.others == {"a.py": b"old 1\nof others\nold 2\n", "b.py": b"two\n"}


def test_landings_are_those_that_a_tip_reaches_and_nobody_took_back(root):
    first = commit(root, {"a.py": "1\n"}, "x\n\nTask: TASK-001\nAttempt: 1\n")
    second = commit(root, {"a.py": "2\n"}, "x\n\nTask: TASK-001\nAttempt: 2\n")
    gone = commit(root, {"b.py": "1\n"}, "x\n\nTask: TASK-002\nAttempt: 1\n")
    undoing = commit(root, {"b.py": None}, "revert\n\nUndoes: TASK-002\n")
    with Repository.open(root) as repository:
        landings = Landings(repository)
        assert landings.of("TASK-001", first) == (first,)
        assert landings.of("TASK-001", second) == (second, first)
        assert landings.of("TASK-002", gone) == (gone,)
        assert Landings(repository).of("TASK-002", undoing) == ()


def test_what_a_few_commits_changed_is_what_git_says_of_more(root):
    made = [
        commit(root, {"a.py": "one\n", "dir/b.py": "b\n"}),
        commit(root, {"a.py": None, "dir/b.py": None}),
        commit(root, {"a.py/inside.py": "two\n", "c.py": "c\n"}),
    ]
    with Repository.open(root) as repository:
        here = entries_of(repository, made)
        told = entries_of(repository, [*made, *(f"{n}" * 40 for n in range(1, 4))])
    assert {at: sorted(some, key=str) for at, some in here.items()} == {
        at: sorted(some, key=str) for at, some in told.items()
    }
    assert [len(here[at]) for at in made] == [2, 2, 2]


def test_what_is_gone_by_now_is_nobodys(root):
    made = commit(root, {"a.py": "one\n", "b.py": "two\n"})
    commit(root, {"a.py": None, "b.py": None, "c.py": "c\n"})
    assert left(root, made) == {}


def test_a_commit_that_this_clone_does_not_have_is_passed_over(root):
    made = commit(root, {"a.py": "one\n"})
    with Repository.open(root) as repository:
        found = own_work(repository, {"TASK-001": ["1" * 40], "TASK-002": [made]}, made)
        assert list(found) == ["TASK-002"]


def test_a_tree_is_known_by_its_code_and_not_by_the_runners_documents(root):
    def key():
        with Repository.open(root) as repository:
            return tree_key(repository, git(root, "rev-parse", "HEAD"), frozenset({"P.md"}), [], S)

    from runner.config.settings import Settings

    S = Settings()  # noqa: N806 - stands for all settings here
    commit(root, {"a.py": "one\n", "P.md": "PENDING\n"})
    before = key()
    commit(root, {"P.md": "DONE\n"})
    assert key() == before
    commit(root, {"a.py": "two\n"})
    assert key() != before


def test_a_folder_where_a_document_could_be_is_no_document(root):
    def key():
        with Repository.open(root) as repository:
            return tree_key(repository, git(root, "rev-parse", "HEAD"), frozenset({"P.md"}), [], S)

    from runner.config.settings import Settings

    S = Settings()  # noqa: N806 - stands for all settings here
    commit(root, {"P.md/code.py": "one\n"})
    before = key()
    commit(root, {"P.md/code.py": "two\n"})
    assert key() != before


# --- statuses that were written and are gone tell an older text -----------------------


COMMITTED = {"TASK-001": Status.PENDING, "TASK-002": Status.PENDING}


def gone(published, in_the_file):
    journal = a_ledger()
    journal.note(StatusesPublished(published, "h", "p"))
    tasks = [a_task(id_, status=status) for id_, status in in_the_file.items()]
    return make_take_back_test(tasks, journal.state)(COMMITTED)


def test_all_that_was_written_is_gone_where_the_file_is_as_committed():
    both = {"TASK-001": Status.DONE, "TASK-002": Status.BLOCKED}
    assert gone(both, COMMITTED) == [Status.DONE, Status.BLOCKED]


def test_a_file_that_has_one_of_them_yet_is_no_older_text():
    both = {"TASK-001": Status.DONE, "TASK-002": Status.DONE}
    assert gone(both, COMMITTED | {"TASK-002": Status.DONE}) is None


def test_what_was_written_as_it_is_committed_says_nothing():
    assert gone({"TASK-001": Status.PENDING}, COMMITTED) == []
    assert gone({}, COMMITTED) == []
