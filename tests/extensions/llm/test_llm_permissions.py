"""What a model may do where a rule wants a person asked, now or later."""

import pytest
from settings_of import settings_of

from runner.config.shell_rules import Permission, PermissionAnswer, Permit


def write(path, content="x = 1\n"):
    return ("write_file", {"path": path, "content": content})


def read(path):
    return ("read_file", {"path": path})


@pytest.fixture
def person(chat):
    """A person who is asked, and says in turn what is in `answers`; then nobody is there."""

    def ask(tool, subject, rule):
        chat.asked.append((tool, subject, rule))
        said = chat.words.pop(0) if chat.words else None
        if said is None:
            return None
        return PermissionAnswer(tool, subject, said != "no", "use b.py", once=said == "once")

    chat.asked, chat.words = [], []
    chat.set(ask=ask)
    ruled = [("*", "src/**"), ("run_gate", "deploy*"), ("modify_file", "tests/**")]
    rules = tuple(Permission(*one, Permit.ASK) for one in ruled)
    chat.settings = settings_of(permission=(*rules, Permission("*", "src/core/**", Permit.DENY)))
    return chat


def test_a_yes_for_once_holds_for_one_call_and_one_for_the_task_for_all(person):
    person.shop.write("src/a.py", "x\n")
    person.words = ["once", "once", "task"]
    twice = [read("src/a.py"), read("tests/none.py"), read("./src/a.py"), read("src/a.py")]
    person.run(twice, [read("src/a.py")], "Done.")
    assert [answer == "x\n" for answer in person.answers] == [True, False, True, True, True]
    assert person.asked[0] == ("read_file", "src/a.py", 'the rule "ask * src/**" of your settings')
    assert len(person.asked) == 3


def test_a_no_is_told_with_its_reason_and_not_asked_again(person):
    person.words = ["no"]
    person.run([read("src/a.py"), read("src/b.py"), read("src/a.py")], "Done.")
    no = "denied: a person does not allow read_file src/a.py: use b.py"
    assert (person.answers[0], person.answers[2]) == (no, no)
    assert person.answers[1] == (
        'denied for now: the rule "ask * src/**" of your settings needs a person\'s approval for '
        "read_file src/b.py, and nobody is available; the runner asks later. Try another way, or "
        "say at the end what is missing"
    )


def test_an_answer_of_an_earlier_attempt_holds_and_none_loosens_a_deny(person):
    person.shop.write("src/core/a.py", "x\n")
    calls = [("read_file", f"src/{name}a.py") for name in ("", "core/")]
    person.set(answers=tuple(PermissionAnswer(*call, allowed=True) for call in calls))
    person.run([read("src/a.py"), read("src/core/a.py"), ("run_gate", {"name": "deploy"})], "Done.")
    assert person.answers[0].startswith("not shown: src/a.py cannot be read")
    assert person.answers[1].startswith('denied: the rule "deny * src/core/**" of your settings')
    assert [one[:2] for one in person.asked] == [("run_gate", "deploy")]


def test_a_search_that_a_person_allows_shows_what_is_to_be_asked_about_and_nothing_denied(person):
    person.shop.write("src/a.py", "x\n")
    person.shop.write("src/core/b.py", "x\n")
    person.settings = settings_of(
        permission=(
            Permission("list_files", "**", Permit.ASK),
            Permission("list_files", "src/core/**", Permit.DENY),
        )
    )
    person.words = ["once"]
    person.run([("list_files", {})], [("list_files", {"folder": "src"})], "Done.")
    assert person.answers[0] == "src/a.py (2 bytes)"
    assert person.answers[1].startswith("denied for now")


def test_a_write_is_asked_about_by_the_rule_that_the_pipeline_will_hold_it_to(person):
    person.shop.write("tests/test_a.py", "x = 1\n")
    person.words = ["task"]
    person.run([write("tests/test_a.py"), write("tests/test_b.py")], "Done.")
    assert [one[:2] for one in person.asked] == [("modify_file", "tests/test_a.py")]
    assert person.answers[1] == "create of tests/test_b.py: done"


def test_a_write_that_a_person_will_see_anyway_is_not_asked_about(person):
    person.set(reviewed=True)
    person.run([write("src/a.py"), read("src/a.py")], "Done.")
    assert person.answers[0] == "create of src/a.py: done"
    assert [one[0] for one in person.asked] == ["read_file"]
