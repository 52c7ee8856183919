"""The language server over stdin and stdout; the only module that imports pygls.

Nothing here runs a command of a plan. What a lens of `run` or `approve` stands for is handed back
to the client as a line for its terminal.

What is asked, answered in the types of the Language Server Protocol 3.17.

Knows no connection: the documents that are open go in, a position and a question, and the answer
comes out. What cannot be done is a RunnerError.
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
from runner.app.inspect.task_inquiry import explain, find_one_task, format_cause, load_story
from runner.app.inspect.task_view import portrait
from runner.editor import features, mentions
from runner.editor.features import COMMANDS
from runner.editor.open_plan import (
    BESIDE,
    OpenDocuments,
    TextPosition,
    TextSpan,
    Units,
    path_of_uri,
)
from runner.errors import RunnerError
from runner.model import Severity
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from runner.editor.open_plan import OpenDocument, OpenPlan, SourceText
    from runner.plan.source import Problem

QUIET_SECONDS = 0.3
"""Seconds without typing before other files are checked."""
_LARGEST_MESSAGE = 256 * 1024 * 1024
_REQUEST_FAILED = -32803
"""LSP error code: the request was valid but cannot be carried out."""
_OPENS_TERMINALS = "terminal"
"""Initialization option of a client that opens terminals and shows texts itself."""
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
}
_KINDS = {
    "field": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.EnumMember,
    "task": lsp.CompletionItemKind.Reference,
    "path": lsp.CompletionItemKind.File,
    "folder": lsp.CompletionItemKind.Folder,
    "command": lsp.CompletionItemKind.Function,
    "pattern": lsp.CompletionItemKind.Snippet,
}


def diagnostic_of_whole(error: RunnerError) -> lsp.Diagnostic:
    """Return a diagnostic on the first line that explains why a document cannot be checked."""
    message = display(error.message) + (f"\nhint: {display(error.hint)}" if error.hint else "")
    at = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    severity = lsp.DiagnosticSeverity.Information
    return lsp.Diagnostic(at, message, severity=severity, source="runner")


class Answers:
    """The data behind answers: the open documents, and the client's position units."""

    def __init__(self, documents: OpenDocuments, units: Units) -> None:
        self.documents = documents
        self.units = units

    def diagnostic(self, problem: Problem, text: SourceText) -> lsp.Diagnostic:
        """Convert a problem to a diagnostic at its place in a text."""
        line = min(problem.line - 1, text.line_count - 1)
        # Columns count from after a byte order mark, which is a character for the client.
        start = problem.column - 1 + (line == 0 and text.line(0).startswith("\ufeff"))
        end = min(start + problem.width, len(text.line(line)))
        message = display(problem.message)
        if problem.hint:
            message += f"\nhint: {display(problem.hint)}"
        return lsp.Diagnostic(
            self.range(
                text, TextSpan(TextPosition(line, start), TextPosition(line, max(start, end)))
            ),
            message,
            severity=_SEVERITIES.get(problem.severity, lsp.DiagnosticSeverity.Information),
            source="runner",
        )

    # --- places -----------------------------------------------------------------------

    def range(self, text: SourceText, span: TextSpan) -> lsp.Range:
        """Convert a span to the client's units."""
        return lsp.Range(self.position(text, span.start), self.position(text, span.end))

    def position(self, text: SourceText, place: TextPosition) -> lsp.Position:
        """Convert a place to the client's units."""
        return lsp.Position(place.line, text.units(place, self.units))

    def place(self, document: OpenDocument, at: lsp.Position) -> TextPosition:
        """Convert a client's position to a place."""
        return document.text.place(at.line, at.character, self.units)

    def location(self, plan: OpenPlan, one: mentions.Mention) -> lsp.Location:
        """Convert a mention to a location in the client's units."""
        text = plan.text_of(one.path)
        return lsp.Location(self.documents.uri(plan, one.path), self.range(text, one.span))

    def find_mention(self, params: Any) -> tuple[OpenDocument, mentions.Mention | None] | None:
        """Return the document of a request and the mention at its position, or None."""
        document = self.documents.find(params.text_document.uri)
        if document is None:
            return None
        place = self.place(document, params.position)
        return document, mentions.mention_at(document.plan, document.path, place)


# --- what is asked ----------------------------------------------------------------------


