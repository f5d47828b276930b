"""Links of HTML and XML documents."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.documents.mentions import Found
from spaniel.health.documents.quoting import BLANKS, decode, from_attribute

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


SVG, MATH = "svg:", "math:"  # before the names of foreign elements


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
)
# Start tags that end foreign content (13.2.6.5), wherever an author forgot to close it.
BREAKOUT = _names(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
FONT_ATTRIBUTES = ("color", "face", "size")
TEXT_POINTS = frozenset(f"{MATH}{name}" for name in ("mi", "mo", "mn", "ms", "mtext"))
HTML_ANNOTATION = f"{MATH}annotation-xml+html"  # one whose encoding says that it holds HTML
HTML_POINTS = frozenset({f"{SVG}foreignobject", f"{SVG}desc", f"{SVG}title", HTML_ANNOTATION})
POINTS = TEXT_POINTS | HTML_POINTS
HTML_ENCODINGS = ("text/html", "application/xhtml+xml")
SPECIAL = POINTS | _names(
    "address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd "
    "details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header "
    "hgroup hr html iframe img input keygen li link listing main marquee menu meta nav noembed noframes noscript "
    "object ol p param plaintext pre script search section select source style summary table tbody td template "
    f"textarea tfoot th thead title tr track ul wbr xmp {MATH}annotation-xml"
)
SCOPE = POINTS | _names(f"applet caption html table td th marquee object select template {MATH}annotation-xml")
SCOPES = {"p": SCOPE | {"button"}, "li": SCOPE | {"ol", "ul"}}
TABLE_SCOPE = _names("html table template")
CLOSE_P = _names(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup "
    "main menu nav ol p search section summary ul h1 h2 h3 h4 h5 h6 pre listing form li dd dt plaintext hr xmp"
)
BLOCKS = CLOSE_P - _names("form p li dd dt plaintext hr xmp h1 h2 h3 h4 h5 h6") | _names("button applet marquee object")
HEADINGS = _names("h1 h2 h3 h4 h5 h6")
FORMATTING = _names("a b big code em font i nobr s small strike strong tt u")
CELLS, ROWS, SECTIONS = _names("td th"), _names("tr"), _names("tbody thead tfoot")
# What a start tag within a table closes before it is put there.
TABLE_PARTS = {
    **dict.fromkeys(CELLS, CELLS),
    **dict.fromkeys(ROWS, ROWS | CELLS),
    **dict.fromkeys(SECTIONS | {"caption", "colgroup"}, SECTIONS | ROWS | CELLS | {"caption", "colgroup"}),
}
STRUCTURE = _names("html head body")  # which a page has once, whatever number of tags name them
MOST_ADOPTIONS = 8
DEEPEST_SEARCH = 100  # open elements that an end tag is compared with, so that no page costs the square of its length


class OpenElements:
    """The open elements of a page. `start` and `end` are called for each tag, in the order of the page."""

    def __init__(self) -> None:
        self._open: list[str] = []

    @property
    def is_foreign(self) -> bool:
        """Whether what comes next stands in an element of SVG or MathML (where CDATA sections are possible)."""
        return bool(self._open) and ":" in self._open[-1]

    def start(self, name: str, attributes: dict[str, str], *, closes_itself: bool) -> bool:
        """Take a start tag. True where it opens an element of HTML, in which `<title>` and `<script>` hold text."""
        while self._is_foreign_start(name):
            if name in BREAKOUT or (name == "font" and any(each in attributes for each in FONT_ATTRIBUTES)):
                self._leave_foreign()
                break
            if not closes_itself:
                self._open.append(self._foreign_name(name, attributes))
            return False
        if name in ("svg", "math"):
            if not closes_itself:
                self._open.append(sys.intern(f"{name}:{name}"))
            return False
        self._start_html(name)
        return True

    def _is_foreign_start(self, name: str) -> bool:
        """Whether the rules for foreign content take a start tag (13.2.6, the tree construction dispatcher)."""
        current = self._open[-1] if self._open else ""
        if ":" not in current or current in HTML_POINTS:
            return False
        if current in TEXT_POINTS:
            return name in ("mglyph", "malignmark")
        return not (current == f"{MATH}annotation-xml" and name == "svg")

    def _leave_foreign(self) -> None:
        while self._open and ":" in self._open[-1] and self._open[-1] not in POINTS:
            self._open.pop()

    def _foreign_name(self, name: str, attributes: dict[str, str]) -> str:
        space = SVG if self._open[-1].startswith(SVG) else MATH
        if space == MATH and name == "annotation-xml" and attributes.get("encoding", "").lower() in HTML_ENCODINGS:
            return HTML_ANNOTATION
        return sys.intern(space + name)

    def _start_html(self, name: str) -> None:
        if name in STRUCTURE:
            return
        if name in TABLE_PARTS:
            if not self._has("table", {"html", "template"}):
                return
            self._close_any(TABLE_PARTS[name], TABLE_SCOPE)
        elif name in CLOSE_P:
            if name == "li":
                self._close_item({"li"})
            elif name in ("dd", "dt"):
                self._close_item({"dd", "dt"})
            self._close("p")
            if name in HEADINGS and self._open and self._open[-1] in HEADINGS:
                self._open.pop()
        elif name in ("a", "nobr", "button"):
            self.end_html(name)
        if name not in VOID:
            self._open.append(sys.intern(name))

    def _close_item(self, names: Collection[str]) -> None:
        """An item of a list ends where the next begins, unless a list or a block was opened in between."""
        for at in range(len(self._open) - 1, max(-1, len(self._open) - DEEPEST_SEARCH), -1):
            one = self._open[at]
            if one in names:
                del self._open[at:]
                return
            if one in SPECIAL and one not in ("address", "div", "p"):
                return

    def end(self, name: str) -> None:
        """Take an end tag."""
        if self.is_foreign:
            if name in ("br", "p"):
                self._leave_foreign()
            else:
                for at in range(len(self._open) - 1, max(-1, len(self._open) - DEEPEST_SEARCH), -1):
                    one = self._open[at]
                    if ":" not in one:
                        break
                    if one.partition(":")[2].removesuffix("+html") == name:
                        del self._open[at:]
                        return
        self.end_html(name)

    def end_html(self, name: str) -> None:
        if name in STRUCTURE or not self._open:
            return
        if self._open[-1] == name:
            self._open.pop()
        elif name in ("p", "li", "dd", "dt") or name in BLOCKS:
            self._close(name)
        elif name == "form":  # which alone is closed: what is open in it stays open
            at = self._find({name}, SCOPE)
            if at is not None:
                del self._open[at]
        elif name in HEADINGS:
            self._close_any(HEADINGS, SCOPE)
        elif name in FORMATTING:
            self._close_formatting(name)
        elif name == "table" or name in TABLE_PARTS:
            self._close_any({name}, TABLE_SCOPE)
        elif name == "template":
            self._close_any({name}, ())
        else:
            self._close_any({name}, SPECIAL)

    def _close(self, name: str) -> None:
        self._close_any({name}, SCOPES.get(name, SCOPE))

    def _close_any(self, names: Collection[str], bounds: Collection[str]) -> None:
        """Close the innermost of these and all that is in it, unless one of the bounds stands in between."""
        at = self._find(names, bounds)
        if at is not None:
            del self._open[at:]

    def _has(self, name: str, bounds: Collection[str]) -> bool:
        return self._find({name}, bounds) is not None

    def _find(self, names: Collection[str], bounds: Collection[str]) -> int | None:
        for at in range(len(self._open) - 1, max(-1, len(self._open) - DEEPEST_SEARCH), -1):
            one = self._open[at]
            if one in names:
                return at
            if one in bounds:
                return None
        return None

    def _close_formatting(self, name: str) -> None:
        """A block inside stays open, though the element around it is closed (the adoption agency algorithm)."""
        at = self._find({name}, SCOPE)
        if at is None:
            return
        blocks = [n for n in range(at + 1, len(self._open)) if self._open[n] in SPECIAL][:MOST_ADOPTIONS]
        if not blocks:
            del self._open[at:]
            return
        last = blocks[-1] + 1
        kept = [one for one in self._open[at + 1 : last] if one in SPECIAL or one in FORMATTING]
        self._open[at:] = [*kept, name, *self._open[last:]] if len(blocks) == MOST_ADOPTIONS else kept


VALUE = r"\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++"
# As CommonMark has it, where `<` may as well be a sign of less (6.6); in HTML it is looser.
MARKDOWN_TAG = re.compile(
    rf"<(?P<name>[A-Za-z][A-Za-z0-9-]*+)(?P<rest>(?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:{VALUE}))?+)*+)\s*+/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*+>"
)
_NAME = r"(?:=[^\s>/=]*+|[^\s>/=]++)"
_VALUE = r"\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<plain>[^\s\"'>][^\s>]*+)|(?=>))"
ATTRIBUTE = re.compile(rf"(?P<name>{_NAME})(?:{_VALUE})?+")
# A quote that is not closed takes the rest of the page: then there is no tag, and none behind it.
HTML_TAG = re.compile(
    rf"<(?P<name>[A-Za-z][^\s/>\x00]*+)(?P<rest>(?:[\s/]++|{_NAME}(?:{re.sub('P<[a-z]+>', ':', _VALUE)}|(?!\s*+=)))*+)>"
)
OPENS = re.compile(r"<(?=[A-Za-z!?/])")
RAW = {
    "script",
    "style",
    "textarea",
    "title",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "plaintext",
}  # what they hold is text
LINKS: dict[str, tuple[str, ...]] = {
    "href": ("a", "area", "link", "image", "use"),
    "xlink:href": ("a", "image", "use"),
    "src": ("img", "iframe", "script", "video", "audio", "source", "track", "embed", "input", "frame"),
    "data": ("object",),
    "poster": ("video",),
    "cite": ("blockquote", "q", "ins", "del"),
    "srcset": ("img", "source"),
    "imagesrcset": ("link",),
    "background": ("body", "table", "td", "th"),
}
ANYBODYS = ("href", "src", "cite")  # of elements that nobody knows, a component's: where they are an address of the web
ON_THE_WEB = re.compile(r"https?://", re.IGNORECASE)
SETS = ("srcset", "imagesrcset")
ONLY_HOSTS = {"preconnect", "dns-prefetch"}  # what these name is no page
CANDIDATE = re.compile(r"[\s,]*+(?P<url>[^\s,](?:[^\s]*[^\s,])?)(?P<rest>,|[^,(]*+(?:\([^)]*+\)[^,(]*+)*+)")
# A comment, or an address in `url(…)` or behind `@import`.
CSS_ADDRESS = re.compile(
    r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|(?:\burl\(\s*+|@import\s++)(?:&quot;|&#39;|[\"'])?(?P<url>https?://(?:[^\s\"'()<>\\&]|&(?!quot;|#39;))++)",
    re.IGNORECASE,
)
REFRESH = re.compile(r"\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?(?P<quote>[\"']?)(?P<url>[^\"']*)", re.IGNORECASE)


class Attribute(NamedTuple):
    """A value as it is written, without its quotes."""

    written: str
    start: int

    @property
    def value(self) -> str:
        return from_attribute(self.written)


def attributes(tag: re.Match[str]) -> dict[str, Attribute]:
    """Those of a tag, by their names; of two with one name the first counts."""
    found: dict[str, Attribute] = {}
    for match in ATTRIBUTE.finditer(tag.string, tag.start("rest"), tag.end("rest")):
        kind = match.lastgroup if match.lastgroup in ("double", "single", "plain") else None
        value = Attribute(match[kind], match.start(kind)) if kind else Attribute("", match.end())
        found.setdefault(match["name"].lower(), value)
    return found


def links_of(tag: re.Match[str]) -> Iterator[Found]:
    """The links that a tag has, in the order in which they are written."""
    name, has = tag["name"].lower(), attributes(tag)
    if name == "meta":
        yield from _refresh(has)
        return
    if name == "link" and set(has["rel"].value.lower().split() if "rel" in has else ()) & ONLY_HOSTS:
        return
    for key, attribute in has.items():
        if key == "style":
            yield from addresses_in_css(attribute.written, attribute.start, "attribute")
        elif name in LINKS.get(key, ()) or (_may_lead(name, key, has) and ON_THE_WEB.match(attribute.value)):
            yield from _candidates(attribute) if key in SETS else _whole(attribute)


def _may_lead(name: str, key: str, has: dict[str, Attribute]) -> bool:
    """Whether an attribute is a link if it is an address of the web. What a form is posted to cannot be looked at."""
    if key == "action":
        return name == "form" and not ("method" in has and has["method"].value.lower() == "post")
    return key in ANYBODYS and name != "base"


def addresses_in_css(css: str, start: int, syntax: str) -> Iterator[Found]:
    """What a style sheet names on the web. What is relative there may be made by the tools that make the page."""
    for match in CSS_ADDRESS.finditer(css):
        if match["url"] is not None:
            place = start + match.start("url")
            yield Found(decode(match["url"], syntax), place, place + len(match["url"]), syntax)


def _whole(attribute: Attribute) -> Iterator[Found]:
    """One address; blanks around it do not belong to it."""
    bare = attribute.written.strip(BLANKS)
    start = attribute.start + len(attribute.written) - len(attribute.written.lstrip(BLANKS))
    url = from_attribute(bare)
    if url:
        yield Found(url, start, start + len(bare), "attribute")


def _candidates(attribute: Attribute) -> Iterator[Found]:
    """The addresses of a `srcset`; a comma belongs to an address unless it ends it (HTML 4.8.4.2.1)."""
    for match in CANDIDATE.finditer(attribute.written):
        start = attribute.start + match.start("url")
        yield Found(from_attribute(match["url"]), start, start + len(match["url"]), "srcset")


def _refresh(has: dict[str, Attribute]) -> Iterator[Found]:
    content, is_refresh = has.get("content"), "http-equiv" in has and has["http-equiv"].value.lower() == "refresh"
    if content and is_refresh and (match := REFRESH.match(content.written)):
        yield from _whole(Attribute(match["url"], content.start + match.start("url")))


class Seeker:
    """Finds strings from left to right, and remembers which are not to be found any more."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._gone: set[str] = set()

    def after(self, needle: str, start: int) -> int | None:
        """Where the first of them ends; None where there is none."""
        if needle in self._gone:
            return None
        at = self.text.find(needle, start)
        if at == -1:
            self._gone.add(needle)
            return None
        return at + len(needle)


ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
BASE = re.compile(r"<base[\s/]", re.IGNORECASE)
COMMENT_END = re.compile(r"--!?>")
END_TAG = re.compile(HTML_TAG.pattern.replace("<", "</", 1))
FOREIGN = re.compile(r"<(?:svg|math)[\s/>]", re.IGNORECASE)
XML_DECLARATION = re.compile(r"\s*<\?xml\s")
SCRIPT_SIGN = re.compile(r"<!--|-->|</?script(?=[\s/>])", re.IGNORECASE)
CSS_TEXT = re.compile(r"(?:[^<]++|<(?!/?style[\s/>]))*+", re.IGNORECASE)


