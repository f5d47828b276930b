"""The page cache: one file per entry, an LRU index beside them, and rules for freshness."""

from spaniel.cache.entry import CacheEntry, Validators
from spaniel.cache.keys import CacheKey, key_for
from spaniel.cache.store import WRITE_FAILED, CacheSettings, PageCache

__all__ = ["WRITE_FAILED", "CacheEntry", "CacheKey", "CacheSettings", "PageCache", "Validators", "key_for"]
