"""What a broken client, a strange document or a vanished file does to `runner lsp`: nothing bad."""

import os
import signal
import subprocess
import sys

from language_client import WAIT, LanguageClient

from runner.text.wording import install_hint

PLAN = "TASK-GRAPH.md"


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
