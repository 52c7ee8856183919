"""Agent programs: how each is started, heard and held; a preset is data, the rest is shared."""
