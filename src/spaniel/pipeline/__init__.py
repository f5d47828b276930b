"""One fetch, from URL to answer."""
