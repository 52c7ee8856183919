"""Settings for tests, by the names without tables: `settings_of(jobs=2, sandbox="none")`."""

from runner.config.loading import make_settings
from runner.config.settings import declarations

_MADE = {
    "gates_by_type": "gates_by_type",
    "review_insisted": "review.insisted",
    "plan_review_insisted": "review.plan_insisted",
    "review_floor": "floor.review",
    "plan_review_floor": "floor.plan_review",
    "permission_floor": "floor.permission",
    "registries_only": "floor.registries",
    "read_allow_floor": "floor.read_allow",
    "secret_formats_floor": "floor.secret_formats",
}
"""What the loading makes of settings."""


def settings_of(**values):
    names = {one.old: name for name, one in declarations().items()} | _MADE
    return make_settings({names[name]: value for name, value in values.items()})
