"""The table of operations, from which every user interface is built."""
