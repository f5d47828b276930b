# A block's text in numbers: shapes.py for the compiler.

cdef Known TONES = Known(learnt.TEXTS)


cdef int shape(Block block, str tag, Known title, double[:, ::1] v, Py_ssize_t row) except -1:
    """As features.text_features."""
    cdef str text = block.text, low
    cdef unsigned char narrow[LONGEST_HEAD]
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
    if PyUnicode_KIND(text) == 1:
        lower(<const unsigned char *>PyUnicode_DATA(text), end, narrow)
        say(1, narrow, end, title, v, row, count < LONGEST_TITLE)
    else:
        low = text[:end].lower()
        say(PyUnicode_KIND(low), PyUnicode_DATA(low), len(low), title, v, row, count < LONGEST_TITLE)
    return 0


cdef void lower(const unsigned char *text, Py_ssize_t end, unsigned char *low) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(end):
        low[i] = LOWERED[text[i]]


cdef double capitals(int kind, void *data, Py_ssize_t end):
    """The share of the words that are written like a name."""
    cdef Py_ssize_t i, begin = 0, capital = 0, words = 0
    for i in range(end + 1):
        if i == end or PyUnicode_READ(kind, data, i) == u" ":
            capital += is_title(kind, data, begin, i)
            begin = i + 1
            words += 1
    return <double>capital / words


cdef int say(int kind, void *data, Py_ssize_t end, Known title, double[:, ::1] v, Py_ssize_t row, bint short) except -1:
    """The weights of the words, and which of them the title has. A character of an unspaced script is a word."""
    cdef Py_ssize_t i, begin = 0, words = 0, known = 0, named = 0, slot
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
            if short:
                named += title.is_new(title.find(kind, data, begin, i, code), row)
            slot = TONES.find(kind, data, begin, i, code)
            if slot >= 0 and TONES.slots[slot].value:
                total += TONES.slots[slot].value
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
    cdef int traits
    cdef Py_UCS4 sign
    cdef Py_ssize_t i
    for i in range(begin, end):
        sign = PyUnicode_READ(kind, data, i)
        traits = TRAITS[<unsigned char>sign] if sign < 256 else UPPER if sign.isupper() or sign.istitle() else LOWER * sign.islower()
        if traits & UPPER:
            if inside:
                return False
            cased = inside = True
        elif traits & LOWER:
            if not inside:
                return False
            cased = inside = True
        else:
            inside = False
    return cased


cdef bint has_digit(str text):
    cdef Py_UCS4 sign
    for sign in text:
        if TRAITS[<unsigned char>sign] & DIGIT if sign < 256 else sign.isdecimal():
            return True
    return False
