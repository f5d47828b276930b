# A block's text in numbers: shapes.py for the compiler.

cdef class Known:
    """Words with a number each, looked up where they stand in a text: no word of it is made into an object."""

    cdef unsigned long long *hashes
    cdef double *values
    cdef Py_ssize_t *last  # the block that had the word last
    cdef list words
    cdef Py_ssize_t room

    def __cinit__(self, words):
        cdef Py_ssize_t size = 16, slot
        cdef str word
        cdef unsigned long long code
        cdef Py_UCS4 sign
        while size < 3 * len(words):
            size *= 2
        self.hashes = <unsigned long long *>calloc(size, sizeof(unsigned long long))
        self.values = <double *>calloc(size, sizeof(double))
        self.last = <Py_ssize_t *>calloc(size, sizeof(Py_ssize_t))
        if self.hashes == NULL or self.values == NULL or self.last == NULL:
            raise MemoryError
        self.room, self.words = size - 1, [None] * size
        for word, value in words.items():
            code = START_OF_HASH
            for sign in word:
                code = (code ^ <unsigned long long>sign) * HASH_FACTOR
            slot = code & self.room
            while self.hashes[slot]:
                slot = (slot + 1) & self.room
            self.hashes[slot], self.values[slot], self.last[slot], self.words[slot] = code or 1, value, -1, word

    def __dealloc__(self):
        free(self.hashes)
        free(self.values)
        free(self.last)

    cdef Py_ssize_t find(self, int kind, void *data, Py_ssize_t begin, Py_ssize_t end, unsigned long long code):
        """The slot of a word, or -1."""
        cdef Py_ssize_t slot = code & self.room, i
        cdef str word
        while self.hashes[slot]:
            if self.hashes[slot] == (code or 1):
                word = <str>self.words[slot]
                if len(word) == end - begin:
                    i = begin
                    while i < end and PyUnicode_READ(kind, data, i) == PyUnicode_READ_CHAR(word, i - begin):
                        i += 1
                    if i == end:
                        return slot
            slot = (slot + 1) & self.room
        return -1


cdef Known TONES = Known(learnt.TEXTS)


cdef int shape(Block block, str tag, Known title, double[:, ::1] v, Py_ssize_t row) except -1:
    """As shapes.shape."""
    cdef str text = block.text, low
    cdef Py_ssize_t chars = len(text), spaces = 0, capital = 0, words = 0, known = 0, begin = 0, end = min(chars, HEAD), i, slot
    cdef Py_ssize_t named = 0
    cdef unsigned long long code = START_OF_HASH
    cdef double total = 0.0, linked = <double>block.link_chars / chars if block.link_chars < chars else 1.0
    cdef Py_UCS4 sign, last = text[chars - 1]
    cdef int level = LEVELS.get(tag, 0)
    cdef int kind = PyUnicode_KIND(text)
    cdef void *data = PyUnicode_DATA(text)
    for sign in text:
        spaces += sign == u" "
    for i in range(end + 1):
        if i == end or PyUnicode_READ(kind, data, i) == u" ":
            capital += is_title(kind, data, begin, i)
            begin = i + 1
            words += 1
    low, begin = text[:end].lower(), 0
    kind, data, end = PyUnicode_KIND(low), PyUnicode_DATA(low), len(low)
    for i in range(end + 1):
        if i == end or PyUnicode_READ(kind, data, i) == u" ":
            slot = title.find(kind, data, begin, i, code)
            if slot >= 0 and title.last[slot] != row:
                title.last[slot] = row
                named += 1
            slot = TONES.find(kind, data, begin, i, code)
            if slot >= 0 and TONES.values[slot]:
                total += TONES.values[slot]
                known += 1
            begin, code = i + 1, START_OF_HASH
        else:
            code = (code ^ <unsigned long long>PyUnicode_READ(kind, data, i)) * HASH_FACTOR
    v[row, WORDS], v[row, CHARS], v[row, LINKED], v[row, LEVEL] = spaces + 1, chars, linked, level
    v[row, ENDING] = 3 if last in ENDING_SIGNS else 2 if last == u":" else 1 if last in LEADING_ON else 0
    v[row, GOOD] = linked < 0.4 and (spaces + 1 >= 15 * block.items or chars > 120 * block.items) and not level
    v[row, CAPS] = <double>capital / words
    v[row, TONE] = total / known if known else 0.0
    v[row, TITLE] = <double>named / words if spaces < 39 else 0.0
    return 0


cdef bint is_title(int kind, void *data, Py_ssize_t begin, Py_ssize_t end):
    """As str.istitle of a part of a text."""
    cdef bint cased = False, inside = False
    cdef Py_UCS4 sign
    cdef Py_ssize_t i
    for i in range(begin, end):
        sign = PyUnicode_READ(kind, data, i)
        if sign.isupper() or sign.istitle():
            if inside:
                return False
            cased = inside = True
        elif sign.islower():
            if not inside:
                return False
            cased = inside = True
        else:
            inside = False
    return cased


cdef bint has_digit(str text):
    cdef Py_UCS4 sign
    for sign in text:
        if sign.isdecimal():
            return True
    return False
