"""Many fetches: where their URLs come from, and where their records go."""
