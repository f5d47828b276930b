"""robots.txt: may I, and which line says so? Pure parsing and matching after RFC 9309."""

from spaniel.robots.rules import LIMIT, RobotsDecision, RobotsFile, RobotsRule, parse

__all__ = ["LIMIT", "RobotsDecision", "RobotsFile", "RobotsRule", "parse"]
