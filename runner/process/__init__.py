"""The only door to other programs: start one, bound it, hear it out, end its whole tree."""
