#!/usr/bin/env bash
# Build the site of the current commit and of each tag into build/pages/VERSION, with a list of them.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${1:-.venv/bin/python}
pages=$PWD/build/pages
rm -rf "$pages" && mkdir -p "$pages"

build() { # build FOLDER VERSION
  "$python" -m sphinx -q -W --keep-going -n -b html -d "build/site.trees/$2" -c "$1/docs/site" "$1" "$pages/$2"
  cp "$pages/$2/README.html" "$pages/$2/index.html"
}

build . latest
for tag in $(git tag --list 'v*' --sort=-v:refname); do
  git cat-file -e "$tag:docs/site/conf.py" 2> /dev/null || continue
  tree=$(mktemp -d)
  git worktree add --quiet --detach "$tree" "$tag"
  build "$tree" "$tag"
  git worktree remove --force "$tree"
done

{
  echo '<!doctype html><meta charset="utf-8"><title>task-graph-runner</title><h1>Versions</h1><ul>'
  for version in $(ls "$pages"); do echo "<li><a href=\"$version/\">$version</a></li>"; done
  echo '</ul>'
} > "$pages/versions.html"
echo '<!doctype html><meta http-equiv="refresh" content="0; url=latest/">' > "$pages/index.html"
