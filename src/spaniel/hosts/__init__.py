"""What is known of each host: who is there now, when the next may come, what it asked for."""

from spaniel.hosts.hosts import GIVEN_UP, LED_WAIT, Asked, Hosts, Manners, host_of, led_by_another
from spaniel.hosts.memory import Memory

__all__ = ["GIVEN_UP", "LED_WAIT", "Asked", "Hosts", "Manners", "Memory", "host_of", "led_by_another"]