def complete(at: Answers, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """Return the completions at a position."""
    document = at.documents.find(params.text_document.uri)
    if document is None:
        return None
    place = at.place(document, params.position)
    items = [
        lsp.CompletionItem(
            one.label,
            kind=_KINDS[one.kind],
            detail=display(one.detail) or None,
            filter_text=one.label,
            # Without a sort text clients sort by label (LSP 3.17, CompletionItem.sortText).
            sort_text=f"{number:05}",
            text_edit=lsp.TextEdit(at.range(document.text, one.span), one.text),
        )
        for number, one in enumerate(features.complete(document.plan, document.path, place))
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


def hover(at: Answers, params: lsp.HoverParams) -> lsp.Hover | None:
    """Return the hover text for a position."""
    asked = at.find_mention(params)
    if asked is None:
        return None
    document, named = asked
    plan = document.plan
    if named is not None:
        text, span = features.hover(plan, named, plan.standing()), named.span
    else:
        place = at.place(document, params.position)
        found = features.field_hover(plan, place) if document.is_plan else None
        if found is None:
            return None
        text, span = found
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, at.range(document.text, span))


def define(at: Answers, params: lsp.DefinitionParams) -> list[lsp.Location] | None:
    """Return the locations of the definition."""
    document, named = at.find_mention(params) or (None, None)
    if document is None or named is None:
        return None
    found = mentions.find_definition(document.plan, named)
    return [at.location(document.plan, one) for one in found]


def refer(at: Answers, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    """Return the locations of all references."""
    document, named = at.find_mention(params) or (None, None)
    if document is None or named is None:
        return None
    plan = document.plan
    found = mentions.find_references(plan, named, BESIDE)
    if not params.context.include_declaration:
        headings = {task.line - 1 for task in plan.tasks if task.id == named.name}
        found = [
            one for one in found if one.path != plan.path or one.span.start.line not in headings
        ]
    return [at.location(plan, one) for one in found]


def prepare_rename(
    at: Answers, params: lsp.PrepareRenameParams
) -> lsp.PrepareRenamePlaceholder | None:
    """Return the range that a rename would replace. Raises RunnerError if it cannot be renamed."""
    document, named = at.find_mention(params) or (None, None)
    if document is None or named is None:
        return None
    mentions.require_renamable(document.plan, named, document.plan.standing())
    return lsp.PrepareRenamePlaceholder(at.range(document.text, named.span), named.name)


def rename(at: Answers, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    """Return the edits of a rename. Raises RunnerError if it is not allowed."""
    document, named = at.find_mention(params) or (None, None)
    if document is None or named is None:
        return None
    plan = document.plan
    edits = mentions.rename_task(plan, named, params.new_name, plan.standing(), BESIDE)
    changes: dict[str, list[lsp.TextEdit]] = {}
    for one in edits:
        text = plan.text_of(one.path)
        edit = lsp.TextEdit(at.range(text, one.span), one.text)
        changes.setdefault(at.documents.uri(plan, one.path), []).append(edit)
    return lsp.WorkspaceEdit(changes=changes)


def list_lenses(at: Answers, params: lsp.CodeLensParams) -> list[lsp.CodeLens] | None:
    """Return the lenses above the tasks."""
    document = at.documents.find(params.text_document.uri)
    if document is None or not document.is_plan:
        return None
    uri, text = params.text_document.uri, document.text
    return [
        lsp.CodeLens(
            at.range(text, one.span),
            lsp.Command(one.title, one.command, arguments=[uri, one.task] if one.command else None),
        )
        for one in features.lenses(document.plan, document.plan.standing())
    ]


def list_hints(at: Answers, params: lsp.InlayHintParams) -> list[lsp.InlayHint] | None:
    """Return the status hints of the tasks in a range."""
    document = at.documents.find(params.text_document.uri)
    if document is None or not document.is_plan:
        return None
    view, (first, last) = document.plan.standing(), (params.range.start.line, params.range.end.line)
    return [
        lsp.InlayHint(
            at.position(document.text, one.place),
            one.label,
            tooltip=one.tooltip,
            padding_left=True,
        )
        for one in features.hints(document.plan, view, first, last)
    ]


def fold(at: Answers, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange] | None:
    """Return the foldable ranges."""
    document = at.documents.find(params.text_document.uri)
    if document is None:
        return None
    return [lsp.FoldingRange(one.first, one.last) for one in mentions.folds(document.text)]


def list_symbols(at: Answers, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol] | None:
    """Return the outline of a document, or None."""
    document = at.documents.find(params.text_document.uri)
    if document is None:
        return None
    text = document.text
    headings = mentions.outline(document.plan, text, is_plan=document.is_plan)
    return [_symbol(at, text, one) for one in headings]


def _symbol(at: Answers, text: SourceText, one: mentions.Heading) -> lsp.DocumentSymbol:
    return lsp.DocumentSymbol(
        display(one.name),
        lsp.SymbolKind.Event if one.is_task else lsp.SymbolKind.String,
        at.range(text, one.span),
        at.range(text, one.line),
        detail=one.detail or None,
        children=[_symbol(at, text, inner) for inner in one.inside],
    )


# --- commands of lenses -----------------------------------------------------------------


def carry_out_command(at: Answers, command: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Return the command of a lens: arguments for the client's terminal, or a text to show.

    Nothing is run here. Raises RunnerError for a task that no open plan has.
    """
    uri, id_ = (*map(str, arguments), "", "")[:2]
    document = at.documents.find(uri)
    if document is None or all(task.id != id_ for task in document.plan.tasks):
        raise RunnerError(
            f'task "{id_}" is not in an open plan', hint="open the plan that has this task"
        )
    words = features.command_line(command, id_)
    if command in features.IN_TERMINAL:
        return {"terminal": list(words), "folder": str(document.plan.root)}
    text = redact("\n".join(_answer_lines(document.plan, command, id_)))
    return {"title": " ".join(words), "text": text}


def _answer_lines(plan: OpenPlan, command: str, id_: str) -> Iterator[str]:
    asked = find_one_task(plan.project, id_)
    if command == "runner.evidence":
        story = load_story(asked)
        yield from portrait(asked.task, asked.view, story.past, story.report)
        return
    cause = explain(asked)
    yield from format_cause(cause)
    advice = dict.fromkeys(root.next for root in cause.roots if root.next)
    yield from (f"next: {one}" for one in advice)


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
        """Set up the server from the client's folders, position encoding and capabilities."""
        folders = [one.uri for one in params.workspace_folders or ()] or [params.root_uri or ""]
        paths = [path for uri in folders if (path := path_of_uri(uri)) is not None]
        options = params.initialization_options
        self.opens_terminals = isinstance(options, dict) and options.get(_OPENS_TERMINALS) is True
        documents = OpenDocuments(paths, self.environ)
        self.answers = Answers(documents, Units(str(self.workspace.position_encoding)))

    # --- documents --------------------------------------------------------------------

    def take_open(self, uri: str, text: str) -> None:
        """Handle an opened document."""
        try:
            document = self.answers.documents.open(uri, text)
        except RunnerError as error:
            self._send_problems(uri, [diagnostic_of_whole(error)])
            return
        if document is not None:
            self.answers.documents.check_surroundings(document.plan)
            self.publish(document.plan)

    def take_change(self, uri: str, changes: Any) -> None:
        """Handle a changed document: its plan is checked at once, the files near it later."""
        document = self.answers.documents.find(uri)
        if document is None:
            return
        text = document.text
        # Each refers to the text after the previous change (LSP 3.17, didChange).
        for change in changes:
            text = self._after(text, change)
        self.answers.documents.replace(document, text)
        if document.is_plan:
            self.publish(document.plan, while_typing=True)
        self._schedule_check(document.plan)

    def _after(self, text: SourceText, change: Any) -> SourceText:
        at = getattr(change, "range", None)
        # Without a range it replaces the whole text (LSP 3.17, TextDocumentContentChangeEvent).
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
            self._schedule_check(document.plan)
            return
        if timer := self._late.pop(document.plan.root, None):
            timer.cancel()
        # A client keeps showing the last list: only an empty one clears it (LSP 3.17,
        # publishDiagnostics).
        for path in {*self.answers.documents.forget(document.plan), document.path}:
            self._send_problems(self.answers.documents.uri(document.plan, path), [])
        self._send_problems(uri, [])

    def _schedule_check(self, plan: OpenPlan) -> None:
        if timer := self._late.get(plan.root):
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._late[plan.root] = loop.call_later(QUIET_SECONDS, self.check_surroundings, plan)

    def check_surroundings(self, plan: OpenPlan) -> None:
        """Check the files near a plan and publish all problems again."""
        self._late.pop(plan.root, None)
        if self.answers.documents.is_open(plan):
            self.answers.documents.check_surroundings(plan)
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
    (lsp.TEXT_DOCUMENT_HOVER, hover, None),
    (lsp.TEXT_DOCUMENT_DEFINITION, define, None),
    (lsp.TEXT_DOCUMENT_REFERENCES, refer, None),
    (lsp.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename, None),
    (
        lsp.TEXT_DOCUMENT_RENAME,
        rename,
        lsp.RenameOptions(prepare_provider=True),
    ),
    (lsp.TEXT_DOCUMENT_CODE_LENS, list_lenses, None),
    (lsp.TEXT_DOCUMENT_INLAY_HINT, list_hints, None),
    (lsp.TEXT_DOCUMENT_FOLDING_RANGE, fold, None),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, list_symbols, None),
    (
        lsp.TEXT_DOCUMENT_COMPLETION,
        complete,
        lsp.CompletionOptions(trigger_characters=[" ", "`", "/", ":", "="]),
    ),
)


def make_server(environ: Mapping[str, str]) -> EditorServer:
    """Create a language server with all features registered."""
    server = EditorServer(environ)

    def begin(params: lsp.InitializeParams) -> None:
        server.begin(params)

    def end(_params: None) -> None:
        server.was_shut_down = True

    def save(params: lsp.DidSaveTextDocumentParams) -> None:
        document = server.answers.documents.find(params.text_document.uri)
        if document is not None:
            server.check_surroundings(document.plan)

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
            done = carry_out_command(server.answers, command, arguments)
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
        """Read a header line up to the size limit."""
        return self._stdin.readline(_LARGEST_MESSAGE)

    def read(self, size: int) -> bytes:
        """Read a message body. Raises RunnerError if it is too large."""
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
    """End the process immediately, since a thread that waits for stdin would delay it."""
    sys.stderr.flush()
    os._exit(code)
