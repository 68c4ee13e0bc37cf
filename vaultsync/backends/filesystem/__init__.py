"""The vault and memory files on a disk."""
