"""The MCP server: words of an agent -> `Memory` -> words.

One tool is one call. The tools are rows of a table, from which the list that clients get,
the reference in the docs and the checks of arguments are made. Loaded by `vaultsync mcp`
alone.
"""
