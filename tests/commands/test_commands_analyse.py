"""`runner doctor --repository`: without a plan, too, and a terminal is safe from it."""


def test_it_is_readable_and_whole_as_json_without_a_plan(workplace):
    workplace.commit({"pkg/__init__.py": "", "pkg/a.py": "from pkg import b\n", "pkg/b.py": ""})
    said = workplace.runner("analyse")
    assert said.code == 0
    assert "packages: pkg in pkg, 3 files" in said.out
    assert "imported most: pkg/__init__.py by 2, pkg/b.py by 1" in said.out
    document = workplace.runner("analyse", "--json").document
    assert (document["kind"], document["files"]) == ("analysis", 3)
    assert document["sources"][1]["imports"] == ["pkg/__init__.py", "pkg/b.py"]
    assert workplace.dirt == []


def test_control_signs_of_a_clone_reach_no_terminal(workplace):
    workplace.commit({"a\x1b[31m/__init__.py": "", "package.json": '{"name": "\\u001b]0;x"}'})
    assert "\x1b" not in workplace.runner("analyse").out
