"""People of a team: roles, tokens that are told once, and who did what to them."""

import hashlib
import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from runner.errors import ExitCode, RunnerError
from runner.extensions.team.build_queue import (
    Asked,
    BuildOrder,
    answer_build,
    cancel_build,
    find_build,
    queue_build,
    retry_build,
)
from runner.extensions.team.people import (
    ROLES,
    Doer,
    add_person,
    find_standing,
    is_same_person,
    list_acts,
    list_people,
    make_token,
    remove_person,
    revoke_token,
    set_role,
    sign_in,
)
from runner.extensions.team.repository_list import Registered
from runner.extensions.team.tables import people as people_table

SHOP = Registered("shop", "/srv/shop.git", "main", "", "", "2026-01-02T00:00:00Z", "ada@here")
HERE = Doer("root@here")
EYES = Asked(four_eyes=True)


def test_each_role_may_what_the_ones_before_it_may(store):
    people = [add_person(store, role, role, HERE) for role in ROLES]
    allowed = [[one.may(role) for role in ROLES] for one in people]
    assert allowed == [[place <= own for place in range(4)] for own in range(4)]
    assert [one.name for one in list_people(store)] == sorted(ROLES)
    with pytest.raises(RunnerError, match="unknown role 'boss'"):
        set_role(store, "viewer", "boss", HERE)
    set_role(store, "viewer", "operator", HERE)
    assert [one.role for one in list_people(store) if one.name == "viewer"] == ["operator"]


@pytest.mark.parametrize("name", ["", "Ada", "a b", "ada@here", "-x", "a" * 41, "ä", "../x"])
def test_what_is_no_name_is_nobody(store, name):
    with pytest.raises(RunnerError, match="invalid name"):
        add_person(store, name, "viewer", HERE)
    assert list_people(store) == ()


def test_a_token_is_told_once_and_kept_as_a_digest(store):
    add_person(store, "ada", "admin", HERE)
    said, token = make_token(store, "ada", HERE, label="laptop")
    other, _ = make_token(store, "ada", HERE)
    assert said != other
    assert len(said) > 40
    with store.read() as connection:
        rows = str(connection.execute(text("SELECT * FROM tokens")).all())
        rows += str(connection.execute(text("SELECT * FROM acts")).all())
    assert said not in rows
    assert hashlib.sha256(said.encode()).hexdigest() in rows
    person, found = sign_in(store, said, "from 10.0.0.7")
    assert (person.name, person.role, found.id) == ("ada", "admin", token.id)
    assert find_standing(store, token.id) == person
    (known,) = list_people(store)
    assert [one.label for one in known.tokens if one.used] == ["laptop"]


@pytest.mark.parametrize("said", ["", "rnr_", "x" * 5000, "rnr_\ud800", "' OR 1=1 --"])
def test_what_is_no_token_opens_nothing(store, said):
    add_person(store, "ada", "admin", HERE)
    make_token(store, "ada", HERE)
    assert sign_in(store, said, "") is None
    assert [one.kind for one in list_acts(store)] == ["token.made", "person.added"]


def test_a_token_that_was_revoked_or_whose_time_is_over_opens_nothing(store):
    add_person(store, "ada", "admin", HERE)
    said, token = make_token(store, "ada", HERE)
    assert sign_in(store, said, "")
    revoke_token(store, token.id, Doer("eve", "page"))
    assert sign_in(store, said, "") is None
    assert find_standing(store, token.id) is None
    with pytest.raises(RunnerError, match="was already revoked at") as told:
        revoke_token(store, token.id, HERE)
    assert told.value.code is ExitCode.CONFLICT
    short, ended = make_token(store, "ada", HERE, seconds=0.000001)
    assert not ended.is_live
    assert sign_in(store, short, "") is None
    assert find_standing(store, ended.id) is None
    for wrong in ("", "x", "deadbeef"):
        with pytest.raises(RunnerError):
            revoke_token(store, wrong, HERE)
    last = list_acts(store)[1]
    assert (last.kind, last.by, last.via, last.about) == ("token.revoked", "eve", "page", "ada")


def test_who_is_removed_is_out_with_every_token_and_nobody_does_it_to_themselves(store):
    for name, role in (("ada", "admin"), ("eve", "admin")):
        add_person(store, name, role, HERE)
    said, token = make_token(store, "ada", HERE)
    for act in (
        lambda: remove_person(store, "ada", Doer("ada", "page")),
        lambda: set_role(store, "ada", "viewer", Doer("ada", "page")),
    ):
        with pytest.raises(RunnerError, match="you cannot change your own role or remove yourself"):
            act()
    remove_person(store, "ada", Doer("eve", "page"))
    assert sign_in(store, said, "") is None
    assert find_standing(store, token.id) is None
    assert [one.name for one in list_people(store)] == ["eve"]
    assert list_acts(store)[0].kind == "person.removed"


