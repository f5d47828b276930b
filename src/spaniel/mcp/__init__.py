"""The `web_fetch` tool over the Model Context Protocol, on standard input and output."""
