"""Scripts that are put into a task's box and run there, never imported here.

`serve` and `describe` run on the project's Python and know the standard library alone; `drive`
and `instances` run on ours.
"""