def test_a_name_at_a_terminal_and_at_the_page_are_one_person_s():
    assert is_same_person("ada@laptop", "ada")
    assert is_same_person("Ada@laptop", "ada@desk")
    assert not is_same_person("ada", "adam")


def test_of_four_eyes_who_asked_does_not_approve(store):
    made = queue_build(store, BuildOrder(SHOP, "ada@laptop"))
    with pytest.raises(RunnerError, match="four eyes") as told:
        answer_build(store, made, ("approve", "TASK-001", ""), "ada", EYES)
    assert told.value.code is ExitCode.PERSON
    answer_build(store, made, ("reject", "TASK-001", "no"), "ada", EYES)
    answer_build(store, made, ("approve", "TASK-001", ""), "ada")  # where no setting says so
    answer_build(store, made, ("retry", "TASK-002", "with a loop"), "bob", EYES)
    with pytest.raises(RunnerError, match="four eyes"):
        answer_build(store, made, ("approve", "TASK-002", ""), "bob", EYES)
    answer_build(store, made, ("approve", "TASK-002", ""), "eve", EYES)
    cancel_build(store, made, "ada")
    retry_build(store, find_build(store, made.id), "eve")
    with pytest.raises(RunnerError, match="four eyes"):
        answer_build(store, made, ("approve", "TASK-001", ""), "eve@desk", EYES)


def test_the_command_adds_lists_and_revokes(workplace):
    assert workplace.runner("people", "list").code == 2  # no store yet
    workplace.runner("store", "init")
    assert "no people yet: runner team people add" in workplace.runner("people", "list").out
    assert workplace.runner("people", "add", "ada", "--role", "admin").code == 0
    assert workplace.runner("people", "add", "ada").code == 6
    assert "is only for people add" in workplace.runner("people", "list", "--role", "x").err
    assert "takes a name and a role" in workplace.runner("people", "role", "ada").err
    made = workplace.runner("people", "token", "ada", "--label", "laptop", "--days", "90d")
    assert made.out.startswith("rnr_")
    assert "not shown again" in made.err
    listed = workplace.runner("people", "list")
    assert made.out.strip() not in listed.out
    (person,) = workplace.runner("people", "list", "--json").document["people"]
    (token,) = person["tokens"]
    assert (token["label"], token["live"], person["role"]) == ("laptop", True, "admin")
    other = workplace.runner("people", "token", "ada", "--json").document
    assert other["secret"].startswith("rnr_")
    assert workplace.runner("people", "revoke", token["id"]).code == 0
    assert workplace.runner("people", "revoke", token["id"]).code == 6
    assert "revoked by" in workplace.runner("people", "list").out
    assert workplace.runner("people", "role", "ada", "viewer").out == "ada is now viewer\n"
    acts = workplace.runner("people", "log", "--json").document["acts"]
    kinds = ["person.role-set", "token.revoked", "token.made", "token.made", "person.added"]
    assert [one["kind"] for one in acts] == kinds
    assert {one["via"] for one in acts} == {"terminal"}
    assert "token.revoked  ada" in workplace.runner("people", "log").out
    assert workplace.runner("people", "remove", "ada").code == 0
    assert workplace.runner("people", "remove", "ada").code == 2


def beside(store, open_with, called):
    """What a call raises that comes while another transaction is open, which then ends."""
    raised = []

    def call():
        try:
            called()
        except (RunnerError, SQLAlchemyError) as error:
            raised.append(error)

    with store.write() as connection:
        connection.execute(open_with)
        calling = threading.Thread(target=call)
        calling.start()
        calling.join(0.5)
    calling.join(60)
    return raised


def test_of_two_who_add_somebody_at_once_one_is_told(store):
    row = people_table.insert().values(name="ada", role="admin", added="2026", by="bob")
    (error,) = beside(store, row, lambda: add_person(store, "ada", "viewer", HERE))
    assert "ada already exists" in str(error)
    assert [one.role for one in list_people(store)] == ["admin"]


@pytest.mark.parametrize("word", ["token", "role", "remove"])
def test_who_is_taken_away_at_this_moment_is_nobody(store, word):
    add_person(store, "ada", "viewer", HERE)
    calls = {
        "token": lambda: make_token(store, "ada", HERE),
        "role": lambda: set_role(store, "ada", "admin", HERE),
        "remove": lambda: remove_person(store, "ada", HERE),
    }
    gone = people_table.delete().where(people_table.c.name == "ada")
    (error,) = beside(store, gone, calls[word])
    assert "unknown person 'ada'" in str(error)
    assert list_people(store) == ()