def links(text: str, *, is_part: bool = False) -> Iterator[Found]:
    """The links of a page, with the base that the page names, wherever it does so. In a part of a page, of which the
    elements around it are not known, `<title/>` closes itself."""
    base = _base(text) if BASE.search(text) else ""
    for tag in tags(text, is_part=is_part):
        for found in links_of(tag):
            yield found._replace(base=base) if base else found
        if tag["name"].lower() == "style":
            css = CSS_TEXT.match(text, tag.end())
            yield from addresses_in_css(css[0] if css else "", tag.end(), "bare")


def _base(text: str) -> str:
    """The first `<base>` with an address counts (HTML 4.2.3)."""
    for tag in tags(text):
        if tag["name"].lower() == "base" and "href" in (has := attributes(tag)):
            return has["href"].value
    return ""


def ids(text: str) -> Iterator[str]:
    """What a fragment may name: every `id`, and the `name` of `<a>`."""
    for tag in tags(text):
        has = attributes(tag)
        if "id" in has:
            yield has["id"].value
        if "name" in has and tag["name"].lower() in ("a", "map"):
            yield has["name"].value


def tags(text: str, *, xml: bool = False, is_part: bool = False) -> Iterator[re.Match[str]]:
    """Every opening tag, but for those in comments, scripts and the like; in XML there is nothing like a script."""
    seek = Seeker(text)
    elements = OpenElements() if not xml and FOREIGN.search(text) else None  # most pages have HTML alone
    is_xml = xml or is_part or XML_DECLARATION.match(text) is not None
    at = 0
    while found := OPENS.search(text, at):
        sign = text[found.end()]
        if sign not in "!?/":
            tag = HTML_TAG.match(text, found.start())
            if tag is None:
                return  # a tag that does not end takes the rest of the page, as in a browser
            yield tag
            at = tag.end() if xml else _past_start(text, tag, elements, is_xml=is_xml)
        elif end := END_TAG.match(text, found.start()):
            if elements is not None:
                elements.end(end["name"].lower())
            at = end.end()
        elif sign == "/" and text[found.end() + 1 : found.end() + 2].isalpha():
            return
        else:
            is_foreign = elements is not None and elements.is_foreign
            at = _past_declaration(text, found.start(), seek, has_cdata=is_foreign or is_xml)


