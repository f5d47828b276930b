# Tags and formatting elements of a page that is not parsed yet: budgets.count_tags for the compiler.

cdef bint is_space(unsigned char sign) noexcept nogil:
    return sign == 32 or sign == 9 or sign == 10 or sign == 12 or sign == 13


cdef Py_ssize_t name_here(const unsigned char *at, const unsigned char *end, unsigned char *name) noexcept nogil:
    """The length of the name of a tag that stands here, in small letters in `name`; zero for a long one."""
    cdef Py_ssize_t size = 0
    while size < 7 and at + size < end and (at[size] | 32) >= 97 and (at[size] | 32) <= 122:
        name[size] = at[size] | 32
        size += 1
    if at + size >= end or not (is_space(at[size]) or at[size] == 47 or at[size] == 62):
        return 0
    return size


cdef bint is_formatting(const unsigned char *name, Py_ssize_t size) noexcept nogil:
    if size == 1:
        return name[0] == 98 or name[0] == 105 or name[0] == 115 or name[0] == 117  # b i s u
    if size == 2:
        return memcmp(name, b"em", 2) == 0 or memcmp(name, b"tt", 2) == 0
    if size == 3:
        return memcmp(name, b"big", 3) == 0
    if size == 4:
        return memcmp(name, b"code", 4) == 0 or memcmp(name, b"font", 4) == 0 or memcmp(name, b"nobr", 4) == 0
    if size == 5:
        return memcmp(name, b"small", 5) == 0
    return size == 6 and (memcmp(name, b"strike", 6) == 0 or memcmp(name, b"strong", 6) == 0)


cdef bint is_simple(const unsigned char *name, Py_ssize_t size) noexcept nogil:
    if size == 1:
        return name[0] == 97  # a
    if size == 3:
        return memcmp(name, b"sub", 3) == 0 or memcmp(name, b"sup", 3) == 0
    return size == 4 and memcmp(name, b"span", 4) == 0


cdef bint is_void(const unsigned char *name, Py_ssize_t size) noexcept nogil:
    if size == 2:
        return memcmp(name, b"br", 2) == 0
    return size == 3 and (memcmp(name, b"img", 3) == 0 or memcmp(name, b"wbr", 3) == 0)


cdef bint ends_in(const unsigned char *begin, const unsigned char *at, const char *name, Py_ssize_t size) noexcept nogil:
    """Whether this name, in small letters, stands right before a place, in letters of any size."""
    cdef Py_ssize_t i
    if at - begin < size:
        return False
    for i in range(size):
        if (at[i - size] | 32) != <unsigned char>name[i]:
            return False
    return True


cdef bint begins_with(const unsigned char *at, const unsigned char *end, const char *word, Py_ssize_t size) noexcept nogil:
    return ends_in(at, at + size, word, size) if end - at >= size else False


cdef int value_tells(const unsigned char *at, const unsigned char *end) noexcept nogil:
    """What the words in the value of an attribute speak of, in the bits of metadata/dates.py."""
    cdef int found = 0
    cdef unsigned char sign
    while at < end:
        sign = at[0] | 32
        if sign == 112:  # p
            if begins_with(at, end, b"publish", 7) or begins_with(at, end, b"posted", 6):
                found |= TELLS_NAMED
        elif sign == 100:  # d
            if begins_with(at, end, b"date", 4):
                found |= TELLS_NAMED | TELLS_DATED
        elif sign == 98:  # b
            if begins_with(at, end, b"byline", 6):
                found |= TELLS_NAMED | TELLS_SIGNED
        elif sign == 109:  # m
            if begins_with(at, end, b"meta", 4):
                found |= TELLS_NAMED
        elif sign == 97:  # a
            if begins_with(at, end, b"author", 6):
                found |= TELLS_SIGNED
        elif at[0] == 38:  # & may be any letter
            return TELLS_ANY
        at += 1
    return found


def attributes_in(bytes source):
    """The bits of metadata/dates.py. What is text or script may be taken for an attribute, but no attribute for text."""
    cdef const unsigned char *begin = source
    cdef const unsigned char *at = begin
    cdef const unsigned char *end = begin + len(source)
    cdef const unsigned char *name
    cdef const unsigned char *stop
    cdef int found = 0, wanted
    if memchr(begin, 27, len(source)) != NULL:  # in ISO-2022-JP an escape may stand between the letters of a word
        return TELLS_ANY
    while found != TELLS_ANY:
        at = <const unsigned char *>memchr(at, 61, end - at)  # =
        if at == NULL:
            break
        name = at
        at += 1
        while name > begin and is_space(name[-1]):
            name -= 1
        if ends_in(begin, name, b"class", 5):
            wanted = TELLS_NAMED | TELLS_SIGNED
        elif ends_in(begin, name, b"itemprop", 8):
            wanted = TELLS_SIGNED | TELLS_DATED
        elif ends_in(begin, name, b"rel", 3):
            wanted = TELLS_SIGNED
        else:
            continue
        if not wanted & ~found:
            continue
        name = at
        while name < end and is_space(name[0]):
            name += 1
        if name < end and (name[0] == 34 or name[0] == 39):
            stop = <const unsigned char *>memchr(name + 1, name[0], end - name - 1)
        else:
            stop = name
            while stop < end and stop - name <= LONGEST_VALUE and not is_space(stop[0]) and stop[0] != 62:
                stop += 1
        if stop == NULL or stop - name > LONGEST_VALUE:  # whatever it is, looking into many such would take long
            return TELLS_ANY
        found |= value_tells(name, stop) & wanted
    return found


