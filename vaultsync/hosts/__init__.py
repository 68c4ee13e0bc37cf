"""The host programs of agents, and the entries in their files that connect them."""
