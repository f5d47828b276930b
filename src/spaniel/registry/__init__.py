"""A database of links: a folder of YAML files, one for each host, made to live in version control."""

from spaniel.registry.database import Added, Editor, Registry, Selection
from spaniel.registry.database import open_registry as open  # noqa: A004  read as spaniel.registry.open
from spaniel.registry.record import LinkRecord

__all__ = ["Added", "Editor", "LinkRecord", "Registry", "Selection", "open"]
