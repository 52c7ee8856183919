"""What an editor asks about a plan that is being written: pure functions, and one server's rim."""
