import pytest

from runner.model import Spec, Task
from runner.plan.task_types import (
    BASE,
    TABLE,
    Extra,
    Kind,
    domains_of,
    kind_of,
    moves_data,
    topics_of,
)


def a_task(title="T", **fields):
    return Task(id="TASK-001", title=title, line=1, spec=Spec("", ""), **fields)


def test_the_table_has_the_nine_types_and_each_a_template_of_its_own_on_a_shared_base():
    names = ["bugfix", "refactor", "test-gen", "doc-gen", "auth", "data", "ui", "infra"]
    assert [row.name for row in TABLE] == [*names, "new-resource"]
    assert len({row.template for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert Kind(row).template.startswith(f"{BASE}\n- ")
    words = [word for row in TABLE for word in (row.name, *row.aliases)]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("api", "new-resource"),
        ("auth", "auth"),
        ("Data", "data"),
        ("migration", "data"),
        ("infra", "infra"),
        ("ui", "ui"),
        ("test", "test-gen"),
        ("docs", "doc-gen"),
        ("refactor", "refactor"),
        ("bug fix", None),
        ("bugfix", "bugfix"),
        ("New Resource", "new-resource"),
        ("spike", None),
    ],
)
def test_a_type_of_the_plan_is_found_by_its_name_or_an_alias(type_, name):
    kind = kind_of(a_task(type=type_))
    assert (kind.type.name if kind.type else None, bool(kind.by)) == (name, name is not None)


@pytest.mark.parametrize(
    ("title", "outputs", "told"),
    [
        ("Fix double booking", ("src/store.py",), "bugfix (title: fix)"),
        ("Refactor the pricing module", (), "refactor (title: refactor)"),
        ("Rename Booking to Reservation", (), "refactor (title: rename)"),
        ("Write tests for the pricing", (), "test-gen (title: write tests)"),
        ("Pricing", ("tests/test_pricing.py",), "test-gen (files: tests/test_pricing.py)"),
        ("README", (), "doc-gen (title: readme)"),
        ("How to install", ("docs/install.md",), "doc-gen (files: docs/install.md)"),
        ("Users log in with a password", (), "auth (title: log in)"),
        ("Migrate bookings to UTC", (), "data (title: migrate)"),
        ("Bookings", ("migrations/0002_utc.sql",), "data (files: migrations/0002_utc.sql)"),
        ("Booking form", ("web/Form.tsx",), "ui (files: web/Form.tsx)"),
        ("On each push", (".github/workflows/x.yml",), "infra (files: .github/workflows/x.yml)"),
        ("Add login endpoint", (), "auth (title: login)"),
        ("Add something odd", (), "new-resource (title: add)"),
        ("List bookings endpoint", (), "new-resource (title: endpoint)"),
        ("Something odd", (), ""),
    ],
)
def test_without_a_type_the_text_tells_it_and_by_what(title, outputs, told):
    assert str(kind_of(a_task(title, outputs=outputs))) == told


def test_one_word_in_the_prose_tells_nothing_and_then_the_plan_may_choose():
    task = a_task("Something odd", prose="It crashed when the form was sent.")
    assert kind_of(task) == Kind()
    assert kind_of(task).template == BASE
    assert str(kind_of(task, "bugfix")) == "bugfix (plan: bugfix)"
    assert str(kind_of(task, "nonsense")) == ""


def test_the_plan_may_not_choose_where_the_rule_can_or_the_task_says_it():
    assert kind_of(a_task("Fix it"), "docs").type.name == "bugfix"
    assert kind_of(a_task("Fix it", type="api"), "docs").type.name == "new-resource"


def test_the_extra_checks_are_those_of_the_types():
    extra = {row.name: row.extra for row in TABLE if row.extra}
    assert extra == {
        "bugfix": (Extra.RED_FIRST,),
        "refactor": (Extra.TESTS_STAY,),
        "data": (Extra.OLD_DATA,),
    }


def test_a_migration_moves_data_and_a_new_model_does_not():
    def moves(**fields):
        task = a_task(**fields)
        return moves_data(task, kind_of(task))

    assert moves(type="migration")
    assert moves(title="Migrate bookings to UTC")
    assert moves(title="Bookings", outputs=("db/migrations/0002.sql",))
    assert not moves(title="Booking model", type="data")
    assert not moves(title="Fix the migration guide", type="docs")


def test_patterns_are_searched_under_the_domains_of_the_type_and_of_money():
    assert domains_of(a_task(type="migration"), kind_of(a_task(type="migration")))[:3] == (
        "migration",
        "data",
        "database",
    )
    task = a_task("Refunds endpoint")
    assert {"api", "payment"} <= set(domains_of(task, kind_of(task)))
    assert domains_of(a_task("Odd"), Kind()) == ()


@pytest.mark.parametrize(
    ("fields", "topics"),
    [
        ({"type": "auth"}, ("auth",)),
        ({"type": "data"}, ("database",)),
        ({"type": "ui", "title": "Login form"}, ("auth",)),
        ({"type": "bugfix", "title": "A refund is paid twice", "keywords": ("sql",)}, None),
        ({"type": "docs", "title": "Install guide"}, ()),
    ],
)
def test_what_is_about_auth_database_or_payment_is_so_whatever_its_type(fields, topics):
    task = a_task(**fields)
    found = topics_of(task, kind_of(task))
    assert found == (("database", "payment") if topics is None else topics)
