"""The memories of other tools: read into facts, and written back."""
