# The page cut into blocks, and the names of its containers: blocks.py and words.py for the compiler.

cdef struct Tally:  # of the parts of names
    long long mask
    double total
    Py_ssize_t known


cdef class Block:
    """As blocks.Block."""

    cdef readonly Py_ssize_t container, link_chars, items
    cdef readonly list nodes
    cdef readonly str text


cdef class Outline:
    """As blocks.Outline, with the run of text that is being gathered."""

    cdef readonly list elements, parent, tag, mask, weight, kin, first, last, blocks
    cdef readonly dict twins
    cdef dict homes  # element -> twice its container, and one more inside a link
    cdef list nodes, parts
    cdef Py_ssize_t place, link_chars
    cdef readonly bint cut

    def __cinit__(self):
        self.elements, self.parent, self.tag, self.mask, self.weight = [], [], [], [], []
        self.kin, self.first, self.last, self.blocks = [], [], [], []
        self.twins, self.homes = {}, {}
        self.begin(0)

    cdef void begin(self, Py_ssize_t place):
        self.place, self.link_chars, self.nodes, self.parts = place, 0, [], []

    cdef Py_ssize_t open(self, element, str tag, Py_ssize_t parent) except -1:
        cdef str names = ATTRIBUTE(element, "class") or ""
        cdef object ident = ATTRIBUTE(element, "id")
        cdef tuple kin = (parent, tag, names)
        cdef Tally tally
        tally.mask, tally.total, tally.known = 0, 0.0, 0
        if names:
            judge_list(names, &tally)
        if ident:
            judge_name(ident, min(len(<str>ident), LONGEST_NAMES), &tally)
        self.tag.append(tag)
        self.elements.append(element)
        self.parent.append(parent)
        self.mask.append(tally.mask)
        self.weight.append(tally.total / tally.known if tally.known else 0.0)
        self.kin.append(kin)
        self.twins[kin] = self.twins.get(kin, 0) + 1
        self.first.append(len(self.blocks))
        return len(self.tag) - 1

    cdef Py_ssize_t find_home(self, element) except -1:
        cdef list way = []
        cdef str tag
        cdef Py_ssize_t home
        found = self.homes.get(element)
        while found is None:
            way.append(element)
            element = element.parent
            found = self.homes.get(element)
        home = found
        for inner in reversed(way):
            tag = inner.tag
            if tag not in INSIDE_LINES:
                home = 2 * self.open(inner, tag, home >> 1) + (home & 1)
            elif tag == "a":
                home |= 1
            self.homes[inner] = home
        return home

    cdef int close(self) except -1:
        """End the run of text. Short items of one list join."""
        cdef str text
        cdef Block last, block
        cdef Py_ssize_t home = self.place
        if not self.nodes or not (text := one_spaced("".join(self.parts))):
            return 0
        if self.tag[home] in ITEM_TAGS and letters_of(text) <= SHORT_ITEM:
            home = self.list_of(home)
            if home != self.place and self.blocks:
                last = self.blocks[-1]
                if last.container == home and len(last.text) <= FULL_BLOCK:
                    last.nodes += self.nodes
                    last.text = last.text + " " + text
                    last.link_chars += self.link_chars
                    last.items += 1
                    return 0
        block = Block.__new__(Block)
        block.container, block.nodes, block.text, block.link_chars, block.items = home, self.nodes, text, self.link_chars, 1
        self.blocks.append(block)
        return 0

    cdef Py_ssize_t list_of(self, Py_ssize_t item) except -1:
        cdef Py_ssize_t place = item
        while self.tag[place] in ITEM_TAGS:
            place = self.parent[place]
        return place if self.tag[place] in LIST_TAGS else item

    cdef int finish(self) except -1:
        cdef Py_ssize_t count = len(self.parent), i, place = 0
        cdef Block block
        self.last = [0] * count
        for block in self.blocks:
            place += 1
            self.last[block.container] = place
        for i in range(count - 1, 0, -1):
            up = self.parent[i]
            if self.last[i] > self.last[up]:
                self.last[up] = self.last[i]
        return 0


