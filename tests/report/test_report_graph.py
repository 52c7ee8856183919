"""Pictures of the graph: every edge is there, and nothing from outside is obeyed."""

import re
import subprocess
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_results import SPEC

from runner.model import Status, Task
from runner.report.graph_drawing import ascii_graph, dot, drawing_order, filter_needs, layers, svg

SVG = "{http://www.w3.org/2000/svg}"
ODD = Task("TASK-666", '"];\n<script>&\x1b\\N ]]>\uffff', 1, SPEC, depends_on=("TASK-666", "NO-1"))


def a_graph(text):
    """`A; B needs A` as tasks."""
    tasks = []
    for sentence in text.split("; "):
        name, _, needs = sentence.partition(" needs ")
        wanted = tuple(needs.split(",")) if needs else ()
        tasks.append(Task(name, f"task {name}", 1, SPEC, depends_on=wanted))
    return tasks


@st.composite
def graphs(draw):
    """Random needs, circles among them."""
    ids = [f"T{number}" for number in range(draw(st.integers(0, 12)))]
    return {id_: tuple(draw(st.sets(st.sampled_from(ids), max_size=4))) for id_ in ids}


quickly = settings(max_examples=60, deadline=None, derandomize=True)


# --- layers ---------------------------------------------------------------------------


def test_every_task_is_behind_what_it_needs_and_near_to_it():
    needs = {"A": (), "X": (), "B": ("A",), "Y": ("X",), "C": ("B",)}
    assert drawing_order(needs) == ("A", "B", "C", "X", "Y")


@quickly
@given(graphs())
def test_every_task_has_one_place_and_every_edge_its_two_ends(needs):
    needs = filter_needs(needs)
    laid = layers(needs)
    placed = [spot.task for row in laid.rows for spot in row if spot.task]
    assert sorted(placed) == sorted(needs)
    ends = sorted((edge[0].task, edge[-1].task) for edge in laid.edges)
    assert ends == sorted((one, id_) for id_, wanted in needs.items() for one in wanted)


def test_long_edges_bend_around_what_stands_between():
    laid = layers({"A": (), "B": ("A",), "C": ("B", "A")})
    assert [len(row) for row in laid.rows] == [1, 2, 1]
    assert sorted(len(edge) for edge in laid.edges) == [2, 2, 3]


def test_edges_do_not_cross_where_they_need_not():
    laid = layers({"A": (), "B": (), "C": ("B",), "D": ("A",)})
    order = {spot.task: place for row in laid.rows for place, spot in enumerate(row)}
    assert (order["A"] < order["B"]) is (order["D"] < order["C"])


# --- plain text -----------------------------------------------------------------------


def test_a_graph_as_text():
    tasks = a_graph("A; B needs A; C needs A; D needs A,B; E needs C,D; F")
    statuses = dict(zip("ABCDEF", [*Status, Status.PENDING], strict=False))
    assert ascii_graph(tasks, statuses) == (
        "o A task A (PENDING)\n"
        "+-+\n"
        "| > B task B (IN-PROGRESS)\n"
        "+-+\n"
        "| ! D task D (BLOCKED)\n"
        "* | C task C (DONE)\n"
        "+-+\n"
        "~ E task E (STALE)\n"
        "  o F task F (PENDING)\n"
    )


