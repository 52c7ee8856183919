"""What was seen to be executed says who is affected, as long as it is about the files at hand."""

from __future__ import annotations

import pytest
from impact_build import TASKS, a_shop, a_task, names, reasons
from msgspec.structs import replace

from runner.impact.change import Changed
from runner.model import Observed, digest_of

# --- what was observed ------------------------------------------------------------------


def a_watched_shop():
    shop = a_shop(tasks=TASKS[1:])
    shop.saw("TASK-002", "TC-002", src__shop__db_py="1,3-4,6", src__shop__api_py="1-4")
    return shop


def test_who_ran_the_changed_lines_is_affected_and_the_line_is_told():
    found = a_watched_shop().edit("src/shop/db.py", "return row", "return [row]")
    assert reasons(found, "TASK-002") == ["observed: TC-002 executed src/shop/db.py:4"]


def test_who_was_seen_not_to_run_a_function_is_not_affected_by_it():
    assert a_watched_shop().edit("src/shop/db.py", "return key", "return 0").affected == ()


def test_what_was_observed_says_nothing_of_a_linter_beside_the_tests():
    task = a_task("TASK-002", "pytest tests/test_api.py && ruff check src")
    shop = a_shop(tasks=[task])
    shop.saw("TASK-002", "TC-002", src__shop__api_py="1-4")
    assert names(shop.edit("src/shop/mail.py", "return 1", "return 2")) == {"TASK-002": ("TC-002",)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = made(4)"),
        ("def load(key)", "@known\ndef load(key)"),
        ("def load(key)", "def load(key=None)"),
    ],
)
def test_a_change_of_module_level_code_reaches_everyone_who_imported_the_file(old, new):
    assert names(a_watched_shop().edit("src/shop/db.py", old, new)) == {"TASK-002": ("TC-002",)}


def test_an_answer_is_wide_where_it_is_not_said_what_files_hold():
    shop = a_watched_shop()
    shop.knowledge = replace(shop.knowledge, content=lambda _: None)
    found = shop.edit("src/shop/db.py", "LIMIT = 3", "LIMIT = 4")
    assert names(found) == {"TASK-002": ("TC-002",)}


def test_an_observation_of_other_bytes_counts_for_the_whole_file():
    shop = a_watched_shop()
    shop.files["src/shop/db.py"] = shop.files["src/shop/db.py"].replace(b"3", b"5")
    assert names(shop.edit("src/shop/db.py", "return key", "return 0")) == {"TASK-002": ("TC-002",)}


def test_an_observation_is_not_believed_once_any_file_it_ran_has_changed():
    shop = a_watched_shop()
    shop.files["src/shop/api.py"] += b"import shop.mail\n"
    shop.references.learn([], shop.files.get)
    found = shop.edit("src/shop/db.py", "return key", "return 0")
    assert names(found) == {"TASK-002": ("TC-002",)}


def test_single_tests_are_named_where_only_they_ran_the_lines():
    shop = a_shop(tasks=TASKS[:1])
    lines = {"test_save": "4", "test_load": "7", "test_none": "1"}
    shop.saw("TASK-001", "TC-001", src__shop__db_py=lines)
    shop.knowledge.tasks["TASK-001"] = a_task("TASK-001", "pytest tests/test_db.py")
    (one,) = shop.edit("src/shop/db.py", "return key", "return 0").affected
    assert one.tests == (("TC-001", ("test_load",)),)
    (one,) = shop.edit("src/shop/db.py", "LIMIT = 3", "LIMIT = made(1)").affected
    assert one.tests == ()


def test_a_test_contract_that_is_gone_from_the_plan_is_not_asked_for():
    shop = a_shop(tasks=TASKS[1:2])
    shop.saw("TASK-002", "TC-099", src__shop__mail_py="1-2")
    shop.saw("TASK-777", "TC-001", src__shop__mail_py="1-2")
    assert shop.edit("src/shop/mail.py", "return 1", "return 2").affected == ()


