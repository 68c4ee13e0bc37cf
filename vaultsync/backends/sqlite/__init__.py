"""Store, archive and link index in SQLite."""
