"""Scripts that run inside the sandbox of a contract check; never imported here.

`serve` and `describe` run on the project's Python and know the standard library alone; `drive`
and `instances` run on ours.
"""
