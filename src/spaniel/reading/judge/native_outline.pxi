# The page cut into blocks, and the names of its containers: blocks.py and words.py for the compiler.

cdef struct Container:  # what is counted of one
    long long mask
    double weight
    Py_ssize_t parent, first, last
    Py_ssize_t look, kin  # numbers: of its tag and class names; of its parent and its look


cdef class Block:
    """As blocks.Block. Its nodes are in one list for all blocks."""

    cdef readonly Py_ssize_t container, link_chars, items
    cdef Py_ssize_t begin, end
    cdef list every
    cdef readonly str text

    @property
    def nodes(self):
        return self.every[self.begin : self.end]


cdef class Names:
    """The class names of some elements of a page: their number there, and what they say."""

    cdef Py_ssize_t number
    cdef Tally tally


cdef class Outline:
    """As blocks.Outline, with the run of text that is being gathered. What only the judge needs is in `box`."""

    cdef readonly list elements, parent, tag, mask, first, last, blocks
    cdef readonly bint cut
    cdef list classes  # of each container, as they are written
    cdef dict homes  # element -> twice its container, and one more inside a link
    cdef dict names, tags  # that the page has had, with their numbers
    cdef Numbering looks, kins
    cdef Container *box
    cdef Py_ssize_t *alike  # how many containers each kin has
    cdef Py_ssize_t room
    cdef list nodes, way  # all texts that are no blanks; elements on the way to a home
    cdef Py_ssize_t place, link_chars, begun  # of the run: its container, and its first node
    cdef str only  # its text, as long as there is but one
    cdef list parts
    cdef bint spaced  # whether a blank waits for the next text

    def __cinit__(self):
        self.elements, self.parent, self.tag, self.mask, self.classes = [], [], [], [], []
        self.first, self.last, self.blocks = [], [], []
        self.homes, self.names, self.tags = {}, {}, {}
        self.looks, self.kins = Numbering(), Numbering()
        self.nodes, self.parts, self.way = [], [], []

    def __dealloc__(self):
        free(self.box)
        free(self.alike)

    @property
    def kin(self):
        """As blocks.Outline has it, as the next two have."""
        return list(zip(self.parent, self.tag, self.classes))

    @property
    def twins(self):
        return {kin: self.alike[self.box[i].kin] for i, kin in enumerate(self.kin)}

    @property
    def weight(self):
        return [self.box[i].weight for i in range(len(self.tag))]

    cdef void begin(self, Py_ssize_t place):
        self.place, self.link_chars, self.begun, self.only, self.spaced = place, 0, len(self.nodes), None, False

    cdef int add(self, node, str data, bint linked) except -1:
        """Take a text into the run. Where blanks are and where elements end lines does not matter at its ends."""
        self.nodes.append(node)
        if self.only is None:
            self.only = data
        else:
            if not self.parts:
                self.parts.append(self.only)
            if self.spaced:
                self.parts.append(" ")
            self.parts.append(data)
        self.spaced = False
        if linked:
            self.link_chars += len(data)
        return 0

    cdef int widen(self) except -1:
        """Allocate more containers."""
        cdef Py_ssize_t room = 2 * self.room or 256
        cdef Container *box = <Container *>realloc(self.box, room * sizeof(Container))
        cdef Py_ssize_t *alike
        if box == NULL:
            raise MemoryError
        self.box = box
        alike = <Py_ssize_t *>realloc(self.alike, room * sizeof(Py_ssize_t))
        if alike == NULL:
            raise MemoryError
        memset(alike + self.room, 0, (room - self.room) * sizeof(Py_ssize_t))
        self.alike, self.room = alike, room
        return 0

    cdef Names names_of(self, str classes):
        cdef Names names
        found = self.names.get(classes)
        if found is not None:
            return found
        names = Names.__new__(Names)
        names.number = len(self.names)
        if classes:
            judge_list(classes, &names.tally)
        self.names[classes] = names
        return names

    cdef Py_ssize_t open(self, element, str tag, Py_ssize_t parent) except -1:
        cdef Py_ssize_t place = len(self.tag)
        cdef str classes = ATTRIBUTE(element, "class") or ""
        cdef object ident = ATTRIBUTE(element, "id")
        cdef Names names = self.names_of(classes)
        cdef Tally tally = names.tally
        cdef Container *box
        if place >= self.room:
            self.widen()
        if ident:
            judge_name(ident, min(len(<str>ident), LONGEST_NAMES), &tally)
        number = self.tags.get(tag)
        if number is None:
            number = self.tags[tag] = len(self.tags)
        box = &self.box[place]
        box.parent, box.first, box.last, box.mask = parent, len(self.blocks), 0, tally.mask
        box.weight = tally.total / tally.known if tally.known else 0.0
        box.look = self.looks.of(number, names.number)
        box.kin = self.kins.of(parent, box.look)
        self.alike[box.kin] += 1
        self.tag.append(tag)
        self.classes.append(classes)
        self.elements.append(element)
        self.parent.append(parent)
        self.mask.append(tally.mask)
        self.first.append(box.first)
        return place

    cdef Py_ssize_t find_home(self, element) except -1:
        cdef list way = self.way
        cdef str tag
        cdef Py_ssize_t home
        found = self.homes.get(element)
        while found is None:
            way.append(element)
            element = PARENT.get(element, PARENT.closure)
            found = self.homes.get(element)
        home = found
        for inner in reversed(way):
            tag = TAG_OF.get(inner, TAG_OF.closure) if type(inner) is ELEMENT else inner.tag
            if tag not in INSIDE_LINES and (tag in BETWEEN_LINES or not is_inline(inner)):
                home = 2 * self.open(inner, tag, home >> 1) + (home & 1)
            elif tag == "a":
                home |= 1
            self.homes[inner] = home
        way.clear()
        return home

    cdef int close(self) except -1:
        """End the run of text. Short items of one list join."""
        cdef str text
        cdef Block last, block
        cdef Py_ssize_t home = self.place
        if self.only is None:
            return 0
        if self.parts:
            text = collapse_spaces("".join(self.parts))
            self.parts.clear()
        else:
            text = collapse_spaces(self.only)
        self.only = None
        if self.tag[home] in ITEM_TAGS and letters_of(text) <= SHORT_ITEM:
            home = self.list_of(home)
            if home != self.place and self.blocks:
                last = self.blocks[-1]
                if last.container == home and len(last.text) <= FULL_BLOCK:
                    last.end = len(self.nodes)
                    last.text = last.text + " " + text
                    last.link_chars += self.link_chars
                    last.items += 1
                    return 0
        block = Block.__new__(Block)
        block.container, block.text, block.link_chars, block.items = home, text, self.link_chars, 1
        block.every, block.begin, block.end = self.nodes, self.begun, len(self.nodes)
        self.blocks.append(block)
        return 0

    cdef Py_ssize_t list_of(self, Py_ssize_t item) except -1:
        cdef Py_ssize_t place = item
        while self.tag[place] in ITEM_TAGS:
            place = self.parent[place]
        return place if self.tag[place] in LIST_TAGS else item

    cdef int finish(self) except -1:
        cdef Py_ssize_t i, place = 0
        cdef Block block
        cdef Container *box = self.box
        for block in self.blocks:
            place += 1
            box[block.container].last = place
        for i in range(len(self.tag) - 1, 0, -1):
            if box[i].last > box[box[i].parent].last:
                box[box[i].parent].last = box[i].last
        self.last = [box[i].last for i in range(len(self.tag))]
        return 0


