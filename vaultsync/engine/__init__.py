"""Orders the work of a pass. Talks to ports only."""
