"""Lines that start no program that instruments could look into."""

import pytest

from runner.plan.shell.shell_commands import starts_no_program


@pytest.mark.parametrize(
    "line",
    [
        "true",
        "test -f a && echo there",
        "x=1; [ $x = 1 ]",
        "cat a | grep b",
        "if :; then ls; fi",
        "(ls) >&2",
    ],
)
def test_the_shells_own_words_start_no_program(line):
    assert starts_no_program(line)


@pytest.mark.parametrize(
    "line",
    [
        "sh check.sh",
        "./true",
        "python3 -c pass",
        "echo $(python3 a.py)",
        "cat < <(node a.js)",
        "cat <<END\n`node a.js`\nEND",
        "PATH=bin grep a b",
        "true() { python3 a.py; }; true",
        "eval $X",
        "$X",
        "xargs true",
        "(echo a) > b",
        "for a in b; do echo $a; done >b",
        "if",
        "",
    ],
)
def test_what_may_start_something_else_is_watched(line):
    assert not starts_no_program(line)
