"""The plan's text, edited elsewhere than in an editor: saved byte for byte, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.lazy_dataclass import dataclass
from runner.model import digest_of

if TYPE_CHECKING:
    from runner.project import Project


@dataclass(frozen=True, slots=True)
class EditableText:
    """A file's bytes as a text field can hold them, and how they become bytes again."""

    text: str
    digest: str
    ending: str
    """`\\n` or `\\r\\n`: of every line."""

    @classmethod
    def of(cls, data: bytes) -> EditableText | None:
        """The text; None where a text field would change what nobody touched."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        ending = "\r\n" if data.count(b"\r\n") == data.count(b"\n") and b"\r" in data else "\n"
        plain = text.replace(ending, "\n")
        # A form sends every line end as CR LF (HTML, "constructing the entry list"): a lone CR
        # would come back as another one.
        if "\r" in plain or "\0" in plain or "\ufeff" in plain:
            return None
        return cls(plain, digest_of(data), ending)

    def encode(self, edited: str) -> bytes:
        """What a person left in the field, in the line ends of the file."""
        return edited.replace("\r\n", "\n").replace("\n", self.ending).encode("utf-8", "replace")


def save_plan_text(project: Project, edited: str, seen: str) -> bytes:
    """Write the plan as a person left it. Raises RunnerError where it is not what they had `seen`.

    The file is looked at just before its rename: a status that a run wrote meanwhile is not lost.
    """
    path = project.root / project.plan_path
    before = project.plan_bytes
    known = EditableText.of(before)
    if known is None:
        hint = "edit it in your editor: a text field would change its content"
        raise RunnerError("this plan is not plain text", where=project.plan_path, hint=hint)
    data = known.encode(edited)
    mode = path.stat().st_mode & 0o777
    is_same = digest_of(before) == seen
    if not (is_same and effects.write_file(path, data, mode=mode, expected=before)):
        raise RunnerError(
            "the plan changed since you opened it",
            where=project.plan_path,
            hint="copy your edits into the current text",
            code=ExitCode.CONFLICT,
        )
    return data
