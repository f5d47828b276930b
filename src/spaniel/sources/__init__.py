"""The one reader of URL lists: text, tables, JSON, YAML, Parquet, sitemaps, feeds, bookmarks; in flat memory."""
