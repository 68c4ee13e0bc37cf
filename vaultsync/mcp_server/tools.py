"""The table of tools."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from vaultsync.mcp_server import fact_tools, recall_tools
from vaultsync.mcp_server import sync_tools as mirror_tools
from vaultsync.mcp_server.tool import Tool

TOOLS_BY_NAME: Mapping[str, Tool[Any]] = MappingProxyType(
    {
        each.name: each
        for each in (
            *fact_tools.FACT_TOOLS,
            *recall_tools.RECALL_TOOLS,
            *mirror_tools.SYNC_TOOLS,
        )
    }
)
"""Every tool by its name, in the order in which clients list them."""
