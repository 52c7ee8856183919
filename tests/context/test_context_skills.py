import pytest
from context_build import a_task, a_tree
from settings_of import settings_of

from runner.config.settings import Settings
from runner.context.skills import BUILT_IN, body_of, load_built_in, load_built_in_text, skills_of
from runner.model import Severity
from runner.plan.task_types import WorkType, classify

BUGFIX = classify(a_task(type="bugfix"))


def front(name="pdf-forms", description="Use when a form is filled in."):
    return f"---\nname: {name}\ndescription: {description}\n---\n\n# Forms\n\nRead first.\n"


def found(texts, kind=BUGFIX, **settings):
    return skills_of(a_tree(texts), settings_of(**settings), kind)


def test_a_repositorys_skill_is_listed_with_its_path_and_its_body_is_read_on_demand():
    tree = a_tree({"skills/docs/pdf-forms/SKILL.md": front()})
    skills = skills_of(tree, Settings(), BUGFIX)
    own = skills.found[0]
    assert (own.name, own.description, own.path, own.is_built_in) == (
        "pdf-forms",
        "Use when a form is filled in.",
        "skills/docs/pdf-forms/SKILL.md",
        False,
    )
    assert body_of(own, tree) == "# Forms\n\nRead first.\n"
    assert skills.warnings == ()


def test_five_come_with_the_runner_each_with_a_short_body_that_can_be_read():
    names = [skill.name for skill in load_built_in()]
    assert names == ["mock-authoring", "plan-mode", "quality-gates", "tdd-loop", "tool-authoring"]
    for skill in load_built_in():
        body = body_of(skill, a_tree({}))
        assert body.startswith("# ")
        assert len(body) < 3000


def test_a_built_in_one_is_read_by_the_path_that_a_brief_gives_and_nothing_else_is():
    assert load_built_in_text(load_built_in()[0].path).startswith("# Stand-ins")
    assert load_built_in_text("/etc/passwd") is None
    assert load_built_in_text("skills/web/SKILL.md") is None


def test_of_the_built_in_ones_those_come_that_fit_the_type_of_the_task():
    assert [skill.name for skill in found({}).found] == [
        "mock-authoring",
        "plan-mode",
        "quality-gates",
        "tdd-loop",
    ]
    infra = found({}, classify(a_task(type="infra"))).found
    assert [skill.name for skill in infra] == ["plan-mode", "quality-gates", "tool-authoring"]
    assert len(found({}, WorkType()).found) == 5


def test_who_carries_out_a_plan_is_not_told_how_to_make_one():
    names = [
        one.name for one in skills_of(a_tree({}), Settings(), WorkType(), is_planned=True).found
    ]
    assert "plan-mode" not in names
    assert len(names) == 4


def test_a_repositorys_own_takes_the_place_of_a_built_in_one_of_its_name():
    mine = found({"skills/tdd-loop/SKILL.md": front("tdd-loop", "Ours.")}).found
    assert [skill.path for skill in mine if skill.name == "tdd-loop"] == [
        "skills/tdd-loop/SKILL.md"
    ]


def test_the_settings_turn_each_of_them_off_and_name_other_folders():
    texts = {"skills/pdf-forms/SKILL.md": front(), "agents/web/SKILL.md": front("web", "Web.")}
    off = found(texts, skills_auto_discover=False)
    assert all(skill.is_built_in for skill in off.found)
    own = found(texts, skills_fallback_to_builtin=False).found
    assert [skill.name for skill in own] == ["pdf-forms"]
    both = found(texts, skills_fallback_to_builtin=False, skills_folders=("skills", "agents"))
    assert [skill.name for skill in both.found] == ["pdf-forms", "web"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# no front matter\n", 1, "it has no front matter"),
        ("---\nname: pdf-forms\n", 1, "its front matter has no closing `---`"),
        ("---\nname: [\n---\n", 3, "its front matter is not YAML: "),
        ("---\n- a\n---\n", 2, "its front matter must be lines of the form `key: value`"),
        ("---\ndescription: x\n---\n", 2, "its name is missing"),
        ("---\nname: pdf-forms\n\ndescription:\n---\n", 4, "its description must be a string"),
        ("---\nname: 7\ndescription: x\n---\n", 2, "its name must be a string"),
        (
            front("PDF Forms"),
            2,
            'its name "PDF Forms" must be at most 64 lower-case letters, digits and dashes',
        ),
        (front("other"), 2, 'its name "other" differs from the name of its folder'),
        (front(description="x" * 1025), 3, "its description is longer than 1024 characters"),
    ],
)
def test_a_bad_skill_is_a_warning_with_its_line_and_the_others_are_listed(text, line, message):
    texts = {"skills/pdf-forms/SKILL.md": text, "skills/web/SKILL.md": front("web", "Web.")}
    skills = found(texts, skills_fallback_to_builtin=False)
    assert [skill.name for skill in skills.found] == ["web"]
    (warning,) = skills.warnings
    assert (warning.path, warning.line) == ("skills/pdf-forms/SKILL.md", line)
    assert warning.severity is Severity.WARNING
    assert warning.message.startswith(f"skill ignored: {message}")


def test_of_two_skills_with_one_name_the_second_is_a_warning():
    texts = {"skills/a/web/SKILL.md": front("web"), "skills/b/web/SKILL.md": front("web")}
    (warning,) = found(texts).warnings
    assert warning.path == "skills/b/web/SKILL.md"
    assert "already exists in skills/a/web/SKILL.md" in warning.message


def test_line_ends_and_a_byte_order_mark_of_windows_are_read_too():
    text = "\ufeff" + front("web").replace("\n", "\r\n")
    tree = a_tree({"skills/web/SKILL.md": text})
    skill = skills_of(tree, Settings(), BUGFIX).found[0]
    assert (skill.name, body_of(skill, tree)) == ("web", "# Forms\n\nRead first.\n")


def test_the_built_in_ones_lie_beside_the_code_as_the_package_ships_them():
    assert {file.parent.name for file in BUILT_IN.glob("*/SKILL.md")} == {
        skill.name for skill in load_built_in()
    }
