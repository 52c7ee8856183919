"""The language server: its answers, also to bad input, and about held-out tests."""

import json
import os
import signal
import subprocess
import sys

import held_out_plans
import pytest
from held_out_plans import told
from language_client import WAIT, LanguageClient, messages

from runner.text.wording import install_hint

PLAN = "TASK-GRAPH.md"
MAP, INDEX = "FILE_OWNERSHIP_MAP.md", "PATTERN_INDEX.md"


def spans(found):
    """(file, line, from, to) of locations or edits."""
    rows = []
    for one in found:
        start, end = one["range"]["start"], one["range"]["end"]
        name = one.get("uri", "").rpartition("/")[2]
        rows.append((name, start["line"], start["character"], end["character"]))
    return rows


def labels(found):
    return [item["label"] for item in found["items"]]


# --- mistakes ---------------------------------------------------------------------------


def test_a_mistake_is_shown_while_it_is_typed_and_goes_when_it_is_mended(client):
    client.open(PLAN)
    client.edit(PLAN, (21, 14), (21, 22), "TASK-009")
    (found,) = [one for one in client.problems(PLAN) if "TASK-009" in one["message"]]
    assert found["message"].startswith("TASK-002 depends on unknown task TASK-009\nhint: ")
    assert spans([found]) == [("", 21, 14, 22)]
    assert (found["severity"], found["source"]) == (1, "runner")
    client.edit(PLAN, (21, 14), (21, 22), "TASK-001")
    assert not [one for one in client.problems(PLAN) if "TASK-009" in one["message"]]


def test_it_tells_what_validate_tells(client, shop):
    (shop / PLAN).write_text((shop / PLAN).read_text().replace("Type: data", "Typo: data"))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "runner", "validate", "--json"],
        cwd=shop,
        capture_output=True,
        text=True,
        check=False,
    )
    told = [(one["line"] - 1, one["message"]) for one in json.loads(done.stdout)["problems"]]
    shown = [
        (one["range"]["start"]["line"], one["message"].partition("\n")[0])
        for one in client.open(PLAN)
    ]
    assert sorted(shown) == sorted(told)
    assert any("Typo" in message for _, message in told)


def test_the_map_and_the_index_are_checked_as_they_are_open(client):
    client.open(PLAN)
    assert client.open(MAP) == []
    client.edit(MAP, (2, 20), (2, 28), "nonsense")
    while not (found := client.problems(MAP)):
        pass
    assert messages(found) == ['"nonsense" is not a valid task id']
    assert client.open(INDEX) == []
    client.edit(INDEX, (2, 62), (2, 65), "404")
    while not (found := client.problems(INDEX)):
        pass
    assert "which does not exist" in found[0]["message"]


def test_two_documents_of_one_plan_are_held_apart(client):
    client.open(PLAN)
    client.open(MAP)
    client.edit(PLAN, (0, 0), (0, 0), "\n")
    client.problems(PLAN)
    found = client.at("definition", MAP, 2, 22)
    assert spans(found) == [(PLAN, 3, 3, 21)]


# --- questions --------------------------------------------------------------------------


def test_fields_statuses_ids_paths_commands_and_patterns_are_completed(client):
    client.open(PLAN)
    client.edit(PLAN, (4, 10), (4, 17), "")
    client.edit(PLAN, (20, 0), (20, 0), "- \n- Patterns: \n")
    assert labels(client.at("completion", PLAN, 4, 10)) == [
        "PENDING", "IN-PROGRESS", "DONE", "BLOCKED", "STALE",
    ]  # fmt: skip
    names = labels(client.at("completion", PLAN, 20, 2))
    assert "Acceptance" in names
    assert "Depends on" not in names
    assert labels(client.at("completion", PLAN, 21, 12)) == ["PATTERN-001"]
    assert labels(client.at("completion", PLAN, 23, 14)) == ["TASK-001"]
    client.open(MAP)
    assert labels(client.at("completion", MAP, 2, 20)) == ["TASK-001", "TASK-002"]
    client.edit(PLAN, (24, 16), (24, 32), "`patterns/")
    assert labels(client.at("completion", PLAN, 24, 26)) == ["patterns/PATTERN-001.md"]
    client.edit(PLAN, (28, 0), (28, 99), "  - TC-003 (unit): `")
    tests = labels(client.at("completion", PLAN, 28, 20))
    assert "python3 -m unittest -q tests.test_money" in tests


