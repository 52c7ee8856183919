"""What is asked, answered in the types of the Language Server Protocol 3.17.

Knows no connection: the documents that are open go in, a position and a question, and the answer
comes out. What cannot be done is a RunnerError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from runner.app.inspect.causes import format_cause
from runner.app.inspect.task_inquiry import explain, find_one_task, load_story
from runner.app.inspect.task_view import portrait
from runner.editor import completions, mentions, task_standing
from runner.editor.open_plan import BESIDE
from runner.editor.source_text import TextPosition, TextSpan, Units
from runner.errors import RunnerError
from runner.model import Severity
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.editor.open_documents import OpenDocument, OpenDocuments
    from runner.editor.open_plan import OpenPlan
    from runner.editor.source_text import SourceText
    from runner.plan.diagnostic import Problem

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
    """Why a document cannot be looked at, at its first line."""
    message = display(error.message) + (f"\nhint: {display(error.hint)}" if error.hint else "")
    at = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    severity = lsp.DiagnosticSeverity.Information
    return lsp.Diagnostic(at, message, severity=severity, source="runner")


class Answers:
    """What answers rest on: the open documents, and the units that the client counts in."""

    def __init__(self, documents: OpenDocuments, units: Units) -> None:
        self.documents = documents
        self.units = units

    def diagnostic(self, problem: Problem, text: SourceText) -> lsp.Diagnostic:
        """A mistake or warning at its place in a text."""
        line = min(problem.line - 1, text.line_count - 1)
        # Columns count from behind a byte order mark, which the client has as a character.
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
        """A span as the client counts it."""
        return lsp.Range(self.position(text, span.start), self.position(text, span.end))

    def position(self, text: SourceText, place: TextPosition) -> lsp.Position:
        """A place as the client counts it."""
        return lsp.Position(place.line, text.units(place, self.units))

    def place(self, document: OpenDocument, at: lsp.Position) -> TextPosition:
        """A client's position as a place."""
        return document.text.place(at.line, at.character, self.units)

    def location(self, plan: OpenPlan, one: mentions.Mention) -> lsp.Location:
        """Where a name stands, for the client."""
        text = plan.text_of(one.path)
        return lsp.Location(self.documents.uri(plan, one.path), self.range(text, one.span))

    def find_mention(self, params: Any) -> tuple[OpenDocument, mentions.Mention | None] | None:
        """The document of a question, and what is named at its position."""
        document = self.documents.find(params.text_document.uri)
        if document is None:
            return None
        place = self.place(document, params.position)
        return document, mentions.mention_at(document.plan, document.path, place)


# --- what is asked ----------------------------------------------------------------------


def complete(at: Answers, params: lsp.CompletionParams) -> lsp.CompletionList | None:
    """What can be written at a position."""
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
            # By label without a sort text (LSP 3.17, CompletionItem.sortText).
            sort_text=f"{number:05}",
            text_edit=lsp.TextEdit(at.range(document.text, one.span), one.text),
        )
        for number, one in enumerate(completions.complete(document.plan, document.path, place))
    ]
    return lsp.CompletionList(is_incomplete=False, items=items)


def hover(at: Answers, params: lsp.HoverParams) -> lsp.Hover | None:
    """What is known of what stands at a position."""
    asked = at.find_mention(params)
    if asked is None:
        return None
    document, named = asked
    plan = document.plan
    if named is not None:
        text, span = task_standing.hover(plan, named, plan.standing()), named.span
    else:
        place = at.place(document, params.position)
        found = task_standing.field_hover(plan, place) if document.is_plan else None
        if found is None:
            return None
        text, span = found
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, at.range(document.text, span))


def define(at: Answers, params: lsp.DefinitionParams) -> list[lsp.Location] | None:
    """Where it is defined."""
    document, named = at.find_mention(params) or (None, None)
    if document is None or named is None:
        return None
    found = mentions.find_definition(document.plan, named)
    return [at.location(document.plan, one) for one in found]


def refer(at: Answers, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    """Where else it is named."""
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
    """What a rename would replace. Raises RunnerError where nothing may be."""
    document, named = at.find_mention(params) or (None, None)
    if document is None or named is None:
        return None
    mentions.require_renamable(document.plan, named, document.plan.standing())
    return lsp.PrepareRenamePlaceholder(at.range(document.text, named.span), named.name)


def rename(at: Answers, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    """The edits of a rename. Raises RunnerError where it may not be."""
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
    """What stands above each task."""
    document = at.documents.find(params.text_document.uri)
    if document is None or not document.is_plan:
        return None
    uri, text = params.text_document.uri, document.text
    return [
        lsp.CodeLens(
            at.range(text, one.span),
            lsp.Command(one.title, one.command, arguments=[uri, one.task] if one.command else None),
        )
        for one in task_standing.lenses(document.plan, document.plan.standing())
    ]


def list_hints(at: Answers, params: lsp.InlayHintParams) -> list[lsp.InlayHint] | None:
    """How each task of a range stands."""
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
        for one in task_standing.hints(document.plan, view, first, last)
    ]


def fold(at: Answers, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange] | None:
    """What can be folded."""
    document = at.documents.find(params.text_document.uri)
    if document is None:
        return None
    return [lsp.FoldingRange(one.first, one.last) for one in mentions.folds(document.text)]


def list_symbols(at: Answers, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol] | None:
    """The outline."""
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


def carry_out(at: Answers, command: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """What a lens stands for: words for the client's terminal, or a text to show.

    Nothing is run here. Raises RunnerError for a task that no open plan has.
    """
    uri, id_ = (*map(str, arguments), "", "")[:2]
    document = at.documents.find(uri)
    if document is None or all(task.id != id_ for task in document.plan.tasks):
        raise RunnerError(f'task "{id_}" is not in an open plan', hint="open its plan")
    words = task_standing.command_line(command, id_)
    if command in task_standing.IN_TERMINAL:
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
