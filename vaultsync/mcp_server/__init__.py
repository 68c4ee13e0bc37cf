"""The MCP server: an agent's tools, resources and prompts <-> `Memory`.

Each tool is one call. The tools are rows of tables (`*_tools.py`), from which the list that
clients get, the reference in the docs and the checks of arguments are made. Only
`vaultsync mcp` loads it.
"""
