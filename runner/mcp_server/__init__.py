"""The Model Context Protocol: an assistant asks how the plan stands, and has it built."""