def _past_start(text: str, tag: re.Match[str], elements: OpenElements | None, *, is_xml: bool) -> int:
    """Behind a start tag, and behind the text that a script and its like hold."""
    name, closes_itself = tag["name"].lower(), _closes_itself(tag)
    if elements is not None:
        wanted = ("encoding",) if name == "annotation-xml" else FONT_ATTRIBUTES if name == "font" else ()
        has = {key: one.value for key, one in attributes(tag).items() if key in wanted} if wanted else {}
        if not elements.start(name, has, closes_itself=closes_itself):
            return tag.end()
    if name not in RAW or (is_xml and closes_itself):
        return tag.end()
    if elements is not None:
        elements.end_html(name)
    if name == "plaintext":
        return len(text)
    return _end_of_script(text, tag.end()) if name == "script" else _end_of_raw(text, name, tag.end())


def _closes_itself(tag: re.Match[str]) -> bool:
    """A slash at the end; not that of `<a href=x/>`, which belongs to the value."""
    if not tag["rest"].endswith("/"):
        return False
    end = tag.start("rest")
    for one in ATTRIBUTE.finditer(tag.string, tag.start("rest"), tag.end("rest")):
        end = one.end()
    return end != tag.end("rest")


def _past_declaration(text: str, start: int, seek: Seeker, *, has_cdata: bool) -> int:
    """Behind a comment, a declaration, a CDATA section."""
    if text.startswith("<!--", start):
        if text.startswith((">", "->"), start + 4):
            return text.index(">", start) + 1
        found = COMMENT_END.search(text, start + 4)
        return found.end() if found else len(text)
    if has_cdata and text.startswith("<![CDATA[", start):
        return seek.after("]]>", start + 9) or len(text)
    return seek.after(">", start) or len(text)


