"""Reads URL lists: text, tables, JSON, YAML, Parquet, sitemaps, feeds, bookmarks. Memory use is constant."""
