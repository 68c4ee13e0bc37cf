"""Events of the filesystem."""
