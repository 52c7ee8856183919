"""From a wish to sections of a plan: asked for, checked, waiting, landed."""
