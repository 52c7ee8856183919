"""Every write passes here: path rules, secret scan, staged write, compile, SAST, write log."""