def _end_of_raw(text: str, name: str, start: int) -> int:
    found = ENDS[name].search(text, start)
    return found.start() if found else len(text)


def _end_of_script(text: str, start: int) -> int:
    """A script in a comment in a script does not end it (HTML 13.2.5.18, script data double escaped)."""
    is_escaped = is_nested = False
    at = start
    while found := SCRIPT_SIGN.search(text, at):
        at = found.end()
        sign = found[0].lower()
        if sign == "<!--":
            is_escaped, at = True, found.start() + 2  # its hyphens may end it as well: `<!-->`
        elif sign == "-->":
            is_escaped = is_nested = False
        elif sign == "<script":
            is_nested = is_nested or is_escaped
        elif is_nested:
            is_nested = False
        else:
            return found.start()
    return len(text)


CARRIERS = frozenset({"loc", "link", "guid", "image:loc", "video:content_loc", "video:player_loc", "comments", "url"})
CONTENT = re.compile(r"(?:\s*+<!\[CDATA\[(?P<data>[^\]<]*+)\]\]>|(?P<text>[^<]*+))")
POINTERS = ("href", "url", "src")
WEB = re.compile(r"https?://", re.IGNORECASE)


def xml_links(text: str) -> Iterator[Found]:
    for tag in tags(text, xml=True):
        for name, attribute in attributes(tag).items():
            if name in POINTERS and WEB.match(attribute.value):
                bare = attribute.written.strip(BLANKS)
                start = attribute.start + attribute.written.index(bare[0])
                yield Found(from_attribute(bare), start, start + len(bare), "attribute")
        if tag["name"].lower() in CARRIERS and (found := CONTENT.match(text, tag.end())):
            group = "text" if found["text"] is not None else "data"
            bare = found[group].strip(BLANKS)
            url = from_attribute(bare) if group == "text" else bare
            if WEB.match(url):
                start = found.start(group) + found[group].index(bare[0])
                yield Found(url, start, start + len(bare), "xml" if group == "text" else "bare")
