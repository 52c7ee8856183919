from runner.config.layers import line_of

TEXT = '''\
jobs = 3 # [gates]
note = """
[gates]
lint = "not this"
"""
[gates]
"lint" = "ruff"
types.command = "mypy"
[gates.ui]
shot = "x"
'''


def test_keys_are_found_in_tables_dotted_and_quoted():
    assert line_of(TEXT, ("jobs",)) == 1
    assert line_of(TEXT, ("gates", "lint")) == 7
    assert line_of(TEXT, ("gates", "types", "command")) == 8
    assert line_of(TEXT, ("gates", "ui", "shot")) == 10


def test_a_key_that_is_not_written_is_placed_at_its_table():
    assert line_of(TEXT, ("gates", "ui", "missing")) == 9
    assert line_of(TEXT, ("nothing",)) == 0


def test_tables_of_a_list_are_told_apart():
    text = '[[permission]]\ntool = "a"\n\n[[permission]]\ntool = "b"\naction = "c"\n'
    assert line_of(text, ("permission", "0", "tool")) == 2
    assert line_of(text, ("permission", "1", "tool")) == 5
    assert line_of(text, ("permission", "1", "missing")) == 4
    assert line_of(text, ("permission",)) == 1
