#!/bin/sh
# Runs a command with its temporary files in memory, where the kernel lets us mount some and there is enough of it;
# else on disk, as ever. Tests write and sync all the time: so they take about two thirds of the time.
# The mount is seen by this command alone and gone with it.
set -u

enough() { # the tests need about a third of this
    test "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2> /dev/null || echo 0)" -gt 8000000
}

place=$(mktemp -d)
trap 'rmdir "$place"' EXIT
if enough && unshare --mount mount -t tmpfs -o mode=755 tests "$place" 2> /dev/null; then
    # shellcheck disable=SC2016 # the inner shell's words
    PYTEST_DEBUG_TEMPROOT=$place unshare --mount sh -c \
        'mount -t tmpfs -o mode=755 tests "$0" && exec "$@"' "$place" "$@"
else
    "$@"
fi