cdef Outline segment(body):
    cdef Outline out = Outline()
    cdef str data, tag
    cdef Py_ssize_t home = 0
    cdef object parent, above = None
    out.homes[body] = 2 * out.open(body, "body", -1)
    for node in body.descendants:
        if type(node) is TEXT:
            data = DATA.get(node, DATA.closure)
            if is_blank(data):
                out.spaced = True
                continue
            parent = PARENT.get(node, PARENT.closure)
            if parent is not above:  # texts of one element often follow each other
                found = out.homes.get(parent)
                home = out.find_home(parent) if found is None else found
                above = parent
            if home >> 1 != out.place:
                out.close()
                if len(out.blocks) >= MOST_BLOCKS or len(out.tag) >= MOST_CONTAINERS:
                    out.cut = True
                    drop_from(node, body)
                    break
                out.begin(home >> 1)
            out.add(node, data, home & 1)
        elif out.only is not None and type(node) is ELEMENT:
            tag = TAG_OF.get(node, TAG_OF.closure)
            if tag == "br":
                out.spaced = True
            elif tag not in INSIDE_LINES and (tag in BETWEEN_LINES or not is_inline(node)):
                out.close()
                out.begin(-1)
    if not out.cut:
        out.close()
    out.finish()
    return out


cdef bint is_blank(str text):
    cdef Py_UCS4 sign
    for sign in text:
        if not is_blank_sign(sign):
            return False
    return True


cdef str collapse_spaces(str text):
    """As " ".join(text.split()), which most texts need only at their ends."""
    cdef Py_ssize_t begin = 0, end = len(text), i
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    cdef bint spaced = False
    cdef Py_UCS4 sign
    while begin < end and is_blank_sign(PyUnicode_READ(kind, data, begin)):
        begin += 1
    while end > begin and is_blank_sign(PyUnicode_READ(kind, data, end - 1)):
        end -= 1
    for i in range(begin, end):
        sign = PyUnicode_READ(kind, data, i)
        if sign == u" " and not spaced:
            spaced = True
        elif is_blank_sign(sign):
            return " ".join(text.split()) if len(text) < LONG_TEXT else collapse_long(text)
        else:
            spaced = False
    return text[begin:end]
