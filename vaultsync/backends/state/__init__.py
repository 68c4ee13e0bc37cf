"""Small files of the state directory."""
