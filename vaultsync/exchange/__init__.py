"""The memories of other tools: import into facts, and export."""
