"""What is known of each host: who is there now, when the next may come, what it asked for."""

from spaniel.hosts.hosts import Asked, Hosts, Manners
from spaniel.hosts.memory import Memory

__all__ = ["Asked", "Hosts", "Manners", "Memory"]
