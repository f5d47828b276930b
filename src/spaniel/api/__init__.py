"""The HTTP service (`spaniel serve`): its own API, MCP, and the wire formats of other readers."""
