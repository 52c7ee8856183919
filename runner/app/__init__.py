"""Use cases: typed values in, typed values and events out.

Nothing here prints or reads a command line: a command, a page or another program calls it.
"""
