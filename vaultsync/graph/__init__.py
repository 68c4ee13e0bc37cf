"""The graph of a memory: build, measure, export. `static/` holds the parts of its page."""
