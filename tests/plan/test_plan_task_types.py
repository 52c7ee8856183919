import pytest

from runner.model import Spec, Task
from runner.plan.task_types import (
    BASE,
    DOMAINS,
    KINDS,
    Extra,
    TypeReading,
    WorkType,
    classify,
    describe_type,
    domains_of,
    topics_of,
)


def a_task(title="T", **fields):
    return Task(id="TASK-001", title=title, line=1, spec=Spec("", ""), **fields)


def test_there_are_six_kinds_and_five_domains_and_each_has_advice_of_its_own():
    kinds = ["bugfix", "schema-migration", "refactor", "test-gen", "doc-gen", "new-resource"]
    assert [row.name for row in KINDS] == kinds
    assert [row.name for row in DOMAINS] == ["auth", "data", "ui", "infra", "api"]
    rows = (*KINDS, *DOMAINS)
    assert len({row.template for row in rows}) == len(rows)
    for kind in KINDS:
        for domain in DOMAINS:
            advice = WorkType(TypeReading(kind), TypeReading(domain)).template
            assert advice == f"{BASE}\n{kind.template}\n{domain.template}"
    words = [word for row in rows for word in (row.name, *row.aliases)]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("api", "api"),
        ("auth", "auth"),
        ("Data", "data"),
        ("migration", "schema-migration"),
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
    rows = classify(a_task(type=type_)).rows
    assert [row.name for row in rows] == ([name] if name else [])


@pytest.mark.parametrize(
    ("title", "outputs", "read"),
    [
        ("Fix double booking", ("src/store.py",), "bugfix (title: fix)"),
        ("Login crashes with KeyError", (), "bugfix (title: crashes), auth (title: login)"),
        ("Create customers CRUD", (), "new-resource (title: crud), api (title: crud)"),
        (
            "Add a phone column",
            (),
            "schema-migration (title: add a phone column), data (title: column)",
        ),
        ("Refactor the pricing module", (), "refactor (title: refactor)"),
        ("Rename Booking to Reservation", (), "refactor (title: rename)"),
        ("Write tests for the login", (), "test-gen (title: write tests), auth (title: login)"),
        ("Pricing", ("tests/test_pricing.py",), "test-gen (files: tests/test_pricing.py)"),
        ("README", (), "doc-gen (title: readme)"),
        ("How to install", ("docs/install.md",), "doc-gen (files: docs/install.md)"),
        ("Users log in with a password", (), "auth (title: log in)"),
        ("Migrate bookings to UTC", (), "schema-migration (title: migrate), data (title: migrate)"),
        ("Create the bookings table", (), "new-resource (title: create), data (title: table)"),
        (
            "Bookings",
            ("migrations/2.sql",),
            "schema-migration (files: migrations/2.sql), data (files: migrations/2.sql)",
        ),
        ("Fix a colour", ("web/Form.tsx",), "bugfix (title: fix), ui (files: web/Form.tsx)"),
        ("On each push", (".github/workflows/x.yml",), "infra (files: .github/workflows/x.yml)"),
        ("Add login endpoint", (), "new-resource (title: endpoint), auth (title: login)"),
        ("Add something odd", (), "new-resource (title: add)"),
        ("List bookings endpoint", (), "new-resource (title: endpoint), api (title: endpoint)"),
        ("Something odd", (), ""),
    ],
)
def test_without_a_type_the_text_tells_kind_and_domain_and_by_what(title, outputs, read):
    assert str(classify(a_task(title, outputs=outputs))) == read


TRACEBACK = """The page shows:

    Traceback (most recent call last):
      File "app/login.py", line 3, in login
    KeyError: 'user'
"""


@pytest.mark.parametrize(
    ("prose", "word"),
    [
        (TRACEBACK, "traceback"),
        ("Since Monday it crashes.", "crashes"),
        ("panic: runtime error: index out of range", "panic"),
        ("thread 'main' panicked at src/main.rs:2:5:", "panicked at"),
        ("TypeError: x\n    at login (/srv/app/login.js:3:7)", "at login"),
    ],
)
def test_what_shows_a_defect_outranks_the_words_of_the_title(prose, word):
    work = classify(a_task("Add a login page", prose=prose))
    assert str(work) == f"bugfix (prose: {word}), auth (title: login)"
    assert work.wants(Extra.RED_FIRST)


def test_the_plan_may_choose_only_what_the_rule_does_not_find():
    task = a_task("Something odd", prose="It was wrong when the form was sent.")
    assert classify(task) == WorkType()
    assert classify(task).template == BASE
    assert str(classify(task, "bugfix")) == "bugfix (plan: bugfix)"
    assert str(classify(task, "nonsense")) == ""
    assert str(classify(a_task("Fix it"), "docs")) == "bugfix (title: fix)"
    assert str(classify(a_task("Fix it"), "ui")) == "bugfix (title: fix), ui (plan: ui)"


def test_a_written_type_sets_the_one_that_it_names():
    work = classify(a_task("Fix the login", type="api"))
    assert str(work) == "bugfix (title: fix), api (Type: api)"
    assert describe_type("api", work) == "api, bugfix (title: fix)"
    assert str(classify(a_task("Fix the login", type="docs"))) == (
        "doc-gen (Type: docs), auth (title: login)"
    )
    assert describe_type("spike", classify(a_task("Odd", type="spike"))) == "spike"


def test_the_extra_checks_are_those_of_the_kinds():
    extra = {row.name: row.extra for row in (*KINDS, *DOMAINS) if row.extra}
    assert extra == {
        "bugfix": (Extra.RED_FIRST,),
        "refactor": (Extra.TESTS_STAY,),
        "schema-migration": (Extra.OLD_DATA,),
    }


@pytest.mark.parametrize(
    ("fields", "is_asked"),
    [
        ({"type": "migration"}, True),
        ({"title": "Migrate bookings to UTC"}, True),
        ({"title": "Bookings", "outputs": ("db/migrations/0002.sql",)}, True),
        ({"title": "Booking model", "type": "data"}, False),
        ({"title": "Write the migration guide", "type": "docs"}, False),
    ],
)
def test_a_migration_is_asked_for_old_data_and_a_new_model_is_not(fields, is_asked):
    assert classify(a_task(**fields)).wants(Extra.OLD_DATA) is is_asked


def test_patterns_are_searched_under_the_domains_of_the_type_and_of_money():
    assert domains_of(a_task(type="migration"), classify(a_task(type="migration")))[:2] == (
        "migration",
        "schema-migration",
    )
    task = a_task("Refunds endpoint")
    assert {"api", "payment"} <= set(domains_of(task, classify(task)))
    assert domains_of(a_task("Odd"), WorkType()) == ()


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
    found = topics_of(task, classify(task))
    assert found == (("database", "payment") if topics is None else topics)
