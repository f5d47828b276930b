"""The ways to get a page. A rung says whether it is worth climbing now, or why not, and brings what it finds there."""

from spaniel.pipeline.rungs.kind import Kind
from spaniel.pipeline.rungs.table import PASSING, RUNGS

__all__ = ["PASSING", "RUNGS", "Kind"]
