"""Where records go: append-only parts while a run lasts, and the requested form when it is done."""
