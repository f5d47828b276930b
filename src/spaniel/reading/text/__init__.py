"""Text on the level of characters: charsets, words, white space, invisible characters."""
