"""Plans of other styles go on by the one line that they are advised to add."""

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize(
    ("sample", "before", "line"),
    [
        ("planner-style.md", "**Task type:** api  \n", "**Contracts:** none — in one process  \n"),
        (
            "tables.md",
            "| Output files | `pipeline/reader.py` |\n",
            "| Proof | none — fixed text |\n",
        ),
    ],
)
def test_a_plan_of_another_style_goes_on_by_the_one_line_that_is_advised(
    workplace, sample, before, line
):
    text = (SAMPLES / sample).read_text("utf-8")
    assert before in text
    workplace.write({"shortener/__init__.py": ""})
    workplace.commit({"TASK-GRAPH.md": text.replace(before, before + line)}, "plan")
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
