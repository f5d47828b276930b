"""URLs as values, and the policies that say which of them are the same."""

from spaniel.url.canonical import Canonical
from spaniel.url.parse import parse
from spaniel.url.policy import Policy, canonicalize, load
from spaniel.url.value import Url

__all__ = ["Canonical", "Policy", "Url", "canonicalize", "load", "parse"]
