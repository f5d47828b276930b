# Scripts without blanks between words: scripts.py for the compiler.

cdef struct Signs:
    Py_ssize_t spaces, wide, close


cdef int script_of(Py_UCS4 sign) noexcept nogil:
    """2 for a character of a wide script, 1 for one of a close script, else 0."""
    cdef int i
    if sign < FIRST_SIGN:
        return 0
    for i in range(WIDE_COUNT):
        if WIDE_FROM[i] <= sign <= WIDE_TO[i]:
            return 2
    for i in range(CLOSE_COUNT):
        if CLOSE_FROM[i] <= sign <= CLOSE_TO[i]:
            return 1
    return 0


cdef inline bint is_blank_sign(Py_UCS4 sign):
    return TRAITS[<unsigned char>sign] & BLANK if sign < 256 else sign.isspace()


cdef Signs signs_of(str text):
    cdef Signs found
    cdef Py_UCS4 sign
    cdef int script
    cdef Py_ssize_t i, spaces = 0, size = len(text)
    cdef const unsigned char *narrow
    found.spaces = found.wide = found.close = 0
    if PyUnicode_KIND(text) == 1:
        narrow = <const unsigned char *>PyUnicode_DATA(text)
        for i in range(size):
            spaces += narrow[i] == 32
        found.spaces = spaces
        return found
    for sign in text:
        if sign == u" ":
            found.spaces += 1
        elif sign >= FIRST_SIGN:
            script = script_of(sign)
            found.wide += script == 2
            found.close += script == 1
    return found


cdef Py_ssize_t more_words(Py_ssize_t wide, Py_ssize_t close) noexcept nogil:
    return max(0, 2 * wide + close - 2) // 4


cdef Py_ssize_t letters_of(str text):
    """As words.measure_text(text)[1]."""
    return len(text) if PyUnicode_KIND(text) == 1 else len(text) + 2 * signs_of(text).wide


def count_words(str text):
    """As words.count_words."""
    cdef Py_ssize_t words = 0, wide = 0, close = 0
    cdef bint inside = False
    cdef Py_UCS4 sign
    cdef int script
    cdef Py_ssize_t i, size = len(text)
    cdef const unsigned char *narrow
    if PyUnicode_KIND(text) == 1:
        narrow = <const unsigned char *>PyUnicode_DATA(text)
        for i in range(size):
            if TRAITS[narrow[i]] & BLANK:
                inside = False
            else:
                words += not inside
                inside = True
        return words
    for sign in text:
        if is_blank_sign(sign):
            inside = False
            continue
        if not inside:
            inside = True
            words += 1
        if sign >= FIRST_SIGN:
            script = script_of(sign)
            wide += script == 2
            close += script == 1
    return words + more_words(wide, close)


DEF MOST_STEMS = 512


def stem_places(bytes page, tuple stems):
    """As walls.python_stem_places."""
    cdef const unsigned char *data = page
    cdef const unsigned char *stem[MOST_STEMS]
    cdef Py_ssize_t sizes[MOST_STEMS]
    cdef int following[MOST_STEMS]  # the next stem with the same first byte
    cdef int first[256]
    cdef Py_ssize_t i, size = len(page), count = len(stems)
    cdef int one
    cdef bytes text
    if count > MOST_STEMS:
        raise ValueError("too many stems")
    for i in range(256):
        first[i] = -1
    for i in range(count - 1, -1, -1):
        text = stems[i]
        if not text:
            raise ValueError("an empty stem")
        stem[i], sizes[i] = text, len(text)
        following[i] = first[stem[i][0]]
        first[stem[i][0]] = <int>i
    found = []
    for i in range(size):
        one = first[data[i]]
        while one >= 0:
            if sizes[one] <= size - i and memcmp(data + i, stem[one], sizes[one]) == 0:
                found.append((i, one))
            one = following[one]
    return found
