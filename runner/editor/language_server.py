"""The rim: the language server over stdin and stdout; the only module that knows pygls.

Nothing here runs a command of a plan. What a lens of `run` or `approve` stands for is handed back
to the client as a line for its terminal.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

import runner
from runner.editor import protocol_answers
from runner.editor.open_documents import OpenDocuments, path_of_uri
from runner.editor.protocol_answers import Answers, diagnostic_of_whole
from runner.editor.source_text import TextSpan, Units
from runner.editor.task_standing import COMMANDS
from runner.errors import RunnerError
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from runner.editor.open_plan import OpenPlan
    from runner.editor.source_text import SourceText

QUIET_SECONDS = 0.3
"""How long nobody may type before other files are looked at."""
_LARGEST_MESSAGE = 256 * 1024 * 1024
_REQUEST_FAILED = -32803
"""Of the protocol: the request was right, and what it asks for cannot be done."""
_OPENS_TERMINALS = "terminal"
"""The initialization option of a client that opens terminals and shows texts by itself."""


class _Protocol(LanguageServerProtocol):
    """The library's own, but for its copies of the documents: ours are the only ones."""

    _server: EditorServer

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self._server.take_open(params.text_document.uri, params.text_document.text)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self._server.take_change(params.text_document.uri, params.content_changes)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._server.take_close(params.text_document.uri)


class EditorServer(LanguageServer):
    """One client's documents, and its questions about them."""

    protocol: _Protocol

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(
            "runner",
            runner.__version__,
            protocol_cls=_Protocol,
            converter_factory=default_converter,
            max_workers=1,
        )
        self.environ = environ
        self.answers = Answers(OpenDocuments((), environ), Units())
        self.opens_terminals = False
        self.was_shut_down = False
        self._late: dict[Path, asyncio.TimerHandle] = {}

    def begin(self, params: lsp.InitializeParams) -> None:
        """What the client says of itself: its folders, its units, what it can do."""
        folders = [one.uri for one in params.workspace_folders or ()] or [params.root_uri or ""]
        paths = [path for uri in folders if (path := path_of_uri(uri)) is not None]
        options = params.initialization_options
        self.opens_terminals = isinstance(options, dict) and options.get(_OPENS_TERMINALS) is True
        documents = OpenDocuments(paths, self.environ)
        self.answers = Answers(documents, Units(str(self.workspace.position_encoding)))

    # --- documents --------------------------------------------------------------------

    def take_open(self, uri: str, text: str) -> None:
        """A document was opened."""
        try:
            document = self.answers.documents.open(uri, text)
        except RunnerError as error:
            self._send_problems(uri, [diagnostic_of_whole(error)])
            return
        if document is not None:
            self.answers.documents.look_around(document.plan)
            self.publish(document.plan)

    def take_change(self, uri: str, changes: Any) -> None:
        """A document was changed: its plan is checked at once, what lies beside it later."""
        document = self.answers.documents.find(uri)
        if document is None:
            return
        text = document.text
        # Each refers to the text that the one before it made (LSP 3.17, didChange).
        for change in changes:
            text = self._after(text, change)
        self.answers.documents.replace(document, text)
        if document.is_plan:
            self.publish(document.plan, while_typing=True)
        self._look_later(document.plan)

    def _after(self, text: SourceText, change: Any) -> SourceText:
        at = getattr(change, "range", None)
        # Without a range it is all of the text (LSP 3.17, TextDocumentContentChangeEvent).
        if at is None:
            return type(text).of(change.text)
        start = text.place(at.start.line, at.start.character, self.answers.units)
        end = text.place(at.end.line, at.end.character, self.answers.units)
        return text.change(TextSpan(start, end), change.text)

    def take_close(self, uri: str) -> None:
        """Close a document; clear the problems of a plan when none of its documents is open."""
        document = self.answers.documents.close(uri)
        if document is None:
            self._send_problems(uri, [])
            return
        if self.answers.documents.is_open(document.plan):
            self._look_later(document.plan)
            return
        if timer := self._late.pop(document.plan.root, None):
            timer.cancel()
        # A client shows what it was sent last: only an empty list takes that away (LSP 3.17,
        # publishDiagnostics).
        for path in {*self.answers.documents.forget(document.plan), document.path}:
            self._send_problems(self.answers.documents.uri(document.plan, path), [])
        self._send_problems(uri, [])

    def _look_later(self, plan: OpenPlan) -> None:
        if timer := self._late.get(plan.root):
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._late[plan.root] = loop.call_later(QUIET_SECONDS, self.look_around, plan)

    def look_around(self, plan: OpenPlan) -> None:
        """Look at the files beside a plan, and tell all again."""
        self._late.pop(plan.root, None)
        if self.answers.documents.is_open(plan):
            self.answers.documents.look_around(plan)
            self.publish(plan)

    def publish(self, plan: OpenPlan, *, while_typing: bool = False) -> None:
        """Send what is wrong with a plan and the files beside it."""
        found = self.answers.documents.problems(plan, while_typing=while_typing)
        for path, problems in found.items():
            text = plan.text_of(path)
            shown = [self.answers.diagnostic(problem, text) for problem in problems]
            self._send_problems(self.answers.documents.uri(plan, path), shown)

    def _send_problems(self, uri: str, problems: list[lsp.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, problems))


