"""What is known of each host: who is there now, when the next may come, what it asked for."""

from spaniel.hosts.hosts import Hosts, Manners

__all__ = ["Hosts", "Manners"]