def test_in_a_folder_where_nothing_was_ever_seen_to_run_nobody_may_have_looked():
    shop = a_shop(files={"tests/test_mail.py": "import helper\n", "tests/helper.py": "X = 1\n"})
    shop.saw("TASK-003", "TC-003", src__shop__mail_py="1-2")
    assert names(shop.edit("tests/helper.py", "1", "2")) == {"TASK-003": ("TC-003",)}


def test_tests_of_others_that_ran_on_a_change_are_remembered_as_theirs():
    shop = a_shop(tasks=TASKS)
    digest = digest_of(shop.files["src/shop/mail.py"])
    row = Observed("regression:TASK-002/TC-002", "", "src/shop/mail.py", digest, "1-2")
    shop.observed.keep("TASK-001", [row])
    found = shop.edit("src/shop/mail.py", "return 1", "return 2")
    assert "TASK-002" in names(found)
    assert reasons(found, "TASK-002") == ["observed: TC-002 executed src/shop/mail.py:2"]


def test_a_file_that_nobody_ran_beside_others_that_were_run_reaches_nobody():
    shop = a_watched_shop()
    shop.saw("TASK-003", "TC-003", src__shop__db_py="1", tests__test_mail_py="1-4")
    assert shop.edit("src/shop/mail.py", "return 1", "return 2").affected == ()


# --- a run goes on -----------------------------------------------------------------------


def test_an_observation_follows_a_landing_that_it_would_not_have_noticed():
    shop = a_watched_shop()
    before = shop.files["src/shop/db.py"]
    after = before.replace(b"LIMIT = 3", b"# more\n# lines\nLIMIT = 3").replace(b"key\n", b"-key\n")
    shop.observed.follow([Changed("src/shop/db.py", before, after)])
    shop.land("src/shop/db.py", after.decode())
    assert shop.edit("src/shop/db.py", "return -key", "return 0").affected == ()
    found = shop.edit("src/shop/db.py", "return row", "return [row]")
    assert reasons(found) == ["observed: TC-002 executed src/shop/db.py:6"]


def test_an_observation_does_not_follow_a_landing_that_reaches_it():
    shop = a_watched_shop()
    before = shop.files["src/shop/db.py"]
    after = before.replace(b"return row", b"return [row]")
    shop.observed.follow([Changed("src/shop/db.py", before, after)])
    shop.land("src/shop/db.py", after.decode())
    assert names(shop.edit("src/shop/db.py", "return key", "return 0")) == {"TASK-002": ("TC-002",)}


def test_an_observation_does_not_follow_a_landing_of_module_level_code():
    shop = a_watched_shop()
    before = shop.files["src/shop/db.py"]
    after = before.replace(b"def save(row)", b"def save(row=1)")
    shop.observed.follow([Changed("src/shop/db.py", before, after)], shop.files.get)
    shop.land("src/shop/db.py", after.decode())
    assert names(shop.edit("src/shop/db.py", "return key", "return 0")) == {"TASK-002": ("TC-002",)}


def test_what_is_known_follows_each_landing():
    shop = a_shop(tasks=[a_task("TASK-009", "pytest tests/test_new.py"), TASKS[2]])
    assert "TASK-009" in names(shop.edit("src/shop/db.py", "3", "4"))  # it may be about anything
    shop.land("tests/test_new.py", "import shop.mail\n")
    assert "TASK-009" not in names(shop.edit("src/shop/db.py", "3", "4"))
    assert "TASK-009" in names(shop.edit("src/shop/mail.py", "return 1", "return 2"))
    shop.land("src/shop/mail.py", "import shop.db\n")
    assert set(names(shop.edit("src/shop/db.py", "3", "4"))) == {"TASK-009", "TASK-003"}
    shop.land("tests/test_new.py", None)
    assert "TASK-009" in names(shop.edit("src/shop/api.py", "post", "put"))
