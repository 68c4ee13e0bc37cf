"""The inspectable files of repositories, and their locks."""
