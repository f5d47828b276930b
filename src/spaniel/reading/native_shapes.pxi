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

    cdef bint is_new(self, Py_ssize_t slot, Py_ssize_t block):
        """Whether there is such a word, and this block had it not before."""
        if slot < 0 or self.last[slot] == block:
            return False
        self.last[slot] = block
        return True


cdef Known TONES = Known(learnt.TEXTS)


cdef int shape(Block block, str tag, Known title, double[:, ::1] v, Py_ssize_t row) except -1:
    """As shapes.shape."""
    cdef str text = block.text
    cdef Py_ssize_t size = len(text), chars, count, end = min(size, HEAD)
    cdef double linked = <double>block.link_chars / size if block.link_chars < size else 1.0
    cdef Py_UCS4 last = text[size - 1]
    cdef int level = LEVELS.get(tag, 0)
    cdef Signs signs = signs_of(text)
    chars, count = size + 2 * signs.wide, signs.spaces + 1 + more_words(signs.wide, signs.close)
    v[row, WORDS], v[row, CHARS], v[row, LINKED], v[row, LEVEL] = count, chars, linked, level
    v[row, ENDING] = 3 if last in ENDING_SIGNS else 2 if last in COLON_SIGNS else 1 if last in LEADING_ON else 0
    v[row, GOOD] = linked < MOST_LINKED and not level and (
        count >= LONG_WORDS * block.items or chars > LONG_LETTERS * block.items
    )
    v[row, CAPS] = capitals(PyUnicode_KIND(text), PyUnicode_DATA(text), end)
    say(text[:end].lower(), title, v, row, count < LONGEST_TITLE)
    return 0


cdef double capitals(int kind, void *data, Py_ssize_t end):
    """The share of the words that are written like a name."""
    cdef Py_ssize_t i, begin = 0, capital = 0, words = 0
    for i in range(end + 1):
        if i == end or PyUnicode_READ(kind, data, i) == u" ":
            capital += is_title(kind, data, begin, i)
            begin = i + 1
            words += 1
    return <double>capital / words


cdef int say(str low, Known title, double[:, ::1] v, Py_ssize_t row, bint short) except -1:
    """What the words mean, and which of them the title has. A sign of an unspaced script is a word of its own."""
    cdef Py_ssize_t i, begin = 0, end = len(low), words = 0, known = 0, named = 0
    cdef int kind = PyUnicode_KIND(low)
    cdef void *data = PyUnicode_DATA(low)
    cdef unsigned long long code = START_OF_HASH
    cdef double total = 0.0
    cdef Py_UCS4 sign
    cdef bint alone = False
    for i in range(end + 1):
        sign = u" " if i == end else PyUnicode_READ(kind, data, i)
        if sign != u" " and not alone:
            alone = sign >= FIRST_SIGN and script_of(sign) > 0
            if not alone or i == begin:
                code = (code ^ <unsigned long long>sign) * HASH_FACTOR
                continue
        if i > begin:
            words += 1
            named += title.is_new(title.find(kind, data, begin, i, code), row)
            slot = TONES.find(kind, data, begin, i, code)
            if slot >= 0 and TONES.values[slot]:
                total += TONES.values[slot]
                known += 1
        begin, code = i, START_OF_HASH
        if sign == u" ":
            begin, alone = i + 1, False
        else:
            alone = sign >= FIRST_SIGN and script_of(sign) > 0
            code = (code ^ <unsigned long long>sign) * HASH_FACTOR
    v[row, TONE] = total / known if known else 0.0
    v[row, TITLE] = <double>named / words if short else 0.0
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
