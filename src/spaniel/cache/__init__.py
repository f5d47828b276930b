"""The page cache: files in the SRD's layout, an LRU index beside them, and a clock that decides what is fresh."""

from spaniel.cache.entry import CacheEntry, Validators
from spaniel.cache.keys import CacheKey, key_for
from spaniel.cache.store import WRITE_FAILED, CacheSettings, PageCache

__all__ = ["WRITE_FAILED", "CacheEntry", "CacheKey", "CacheSettings", "PageCache", "Validators", "key_for"]
