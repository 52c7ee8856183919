"""An extension of the runner: a command, an implementer and settings of its own."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from runner.config.loading import read_table
from runner.extensions.interface import Extension
from runner.implementers.base import WorkResult
from runner.operations.row import Operation, flag


class Settings(BaseModel):
    """The table `[extension.acme_runner]` of the person's own settings."""

    owner: str = "Acme Ltd"


EXTENSION = Extension(
    name="acme_runner",
    summary="writes the licence of Acme's repositories",
    operations="acme_runner:OPERATIONS",
    implementers={"acme-licence": "acme_runner:Licence"},
    settings="acme_runner:Settings",
)
OPERATIONS = (
    Operation(
        *("acme-owner", "who owns what Acme builds", "acme_runner:execute"),
        fields=(flag("--loud", "in capital letters"),),
    ),
)


def execute(given, environ):
    """Print the owner; the exit code is 0."""
    owner = read_table(EXTENSION, environ).owner
    print(owner.upper() if given.loud else owner)
    return 0


@dataclass(frozen=True)
class Licence:
    """The implementer `acme-licence`: writes the first output file of its task."""

    name: str = "acme-licence"
    is_agent: bool = False
    repeatable: bool = True

    @classmethod
    def for_task(cls, task, settings):
        """Fit any task."""
        return cls()

    def implement(self, brief, context):
        """Write the file into the scratch tree; the runner proves it afterwards."""
        path = brief.task.outputs[0]
        Path(context.place.tree, path).write_text("Owned by Acme Ltd.\n")
        return WorkResult(f"{path} written")
