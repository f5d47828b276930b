"""How many redirects are followed: the one place where each limit is written.

Settings, profiles, policies and help take their defaults from here.
"""

MAX_REDIRECTS = 5  # of a page or a list, unless the settings say otherwise (FR-WF-07, FG-23)
MAX_ROBOTS_REDIRECTS = 5  # of robots.txt (D2-06, RFC 9309 2.3.1.2)
MAX_LINK_REDIRECTS = 10  # of a link that is checked: a long chain is worth a verdict, and no page is read
