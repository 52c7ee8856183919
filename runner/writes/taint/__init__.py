"""Where foreign input reaches what executes, opens, asks or shows it: a walk in functions."""