cdef const unsigned char *plain_rest(const unsigned char *at, const unsigned char *end) noexcept nogil:
    """Where a plain tag ends, from the end of its name, or nowhere."""
    cdef const unsigned char *value
    cdef unsigned char quote
    while at < end:
        if is_space(at[0]) or at[0] == 47:  # /
            at += 1
            continue
        if at[0] == 62:  # >
            return at + 1
        if is_special(at[0]):
            return NULL
        while at < end and not (is_space(at[0]) or at[0] == 47 or at[0] == 62 or is_special(at[0])):
            at += 1
        value = at
        while value < end and is_space(value[0]):
            value += 1
        if value >= end or value[0] != 61:  # =
            continue
        value += 1
        while value < end and is_space(value[0]):
            value += 1
        if value >= end:
            return NULL
        quote = value[0]
        at = value
        if quote == 34 or quote == 39:
            at += 1
            while at < end and at[0] != quote and at[0] != 60:
                at += 1
            if at >= end or at[0] != quote:
                return NULL
            at += 1
            continue
        while at < end and not (is_space(at[0]) or at[0] == 62 or is_special(at[0])):
            at += 1
        if at == value:
            return NULL
    return NULL


cdef bint is_special(unsigned char sign) noexcept nogil:
    return sign == 60 or sign == 34 or sign == 39 or sign == 61  # < " ' =


cdef const unsigned char *closing(
    const unsigned char *at, const unsigned char *name, Py_ssize_t size, const unsigned char *end
) noexcept nogil:
    """Where the end tag that stands here ends, if it is one of this name, or nowhere."""
    cdef Py_ssize_t i
    if end - at < size + 3 or at[0] != 60 or at[1] != 47:
        return NULL
    at += 2
    for i in range(size):
        if (at[i] | 32) != name[i]:
            return NULL
    at += size
    while at < end and is_space(at[0]):
        at += 1
    return at + 1 if at < end and at[0] == 62 else NULL


cdef const unsigned char *next_tag(const unsigned char *at, const unsigned char *end) noexcept nogil:
    return <const unsigned char *>memchr(at, 60, end - at)


cdef const unsigned char *closed(
    const unsigned char *at, const unsigned char *name, Py_ssize_t size, const unsigned char *end
) noexcept nogil:
    """Where the element whose name stands here ends, if nothing but text and simple elements is in it, or nowhere."""
    cdef unsigned char inner[8]
    cdef Py_ssize_t length
    cdef const unsigned char *found
    at = plain_rest(at + size, end)
    while at != NULL:
        at = next_tag(at, end)
        if at == NULL:
            return NULL
        if at + 1 < end and at[1] == 47:
            return closing(at, name, size, end)
        length = name_here(at + 1, end, inner)
        found = plain_rest(at + 1 + length, end) if length else NULL
        if found != NULL and not is_void(inner, length):
            if not is_formatting(inner, length) and not is_simple(inner, length):
                return NULL
            found = next_tag(found, end)
            if found != NULL:
                found = closing(found, inner, length, end)
        at = found
    return NULL


def count_tags(bytes body):
    """As parse.python_count_tags."""
    cdef const unsigned char *at = body
    cdef const unsigned char *end = at + len(body)
    cdef const unsigned char *after
    cdef unsigned char name[8]
    cdef Py_ssize_t tags = 0, left_open = 0, reopened = 0, size
    while True:
        at = next_tag(at, end)
        if at == NULL:
            return tags, reopened
        at += 1
        after = NULL
        if left_open < DEEPEST_OPEN:
            size = name_here(at, end, name)
            if size and is_formatting(name, size):
                after = closed(at, name, size, end)
                if after == NULL:
                    left_open += 1
        while True:  # the tag itself, and those inside an element that is closed
            tags += 1
            reopened += left_open
            if after == NULL:
                break
            at = next_tag(at, end)
            if at == NULL or at >= after:
                at = after
                break
            at += 1