def edges_of(drawn):
    """The edges that a reader sees in the text: up a lane, along the joints, up again."""
    rows = drawn.splitlines()
    tasks = {
        number: (match.start("sign") // 2, match["id"])
        for number, row in enumerate(rows)
        if (match := re.match(r"(?:[|] |  )*(?P<sign>[o>*!~])[ |]* (?P<id>T\d+)", row))
    }
    found = set()
    for number, (column, id_) in tasks.items():
        lanes = {column}
        row = number - 1
        if row >= 0 and row not in tasks and rows[row][column * 2 : column * 2 + 1] == "+":
            marks = rows[row]
            left = right = column
            while marks[left * 2 - 1 : left * 2] == "-":
                left -= 1
            while marks[right * 2 + 1 : right * 2 + 2] == "-":
                right += 1
            lanes = {lane for lane in range(left, right + 1) if marks[lane * 2] == "+"}
            row -= 1
        for lane in lanes:
            above = row
            while above >= 0 and rows[above][lane * 2 : lane * 2 + 1] in ("|", "+"):
                above -= 1
            if above >= 0 and tasks.get(above, ("", ""))[0] == lane:
                found.add((tasks[above][1], id_))
    return found


@quickly
@given(graphs())
def test_a_reader_of_the_text_sees_exactly_the_edges(needs):
    tasks = [Task(id_, "", 1, SPEC, depends_on=wanted) for id_, wanted in needs.items()]
    order = drawing_order(filter_needs(needs))
    forward = {
        (one, id_)
        for id_, wanted in filter_needs(needs).items()
        for one in wanted
        if order.index(one) < order.index(id_)  # a circle has no place where it begins
    }
    assert edges_of(ascii_graph(tasks, {})) == forward


def test_a_task_that_needs_nothing_never_looks_joined_to_the_one_above():
    assert ascii_graph(a_graph("A; B; C needs A"), {}) == (
        "o A task A (PENDING)\no C task C (PENDING)\n  o B task B (PENDING)\n"
    )


def test_foreign_text_is_shown_and_not_obeyed():
    assert ascii_graph([ODD], {}) == 'o TASK-666 "];\\n<script>&\\x1b\\N ]]>\uffff (PENDING)\n'


# --- dot ------------------------------------------------------------------------------


def test_a_graph_as_dot():
    text = dot(a_graph("A; B needs A,Z"), {"A": Status.DONE})
    assert 't1 [label="A\\ntask A\\nDONE", fillcolor="#dafbe1"' in text
    assert text.endswith("  t1 -> t2;\n}\n")


def test_no_label_ends_early_in_dot():
    label = re.search(r'label="((?:[^"\\]|\\.)*)"', dot([ODD], {}))[1]
    assert label == 'TASK-666\\n\\"];\\\\n<script>&\\\\x1b\\\\N ]]>\uffff\\nPENDING'


# --- svg ------------------------------------------------------------------------------


def drawn(tasks, statuses=None):
    return ET.fromstring(svg(tasks, statuses or {}, title="Plan <1>"))


def test_a_picture_has_a_box_a_task_and_a_line_an_edge():
    picture = drawn(a_graph("A; B needs A; C needs A,B"), {"A": Status.DONE})
    assert len(picture.findall(f".//{SVG}rect")) == 3
    assert len(picture.findall(f"{SVG}g/{SVG}path")) == 3
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert texts[:2] == ["A  * DONE", "task A"]
    assert picture.find(f"{SVG}title").text == "Plan <1>"


@quickly
@given(graphs())
def test_no_two_boxes_overlap_and_all_are_in_the_picture(needs):
    tasks = [Task(id_, "", 1, SPEC, depends_on=wanted) for id_, wanted in needs.items()]
    picture = drawn(tasks)
    _, _, wide, high = map(float, picture.get("viewBox").split())
    boxes = []
    for group in picture.findall(f"{SVG}g/{SVG}g"):
        x, y = map(float, re.findall(r"-?[\d.]+", group.get("transform")))
        assert 0 <= x <= wide - 220 - 32
        assert 0 <= y <= high - 44 - 32 + 1
        boxes.append((x, y))
    for place, (x, y) in enumerate(boxes):
        assert not any(x == other_x and abs(y - other_y) < 44 for other_x, other_y in boxes[:place])


def test_a_picture_without_tasks_is_a_picture():
    assert drawn([]).findall(f".//{SVG}rect") == []


def test_nothing_from_outside_is_markup_in_a_picture():
    picture = drawn([ODD])
    assert picture.findall(".//script") == []
    assert picture.find(f"{SVG}g/{SVG}g/{SVG}title").text.startswith(
        'TASK-666: "];\\n<script>&\\x1b'
    )


# --- the command ----------------------------------------------------------------------


@pytest.mark.parametrize("count", [2_000])
def test_a_large_graph_is_drawn(count):
    """A chain with branches: layout must not be quadratic in what it draws."""
    ids = [f"T{number}" for number in range(count)]
    tasks = [
        Task(id_, "t", 1, SPEC, depends_on=tuple({ids[(n - 1) // 2], ids[max(0, n - 3)]} - {id_}))
        for n, id_ in enumerate(ids)
    ]
    assert len(drawn(tasks).findall(f".//{SVG}rect")) == count
    assert ascii_graph(tasks, {}).count("T") >= count


def test_graphviz_reads_it(tmp_path):
    if subprocess.run(["sh", "-c", "command -v dot"], capture_output=True, check=False).returncode:
        pytest.skip("graphviz is not installed")
    text = dot([*a_graph("A; B needs A"), ODD], {})
    subprocess.run(["dot", "-Tsvg", "-o", tmp_path / "g.svg"], input=text, text=True, check=True)
