"""The graph of a memory: built, measured, exported. `static/` holds the parts of its page."""