def test_a_task_that_waits_for_this_one_is_not_offered_as_its_need(client):
    client.open(PLAN)
    client.edit(PLAN, (5, 0), (5, 0), "- Depends on: \n")
    assert labels(client.at("completion", PLAN, 5, 14)) == []


def test_hover_tells_how_a_task_stands_and_what_a_field_is_for(client):
    client.open(PLAN)
    said = client.at("hover", PLAN, 21, 16)["contents"]["value"]
    assert said.startswith("**TASK-001: Money 😀**\n\nPENDING · ready")
    assert "`shop/money.py`" in said
    field = client.at("hover", PLAN, 21, 4)
    assert field["contents"]["value"].startswith("**Depends on**: tasks that must be DONE")
    assert "does not exist yet; an output of TASK-001" in str(client.at("hover", PLAN, 23, 14))
    assert "Cents for TASK-001" in str(client.at("hover", PLAN, 12, 32))
    assert client.at("hover", PLAN, 1, 0) is None


def test_definition_goes_to_tasks_files_makers_and_patterns(client, shop):
    client.open(PLAN)
    assert spans(client.at("definition", PLAN, 12, 14)) == [(PLAN, 18, 3, 19)]
    assert spans(client.at("definition", PLAN, 12, 32)) == [("PATTERN-001.md", 0, 0, 0)]
    assert spans(client.at("definition", PLAN, 23, 16)) == [(PLAN, 2, 3, 21)]
    (shop / "shop").mkdir()
    (shop / "shop" / "money.py").write_text("")
    assert spans(client.at("definition", PLAN, 23, 16)) == [("money.py", 0, 0, 0)]
    assert client.at("definition", PLAN, 13, 0) is None


def test_references_are_found_in_the_plan_the_map_and_the_index_but_not_in_fences(client):
    client.open(PLAN)
    found = client.at("references", PLAN, 2, 5, context={"includeDeclaration": True})
    assert spans(found) == [
        (PLAN, 2, 3, 11), (PLAN, 21, 14, 22), (MAP, 2, 20, 28), (INDEX, 2, 26, 34),
    ]  # fmt: skip
    less = client.at("references", PLAN, 2, 5, context={"includeDeclaration": False})
    assert spans(less) == spans(found)[1:]


def test_a_rename_reaches_the_plan_the_map_and_the_index(client):
    client.open(PLAN)
    held = client.at("prepareRename", PLAN, 21, 16)
    assert held["placeholder"] == "TASK-001"
    changes = client.at("rename", PLAN, 21, 16, newName="task 7")["changes"]
    edits = {
        uri.rpartition("/")[2]: [(one["newText"], *spans([one])[0][1:]) for one in rows]
        for uri, rows in changes.items()
    }
    assert edits == {
        PLAN: [("TASK-007", 2, 3, 11), ("TASK-007", 21, 14, 22)],
        MAP: [("TASK-007", 2, 20, 28)],
        INDEX: [("TASK-007", 2, 26, 34)],
    }


@pytest.mark.parametrize(
    ("new", "why"),
    [("TASK-002", "is already used on line 19"), ("nonsense", "is not a valid task ID")],
)
def test_an_id_that_is_taken_or_none_is_refused(client, new, why):
    client.open(PLAN)
    document = {"uri": client.uri(PLAN)}
    place = {"line": 2, "character": 5}
    error = client.refused(
        "textDocument/rename", textDocument=document, position=place, newName=new
    )
    assert why in error["message"]


def test_a_task_with_a_commit_keeps_its_id_and_its_id_stays_taken(client, shop):
    message = "feat(TASK-001): money\n\nTask: TASK-001\nAttempt: 1\n"
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    words = ("commit", "-q", "--allow-empty", "-m", message)
    subprocess.run(["git", *who, *words], cwd=shop, check=True)
    client.open(PLAN)
    document, place = {"uri": client.uri(PLAN)}, {"line": 2, "character": 5}
    error = client.refused("textDocument/prepareRename", textDocument=document, position=place)
    assert "its ID cannot change" in error["message"]
    other = {"line": 18, "character": 5}
    client.edit(PLAN, (2, 3), (2, 11), "TASK-003")
    client.problems(PLAN)
    error = client.refused(
        "textDocument/rename", textDocument=document, position=other, newName="TASK-001"
    )
    assert "was used by an earlier task" in error["message"]


