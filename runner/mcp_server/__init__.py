"""The Model Context Protocol server: assistants read the plan's status and start builds."""
