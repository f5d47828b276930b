"""The shipped policies: TOML files, and what they hold as Python."""
