"""Canonical links with the web at hand: what a policy's rules ask is asked here, politely, and remembered."""

from spaniel.online.canonicalizer import Canonicalizer, Found, Reach, canonicalizer_for
from spaniel.online.deeper import Deeper, deeper_link
from spaniel.online.learnt import Learnt

__all__ = ["Canonicalizer", "Deeper", "Found", "Learnt", "Reach", "canonicalizer_for", "deeper_link"]