# --- the process ------------------------------------------------------------------------


_FEATURES: tuple[tuple[str, Callable[[Answers, Any], object], object], ...] = (
    (lsp.TEXT_DOCUMENT_HOVER, protocol_answers.hover, None),
    (lsp.TEXT_DOCUMENT_DEFINITION, protocol_answers.define, None),
    (lsp.TEXT_DOCUMENT_REFERENCES, protocol_answers.refer, None),
    (lsp.TEXT_DOCUMENT_PREPARE_RENAME, protocol_answers.prepare_rename, None),
    (
        lsp.TEXT_DOCUMENT_RENAME,
        protocol_answers.rename,
        lsp.RenameOptions(prepare_provider=True),
    ),
    (lsp.TEXT_DOCUMENT_CODE_LENS, protocol_answers.list_lenses, None),
    (lsp.TEXT_DOCUMENT_INLAY_HINT, protocol_answers.list_hints, None),
    (lsp.TEXT_DOCUMENT_FOLDING_RANGE, protocol_answers.fold, None),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, protocol_answers.list_symbols, None),
    (
        lsp.TEXT_DOCUMENT_COMPLETION,
        protocol_answers.complete,
        lsp.CompletionOptions(trigger_characters=[" ", "`", "/", ":", "="]),
    ),
)


def make_server(environ: Mapping[str, str]) -> EditorServer:
    """A server with all that it can be asked."""
    server = EditorServer(environ)

    def begin(params: lsp.InitializeParams) -> None:
        server.begin(params)

    def end(_params: None) -> None:
        server.was_shut_down = True

    def save(params: lsp.DidSaveTextDocumentParams) -> None:
        document = server.answers.documents.find(params.text_document.uri)
        if document is not None:
            server.look_around(document.plan)

    server.feature(lsp.INITIALIZE)(begin)
    server.feature(lsp.SHUTDOWN)(end)
    server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)(save)
    for name, answer, options in _FEATURES:
        _offer(server, name, answer, options)
    for command in COMMANDS:
        _offer_command(server, command)
    return server


def _offer(
    server: EditorServer, name: str, answer: Callable[[Answers, Any], object], options: object
) -> None:
    def ask(params: Any) -> object:
        try:
            return answer(server.answers, params)
        except RunnerError as error:
            raise _refusal(error) from error

    server.feature(name, options)(ask)


def _offer_command(server: EditorServer, command: str) -> None:
    def carry_out(*arguments: Any) -> dict[str, Any]:
        try:
            done = protocol_answers.carry_out(server.answers, command, arguments)
        except RunnerError as error:
            raise _refusal(error) from error
        if not server.opens_terminals:
            text = str(done.get("text") or "in a terminal: " + " ".join(done["terminal"]))
            server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, text))
        return done

    server.command(command)(carry_out)


def _refusal(error: RunnerError) -> JsonRpcException:
    message = display(error.message) + (f"; {display(error.hint)}" if error.hint else "")
    return JsonRpcException(message, code=_REQUEST_FAILED)


class _Input:
    """Stdin, with a bound on what a header may ask to be held in memory."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin

    def readline(self) -> bytes:
        """A line of a header; one without an end is none."""
        return self._stdin.readline(_LARGEST_MESSAGE)

    def read(self, size: int) -> bytes:
        """A body. Raises RunnerError for one that is too large."""
        if size > _LARGEST_MESSAGE:
            raise RunnerError(f"the client's message of {size:,} bytes is too large")
        return self._stdin.read(size)


def serve(environ: Mapping[str, str]) -> bool:
    """Serve the client at stdin and stdout until it goes; return whether it shut down properly."""
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # what anything prints is no part of the protocol
    server = make_server(environ)
    server.start_io(_Input(sys.stdin.buffer), out)  # type: ignore[arg-type]  # these two calls of it are made
    return server.was_shut_down


def leave(code: int) -> None:
    """End the process at once: a thread that waits for stdin would hold it up."""
    sys.stderr.flush()
    os._exit(code)
