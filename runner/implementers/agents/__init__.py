"""Agent programs: a preset is data, and one module runs them all."""