def test_lenses_and_inlay_hints_tell_the_status_and_what_can_be_done(client):
    client.open(PLAN)
    titles = [
        (one["range"]["start"]["line"], one["command"]["title"])
        for one in client.of("codeLens", PLAN)
    ]
    assert titles == [
        (2, "PENDING · ready"), (2, "run"), (2, "why"),
        (18, "PENDING · waits for TASK-001"), (18, "run"), (18, "why"),
    ]  # fmt: skip
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 10, "character": 0}}
    (hint,) = client.of("inlayHint", PLAN, range=span)
    assert (hint["label"], hint["position"]) == ("PENDING · ready", {"line": 2, "character": 21})


def test_a_lens_runs_nothing_here_and_hands_its_line_to_the_client(client, shop):
    client.open(PLAN)
    before = sorted(one.name for one in shop.iterdir())
    uri = client.uri(PLAN)
    for name in ("run", "approve"):
        done = client.request(
            "workspace/executeCommand", command=f"runner.{name}", arguments=[uri, "TASK-001"]
        )
        assert done == {"terminal": ["runner", name, "TASK-001"], "folder": str(shop)}
        shown = client.wait(lambda one: one.get("method") == "window/showMessage")
        assert shown["params"]["message"] == f"in a terminal: runner {name} TASK-001"
    assert sorted(one.name for one in shop.iterdir()) == before
    why = client.request(
        "workspace/executeCommand", command="runner.why", arguments=[uri, "TASK-002"]
    )
    assert "TASK-001" in why["text"]
    told = client.request(
        "workspace/executeCommand", command="runner.evidence", arguments=[uri, "TASK-002"]
    )
    assert told["text"].startswith("TASK-002: Prices\n")
    error = client.refused(
        "workspace/executeCommand", command="runner.run", arguments=[uri, "TASK-001; rm -rf /"]
    )
    assert "is not in an open plan" in error["message"]


def test_sections_and_fences_fold_and_the_outline_has_the_tasks(client):
    client.open(PLAN)
    folds = [(one["startLine"], one["endLine"]) for one in client.of("foldingRange", PLAN)]
    assert folds == [(0, 26), (2, 16), (18, 26), (14, 16)]
    (top,) = client.of("documentSymbol", PLAN)
    assert top["name"] == "Shop"
    inside = [(one["name"], one["detail"]) for one in top["children"]]
    assert inside == [("TASK-001: Money 😀", "PENDING"), ("TASK-002: Prices", "PENDING")]


# --- units ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encodings", "agreed", "width"),
    [(None, "utf-16", 4), (["utf-8", "utf-16"], "utf-8", 8), (["utf-32"], "utf-32", 2)],
)
def test_positions_are_in_utf_16_unless_agreed(shop, encodings, agreed, width):
    with LanguageClient(shop) as client:
        assert client.initialize(encodings=encodings)["positionEncoding"] == agreed
        client.open(PLAN)
        client.edit(PLAN, (21, 2), (21, 2), "\U0001d54f😀 ")
        client.edit(PLAN, (21, 2), (21, 2 + width + 1), "")
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 10, "character": 0}}
        (hint,) = client.of("inlayHint", PLAN, range=span)
        end = {"utf-8": 23, "utf-16": 21, "utf-32": 20}[agreed]
        assert hint["position"] == {"line": 2, "character": end}
        assert spans(client.at("definition", PLAN, 21, 16))[0][:3] == (PLAN, 2, 3)


def test_frames_that_are_broken_are_told_and_the_next_one_is_served(client):
    client.open(PLAN)
    client.send_bytes(b'Content-Length: 7\r\n\r\n{"a": 1')
    client.send_bytes(b"Content-Length: 2\r\n\r\n[]")
    client.send_bytes(b"nonsense\r\nContent-Length: x\r\n\r\n")
    assert client.at("hover", PLAN, 2, 5)["contents"]["kind"] == "markdown"


def test_unknown_methods_are_refused_and_unknown_notes_are_let_be(client):
    client.notify("$/nobody", x=1)
    assert client.refused("textDocument/nobody", x=1)["code"] == -32601
    assert client.of("codeLens", PLAN) is None