cdef Outline segment(body):
    cdef Outline out = Outline()
    cdef str data, tag
    cdef Py_ssize_t home
    out.homes[body] = 2 * out.open(body, "body", -1)
    for node in body.descendants:
        if type(node) is TEXT:
            data = node.data
            if is_blank(data):
                if out.nodes:
                    out.parts.append(" ")
                continue
            parent = node.parent
            found = out.homes.get(parent)
            home = out.find_home(parent) if found is None else found
            if home >> 1 != out.place:
                out.close()
                if len(out.blocks) >= MOST_BLOCKS or len(out.tag) >= MOST_CONTAINERS:
                    out.cut = True
                    drop_from(node, body)
                    break
                out.begin(home >> 1)
            out.nodes.append(node)
            out.parts.append(data)
            if home & 1:
                out.link_chars += len(data)
        elif out.nodes and type(node) is ELEMENT:
            tag = node.tag
            if tag == "br":
                out.parts.append(" ")
            elif tag not in INSIDE_LINES:
                out.close()
                out.begin(-1)
    if not out.cut:
        out.close()
    out.finish()
    return out


cdef bint is_blank(str text):
    cdef Py_UCS4 sign
    for sign in text:
        if not sign.isspace():
            return False
    return True


cdef str one_spaced(str text):
    """As " ".join(text.split()), which most texts need only at their ends."""
    cdef Py_ssize_t begin = 0, end = len(text), i
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    cdef bint spaced = False
    cdef Py_UCS4 sign
    while begin < end and PyUnicode_READ(kind, data, begin).isspace():
        begin += 1
    while end > begin and PyUnicode_READ(kind, data, end - 1).isspace():
        end -= 1
    for i in range(begin, end):
        sign = PyUnicode_READ(kind, data, i)
        if sign == u" " and not spaced:
            spaced = True
        elif sign.isspace():
            return " ".join(text.split()) if len(text) < LONG_TEXT else well_spaced(text)
        else:
            spaced = False
    return text[begin:end]


cdef int judge_list(str names, Tally *tally) except -1:
    """Add what an element's class names say; sites repeat their lists, so the answers are kept, but not without end."""
    cdef Tally own
    if len(names) > LONGEST_NAMES:
        names = names[:LONGEST_NAMES]
    found = known_lists.get(names)
    if found is None:
        own.mask, own.total, own.known = 0, 0.0, 0
        for name in names.split():
            judge_name(name, len(<str>name), &own)
        if len(known_lists) >= 20_000:
            known_lists.clear()
        found = known_lists[names] = (own.mask, own.total, own.known)
    tally.mask |= <long long>(<tuple>found)[0]
    tally.total += <double>(<tuple>found)[1]
    tally.known += <Py_ssize_t>(<tuple>found)[2]
    return 0


cdef int judge_name(str name, Py_ssize_t size, Tally *tally) except -1:
    """Add what the parts of one name say; words.PART cuts them alike."""
    cdef Py_ssize_t i = 0, begin
    cdef int kind = PyUnicode_KIND(name)
    cdef void *data = PyUnicode_DATA(name)
    cdef double weight, total = 0.0
    while i < size:
        begin = i
        while i < size and u"A" <= PyUnicode_READ(kind, data, i) <= u"Z":
            i += 1
        if i - begin > 1 and i < size and u"a" <= PyUnicode_READ(kind, data, i) <= u"z":
            i -= 1  # the last capital begins the next part
        elif i - begin <= 1:
            while i < size and u"a" <= PyUnicode_READ(kind, data, i) <= u"z":
                i += 1
        if i - begin <= 1:  # no letter, or one: none has a meaning
            i = max(i, begin + 1)
            continue
        part = name[begin:i]
        found = known_parts.get(part)
        if found is None:
            if len(known_parts) >= 50_000:
                known_parts.clear()
            found = known_parts[part] = judge_part(part)
        tally.mask |= <long long>(<tuple>found)[0]
        weight = (<tuple>found)[1]
        if weight:
            total += weight
            tally.known += 1
    tally.total += total
    return 0
