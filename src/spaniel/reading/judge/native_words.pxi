# Words and names, looked up where they stand in a text: words.py for the compiler.

cdef struct Tally:  # of the parts of names
    long long mask
    double total
    Py_ssize_t known


cdef struct Slot:  # all of a word in one line of the processor's cache: one that is far away takes longer than all else
    unsigned int upper  # half of its hash, never nought
    int size  # of its letters, if they are of Latin-1 and few
    double value
    long long bits  # of groups
    Py_ssize_t last  # the block that had the word last
    unsigned char letters[32]


cdef class Known:
    """Words with a number each, looked up where they stand in a text: no word of it is made into an object."""

    cdef Slot *slots
    cdef list words
    cdef Py_ssize_t room

    def __cinit__(self, words):
        cdef Py_ssize_t size = 16, slot
        cdef str word
        cdef unsigned long long code
        cdef Py_UCS4 sign
        cdef Slot *found
        while size < 2 * len(words):
            size *= 2
        self.slots = <Slot *>calloc(size, sizeof(Slot))
        if self.slots == NULL:
            raise MemoryError
        self.room, self.words = size - 1, [None] * size
        for word, value in words.items():
            code = START_OF_HASH
            for sign in word:
                code = (code ^ <unsigned long long>sign) * HASH_FACTOR
            slot = code & self.room
            while self.slots[slot].upper:
                slot = (slot + 1) & self.room
            found = &self.slots[slot]
            found.upper, found.value, found.last, self.words[slot] = <unsigned int>(code >> 32) | 1, value, -1, word
            if PyUnicode_KIND(word) == 1 and len(word) <= sizeof(found.letters):
                found.size = len(word)
                memcpy(found.letters, PyUnicode_DATA(word), found.size)

    def __dealloc__(self):
        free(self.slots)

    cdef Py_ssize_t find(self, int kind, void *data, Py_ssize_t begin, Py_ssize_t end, unsigned long long code):
        """The slot of a word, or -1."""
        cdef Py_ssize_t slot = code & self.room, i
        cdef unsigned int upper = <unsigned int>(code >> 32) | 1
        cdef str word
        while self.slots[slot].upper:
            if self.slots[slot].upper == upper:
                if kind == 1 and self.slots[slot].size:
                    if self.slots[slot].size == end - begin and not memcmp(
                        self.slots[slot].letters, <unsigned char *>data + begin, end - begin
                    ):
                        return slot
                    slot = (slot + 1) & self.room
                    continue
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
        if slot < 0 or self.slots[slot].last == block:
            return False
        self.slots[slot].last = block
        return True


cdef class Numbering:
    """Gives each pair of numbers that is new the next number, from zero."""

    cdef unsigned long long *keys
    cdef Py_ssize_t *numbers
    cdef Py_ssize_t room, known

    def __cinit__(self):
        self.room = 127
        self.take()

    def __dealloc__(self):
        free(self.keys)
        free(self.numbers)

    cdef int take(self) except -1:
        self.keys = <unsigned long long *>calloc(self.room + 1, sizeof(unsigned long long))
        self.numbers = <Py_ssize_t *>calloc(self.room + 1, sizeof(Py_ssize_t))
        if self.keys == NULL or self.numbers == NULL:
            raise MemoryError
        return 0

    cdef Py_ssize_t slot_of(self, unsigned long long key):
        """Where it is, or would be."""
        cdef Py_ssize_t slot = (key * SPREAD >> 40) & self.room
        while self.keys[slot] and self.keys[slot] != key:
            slot = (slot + 1) & self.room
        return slot

    cdef Py_ssize_t of(self, Py_ssize_t first, Py_ssize_t second) except -1:
        cdef unsigned long long key = <unsigned long long>(first + 2) << 32 | <unsigned long long>(second + 2)
        cdef Py_ssize_t slot = self.slot_of(key)
        if not self.keys[slot]:
            if 2 * self.known > self.room:
                self.grow()
                slot = self.slot_of(key)
            self.keys[slot], self.numbers[slot] = key, self.known
            self.known += 1
        return self.numbers[slot]

    cdef int grow(self) except -1:
        cdef unsigned long long *keys = self.keys
        cdef Py_ssize_t *numbers = self.numbers
        cdef Py_ssize_t old = self.room, i, slot
        self.room = 2 * old + 1
        try:
            self.take()
            for i in range(old + 1):
                if keys[i]:
                    slot = self.slot_of(keys[i])
                    self.keys[slot], self.numbers[slot] = keys[i], numbers[i]
        finally:
            free(keys)
            free(numbers)
        return 0


