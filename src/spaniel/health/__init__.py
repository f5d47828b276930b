"""Link health: what is asked of a link, what came back, and what may honestly be said of it."""

from spaniel.health.links import Checked, Link, LinkFinding, Place
from spaniel.verdicts import Evidence, Expected, Move, Verdict

__all__ = ["Checked", "Evidence", "Expected", "Link", "LinkFinding", "Move", "Place", "Verdict"]
