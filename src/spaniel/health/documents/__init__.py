"""Links in documents of every kind, each with its line and column. Texts in, links out; nothing is opened here."""
