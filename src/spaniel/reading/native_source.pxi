# Tags and formatting elements of a page that is not parsed yet: budgets.count_tags for the compiler.

cdef bint is_space(unsigned char sign) noexcept nogil:
    return sign == 32 or sign == 9 or sign == 10 or sign == 12 or sign == 13


cdef Py_ssize_t formatting_name(const unsigned char *at, const unsigned char *end) noexcept nogil:
    """The length of the name of a formatting element that stands here, or nought."""
    cdef unsigned char name[8]
    cdef Py_ssize_t size = 0
    while size < 7 and at + size < end and (at[size] | 32) >= 97 and (at[size] | 32) <= 122:
        name[size] = at[size] | 32
        size += 1
    if at + size >= end or not (is_space(at[size]) or at[size] == 47 or at[size] == 62):
        return 0
    if size == 1:
        return name[0] == 98 or name[0] == 105 or name[0] == 115 or name[0] == 117  # b i s u
    if size == 2:
        return 2 * (memcmp(name, b"em", 2) == 0 or memcmp(name, b"tt", 2) == 0)
    if size == 3:
        return 3 * (memcmp(name, b"big", 3) == 0)
    if size == 4:
        return 4 * (memcmp(name, b"code", 4) == 0 or memcmp(name, b"font", 4) == 0 or memcmp(name, b"nobr", 4) == 0)
    if size == 5:
        return 5 * (memcmp(name, b"small", 5) == 0)
    if size == 6:
        return 6 * (memcmp(name, b"strike", 6) == 0 or memcmp(name, b"strong", 6) == 0)
    return 0


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


cdef bint is_closed(const unsigned char *name, Py_ssize_t size, const unsigned char *end) noexcept nogil:
    """Whether the element whose name stands here is closed by the next tag."""
    cdef const unsigned char *at = plain_rest(name + size, end)
    cdef Py_ssize_t i
    if at == NULL:
        return False
    at = <const unsigned char *>memchr(at, 60, end - at)
    if at == NULL or end - at < size + 3 or at[1] != 47:
        return False
    at += 2
    for i in range(size):
        if (at[i] | 32) != (name[i] | 32):
            return False
    at += size
    while at < end and is_space(at[0]):
        at += 1
    return at < end and at[0] == 62


def count_tags(bytes body):
    """As budgets.count_tags."""
    cdef const unsigned char *at = body
    cdef const unsigned char *end = at + len(body)
    cdef Py_ssize_t tags = 0, left_open = 0, size
    while at < end:
        at = <const unsigned char *>memchr(at, 60, end - at)
        if at == NULL:
            break
        at += 1
        tags += 1
        size = formatting_name(at, end)
        if size and not is_closed(at, size, end):
            left_open += 1
    return tags, left_open
