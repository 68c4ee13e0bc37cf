"""The note index in tantivy."""
