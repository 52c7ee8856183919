"""The write pipeline: path rules, secret scan, staged write, compile, SAST, write log."""
