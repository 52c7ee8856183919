"""What attempts may use, how failures are classed, and when the next one is tried."""
