"""Where URLs come from: lists in many forms, sitemaps, feeds, whole sites; lazily, in flat memory, in one order."""

from spaniel.batch.sources.bring import Bring, Brought
from spaniel.batch.sources.fingerprint import Fingerprint, fingerprint
from spaniel.batch.sources.rows import Item, Options, Problems
from spaniel.batch.sources.walk import items

__all__ = ["Bring", "Brought", "Fingerprint", "Item", "Options", "Problems", "fingerprint", "items"]
