"""The clock and the machine."""
