"""URLs as values, and the policies that say which of them are the same."""
