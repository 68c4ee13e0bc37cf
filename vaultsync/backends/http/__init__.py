"""HTTP on loopback: the server, its guard, a client."""