def test_files_outside_the_workspace_and_those_that_are_no_plan_are_nobody_s(client, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / PLAN).write_text("## TASK-001: A\n\n- Typo: x\n")
    for uri in ((other / PLAN).as_uri(), client.uri("README.md"), "untitled:TASK-GRAPH.md", ":"):
        item = {"uri": uri, "languageId": "markdown", "version": 1, "text": "## TASK-001: A\n"}
        client.notify("textDocument/didOpen", textDocument=item)
        document = {"uri": uri}
        assert client.request("textDocument/documentSymbol", textDocument=document) is None


def test_a_plan_in_no_repository_is_told_so_at_its_first_line(tmp_path, alone):
    (tmp_path / PLAN).write_text("## TASK-001: A\n")
    with LanguageClient(tmp_path) as client:
        client.initialize()
        (found,) = client.open(PLAN)
        assert found["message"] == "this folder is not in a git repository\nhint: git init"
        assert client.leave() == 0


def test_a_plan_that_is_deleted_on_the_disk_is_served_as_it_is_open(client, shop):
    client.open(PLAN)
    (shop / PLAN).unlink()
    client.edit(PLAN, (21, 14), (21, 22), "TASK-009")
    assert any("TASK-009" in one["message"] for one in client.problems(PLAN))
    assert client.at("hover", PLAN, 2, 5)["contents"]["value"].startswith("**TASK-001")
    client.notify("textDocument/didSave", textDocument={"uri": client.uri(PLAN)})
    assert any("TASK-009" in one["message"] for one in client.problems(PLAN))


def test_edits_at_places_that_are_not_there_change_the_nearest_ones(client):
    client.open(PLAN)
    client.edit(PLAN, (999, 5), (9999, 0), "\n## TASK-003: Late\n")
    client.problems(PLAN)
    names = str(client.of("documentSymbol", PLAN))
    assert "TASK-003: Late" in names


def test_a_huge_document_and_odd_characters_are_read(client):
    odd = "\ud800 \x00 \u2028 \u202e 😀"
    text = "## TASK-001: A\n\n- Status: PENDING\n\n" + f"{odd} text of a line\n" * 60_000
    assert isinstance(client.open(PLAN, text), list)
    client.edit(PLAN, (0, 14), (0, 14), "b")
    client.problems(PLAN)
    assert "Ab" in str(client.at("hover", PLAN, 0, 5))


def test_without_a_shutdown_the_end_of_input_or_an_exit_is_a_failure(shop):
    for end in ("eof", "exit"):
        with LanguageClient(shop) as client:
            client.initialize()
            client.open(PLAN)
            client.notify("exit") if end == "exit" else client.process.stdin.close()
            assert client.process.wait(WAIT) == 1, client.errors


def test_a_shutdown_and_an_exit_end_it_well(client):
    client.open(PLAN)
    assert client.leave() == 0


def test_ctrl_c_ends_it_at_once(shop):
    with LanguageClient(shop) as client:
        client.initialize()
        os.kill(client.process.pid, signal.SIGINT)
        assert client.process.wait(WAIT) == 130


def test_without_pygls_the_line_that_installs_it_is_told(shop):
    code = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'pygls' else real(name, *a)\n"
        "from runner.cli import main; sys.exit(main(['lsp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shop, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"runner: the language server needs pygls\nhint: {install_hint('lsp')}\n"
    )


def test_nothing_of_it_is_imported_at_another_command_s_start():
    code = (
        "import sys; from runner.cli import main; main(['version']);"
        "print([n for n in sys.modules if n.startswith(('pygls', 'lsprotocol', 'runner.editor'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_the_language_server_tells_no_held_out_test(workplace, monkeypatch):
    held_out_plans.failed(workplace, monkeypatch)
    with LanguageClient(workplace.root) as client:
        client.initialize()
        shown = [client.open(PLAN)]
        for number, line in enumerate(workplace.read(PLAN).splitlines()):
            if line.strip():
                shown.append(client.at("hover", PLAN, number, min(4, len(line))))
        shown += [client.of(one, PLAN) for one in ("codeLens", "documentSymbol")]
    assert told(json.dumps(shown)) == []
    assert "TASK-001" in json.dumps(shown)
