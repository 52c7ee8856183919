"""Packages that are links into the repository lead to the scratch tree where nothing is mounted."""

import os
import shutil
import subprocess

import pytest

from runner.process.base import Place
from runner.process.environments import find_shared_folders
from runner.process.package_links import find_layouts, lay_out_shares

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
SAYS = "module.exports = __filename;\n"


def write(folder, files):
    """Files, and links where a text begins with `->`."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            file.symlink_to(text[3:])
        else:
            file.write_text(text)


def a_place(folder, files):
    """A repository with these installed files, and a scratch tree of what is committed."""
    committed = {
        "packages/core/index.js": SAYS,
        "packages/core/package.json": '{"name": "core"}',
        "packages/app/index.js": "",
        "packages/app/package.json": '{"name": "app", "dependencies": {"core": "*"}}',
    }
    real, tree = folder / "real", folder / "slot/tree"
    write(real, {**committed, **files})
    write(tree, committed)
    (folder / "slot/box").mkdir()
    shares = find_shared_folders(real, {"", "packages", "packages/core", "packages/app"})
    return Place(tree=tree, shown=real, box=folder / "slot/box", shares=shares)


def load(place, module, here="packages/app"):
    words = ["node", "-p", f"require({module!r})"]
    environment = {"PATH": os.environ["PATH"]}
    folder = place.tree / here
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


NPM = {"node_modules/core": "-> ../packages/core", "node_modules/other/index.js": SAYS}
PNPM = {
    "packages/app/node_modules/core": "-> ../../core",
    "packages/app/node_modules/plugin": (
        "-> ../../../node_modules/.pnpm/plugin@1_core/node_modules/plugin"
    ),
    "packages/app/node_modules/user": "-> ../../../node_modules/.pnpm/user@1/node_modules/user",
    "node_modules/.pnpm/plugin@1_core/node_modules/plugin/index.js": (
        "module.exports = require('core');\n"
    ),
    "node_modules/.pnpm/plugin@1_core/node_modules/plugin/package.json": (
        '{"peerDependencies": {"core": "*"}}'
    ),
    "node_modules/.pnpm/plugin@1_core/node_modules/core": "-> ../../../../packages/core",
    "node_modules/.pnpm/user@1/node_modules/user/index.js": (
        "module.exports = require('plugin');\n"
    ),
    "node_modules/.pnpm/user@1/node_modules/user/package.json": (
        '{"dependencies": {"plugin": "1"}}'
    ),
    "node_modules/.pnpm/user@1/node_modules/plugin": ("-> ../../plugin@1_core/node_modules/plugin"),
}


@needs_node
@pytest.mark.parametrize(
    ("files", "module"),
    [
        (NPM, "core"),
        ({"node_modules/core": "-> {real}/packages/core"}, "core"),
        ({"packages/app/node_modules/core": "-> ../../core"}, "core"),
        ({"node_modules/@x/core": "-> ../../packages/core"}, "@x/core"),
        (
            {
                **NPM,
                "node_modules/plugin/index.js": "module.exports = require('core');\n",
                "node_modules/plugin/package.json": '{"peerDependencies": {"core": "*"}}',
            },
            "plugin",
        ),
        (
            {
                "node_modules/plugin/node_modules/core": "-> ../../../packages/core",
                "node_modules/plugin/lib/a.js": "module.exports = require('core');\n",
                "node_modules/plugin/package.json": '{"dependencies": {"core": "file:"}}',
            },
            "plugin/lib/a.js",
        ),
        (PNPM, "core"),
        (PNPM, "plugin"),
        (PNPM, "user"),
    ],
    ids=[
        *("npm", "yarn link", "file:", "scope", "a peer", "nested"),
        *("pnpm", "a peer of pnpm", "who needs that"),
    ],
)
def test_a_package_of_the_repository_is_that_of_the_scratch_tree(tmp_path, files, module):
    files = {
        path: text.format(real=tmp_path / "real") if "{real" in text else text
        for path, text in files.items()
    }
    place = a_place(tmp_path, files)
    lay_out_shares(place, mounted=False)
    assert load(place, module) == str(place.tree / "packages/core/index.js")


@needs_node
def test_all_other_packages_stay_where_they_are(tmp_path):
    place = a_place(tmp_path, NPM)
    lay_out_shares(place, mounted=False)
    assert load(place, "other") == str(place.shown / "node_modules/other/index.js")
    (place.tree / "node_modules/written.txt").write_text("by a command")
    (place.tree / "node_modules/.vite/results").write_text("by a tool")
    assert not (place.shown / "node_modules/written.txt").exists()


def test_programs_of_a_package_of_the_repository_are_those_of_the_scratch_tree(tmp_path):
    files = {
        "packages/core/cli.js": "",
        "node_modules/.bin/core": "-> ../core/cli.js",
        "node_modules/.bin/other": "-> ../other/index.js",
        **NPM,
    }
    place = a_place(tmp_path, files)
    write(place.tree, {"packages/core/cli.js": ""})
    lay_out_shares(place, mounted=False)
    programs = place.tree / "node_modules/.bin"
    assert (programs / "core").resolve() == place.tree / "packages/core/cli.js"
    assert (programs / "other").resolve() == place.shown / "node_modules/other/index.js"


def test_a_folder_from_which_no_link_leads_into_the_repository_is_linked_whole(tmp_path):
    place = a_place(tmp_path, {"node_modules/other/index.js": SAYS})
    assert find_layouts(place) == {}
    lay_out_shares(place, mounted=False)
    assert (place.tree / "node_modules").readlink() == place.shown / "node_modules"


def test_what_a_command_did_to_the_links_is_put_right(tmp_path):
    place = a_place(tmp_path, NPM)
    lay_out_shares(place, mounted=False)
    folder = place.links / "node_modules"
    (folder / "core").unlink()
    (folder / "core").symlink_to(tmp_path)
    (folder / "other").unlink()
    (folder / "more").mkdir()
    (place.tree / "node_modules").unlink()
    (place.tree / "node_modules").symlink_to(tmp_path)
    lay_out_shares(place, mounted=False)
    assert (place.tree / "node_modules/core").resolve() == place.tree / "packages/core"
    assert {one.name for one in folder.iterdir() if one.name[0] != "."} == {"core", "other"}
    assert (place.shown / "node_modules/other/index.js").read_text() == SAYS


def test_no_folder_is_made_through_a_link_in_the_box(tmp_path):
    place = a_place(tmp_path, NPM)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (place.box / "caches").symlink_to(elsewhere)
    lay_out_shares(place, mounted=False)
    assert list(elsewhere.iterdir()) == []


def test_what_is_installed_meanwhile_is_seen(tmp_path):
    place = a_place(tmp_path, {"node_modules/other/index.js": SAYS})
    lay_out_shares(place, mounted=False)
    write(place.shown, {"node_modules/core": "-> ../packages/core"})
    os.utime(place.shown / "node_modules", (1, 1))
    lay_out_shares(place, mounted=False)
    assert (place.tree / "node_modules/core").resolve() == place.tree / "packages/core"


def test_no_link_is_made_through_a_link_of_the_tree(tmp_path):
    place = a_place(tmp_path, {"packages/app/node_modules/core": "-> ../../core"})
    shutil.rmtree(place.tree / "packages/app")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (place.tree / "packages/app").symlink_to(elsewhere)
    for mounted in (True, False):
        lay_out_shares(place, mounted=mounted)
    assert list(elsewhere.iterdir()) == []