cdef Known known_names():
    """Every word that means something in a name, with its learnt weight and the bits of its groups."""
    cdef dict groups = word_groups()
    cdef Known found = Known({**dict.fromkeys(groups, 0.0), **learnt.NAMES})
    cdef Py_ssize_t slot
    for slot in range(found.room + 1):
        if found.slots[slot].upper:
            found.slots[slot].bits = groups.get(found.words[slot], 0)
    return found


cdef Known NAME_WORDS = known_names(), HEADS = Known(dict.fromkeys(affixes()[0], 0.0)), TAILS = Known(dict.fromkeys(affixes()[1], 0.0))


cdef int judge_list(str names, Tally *tally) except -1:
    """What an element's class names say; sites repeat their lists, so the answers are kept, but not without end."""
    if len(names) > LONGEST_NAMES:
        names = names[:LONGEST_NAMES]
    found = known_lists.get(names)
    if found is None:
        tally.mask, tally.total, tally.known = 0, 0.0, 0
        for name in names.split():
            judge_name(name, len(<str>name), tally)
        if len(known_lists) >= 20_000:
            known_lists.clear()
        known_lists[names] = (tally.mask, tally.total, tally.known)
        return 0
    tally.mask, tally.total, tally.known = (<tuple>found)[0], (<tuple>found)[1], (<tuple>found)[2]
    return 0


cdef int judge_name(str name, Py_ssize_t size, Tally *tally) except -1:
    """Add what the parts of one name say; class_names.NAME_PART splits them alike."""
    cdef Py_ssize_t i = 0, begin, place
    cdef int kind = PyUnicode_KIND(name)
    cdef void *data = PyUnicode_DATA(name)
    cdef double weight, total = 0.0
    cdef unsigned char low[LONGEST_PART]
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
        if i - begin > LONGEST_PART:
            raise ValueError("a name was not cut")
        for place in range(begin, i):
            low[place - begin] = <unsigned char>(<unsigned int>PyUnicode_READ(kind, data, place) | 32)
        weight = judge_part(low, i - begin, tally)
        if weight:
            total += weight
            tally.known += 1
    tally.total += total
    return 0


cdef unsigned long long hash_of(const unsigned char *word, Py_ssize_t size) noexcept nogil:
    cdef unsigned long long code = START_OF_HASH
    cdef Py_ssize_t i
    for i in range(size):
        code = (code ^ <unsigned long long>word[i]) * HASH_FACTOR
    return code


cdef Py_ssize_t find_bytes(Known words, const unsigned char *word, Py_ssize_t size):
    return words.find(1, <void *>word, 0, size, hash_of(word, size))


cdef double judge_part(const unsigned char *part, Py_ssize_t size, Tally *tally):
    """As class_names.score_part: the groups go into the tally, the weight is returned."""
    cdef Py_ssize_t slot = find_bytes(NAME_WORDS, part, size), length = SHORTEST
    cdef long long bits = NAME_WORDS.slots[slot].bits if slot >= 0 else 0
    cdef double weight = NAME_WORDS.slots[slot].value if slot >= 0 else 0.0
    if not bits and size > SHORTEST and (
        find_bytes(HEADS, part, SHORTEST) >= 0 or find_bytes(TAILS, part + size - SHORTEST, SHORTEST) >= 0
    ):
        for length in range(min(size - 1, LONGEST_AFFIX), SHORTEST - 1, -1):
            slot = find_bytes(NAME_WORDS, part, length)
            bits = NAME_WORDS.slots[slot].bits if slot >= 0 else 0
            if not bits:
                slot = find_bytes(NAME_WORDS, part + size - length, length)
                bits = NAME_WORDS.slots[slot].bits if slot >= 0 else 0
            if bits:
                break
    tally.mask |= bits
    return weight
