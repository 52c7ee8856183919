from context_build import a_task

from runner.context.files import FileOutline
from runner.context.gather import MOST_TOKENS, file_index
from runner.context.tree import CHARACTERS_A_TOKEN


def outlines(*paths, names=""):
    return {path: FileOutline(names, 10, "") for path in paths}


def test_a_line_has_path_names_and_length_and_the_lines_stand_in_order_of_the_paths():
    found = {
        "src/b.py": FileOutline("Booking add", 12, ""),
        "src/a.py": FileOutline(" ".join(f"f{n}" for n in range(12)), 3, ""),
    }
    assert file_index(found, a_task()) == (
        "src/a.py | f0, f1, f2, f3, f4, f5, f6, f7, … | 3",
        "src/b.py | Booking, add | 12",
    )


def test_a_medium_project_takes_no_more_than_800_tokens_and_its_relevant_files_are_in():
    paths = [f"src/package{n}/module{m}.py" for n in range(40) for m in range(20)]
    found = outlines(*paths, names="load save") | outlines("src/package7/reservations.py")
    lines = file_index(found, a_task(title="Cancel reservations"), seeds=("src/package9/new.py",))
    assert MOST_TOKENS * 0.8 < len("\n".join(lines)) / CHARACTERS_A_TOKEN <= MOST_TOKENS
    assert any(line.startswith("src/package7/reservations.py") for line in lines)
    assert sum(line.startswith("src/package9/") for line in lines) == 20


def test_names_speak_for_a_file_as_its_path_does_and_neighbours_before_strangers():
    found = outlines(*(f"a{n}.py" for n in range(200)))
    found["z1.py"] = FileOutline("RefundPolicy", 1, "")
    found["z2.py"] = FileOutline("", 1, "")
    lines = file_index(found, a_task(title="Refunds after 24 hours"), near=("z2.py",), tokens=20)
    assert [line for line in lines if line.startswith("z")] == [
        "z1.py | RefundPolicy | 1",
        "z2.py |  | 1",
    ]


def test_of_no_files_there_is_no_index():
    assert file_index({}, a_task()) == ()
