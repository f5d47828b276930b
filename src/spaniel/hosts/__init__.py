"""One authority over hosts: when and how each may be asked, what it asked for, and which item of a run is next."""

from spaniel.hosts.hosts import LED_WAIT, AskedToWait, Hosts, Politeness, host_of, led_by_another
from spaniel.hosts.limits import GIVEN_UP
from spaniel.hosts.memory import Memory

__all__ = ["GIVEN_UP", "LED_WAIT", "AskedToWait", "Hosts", "Memory", "Politeness", "host_of", "led_by_another"]
