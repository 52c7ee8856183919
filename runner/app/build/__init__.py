"""The use case of a run: from the plan to the record commit, and its dry run."""
