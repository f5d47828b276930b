"""One module for each kind of content that is read."""
