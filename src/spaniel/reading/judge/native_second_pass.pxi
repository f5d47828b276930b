# The second look: second_look.py for the compiler.

cdef double score_of(double p) noexcept nogil:
    if p <= SETTLED_ODDS:
        return -CLEAR_SUM
    return CLEAR_SUM if p >= 1 - SETTLED_ODDS else log(p / (1 - p))


cdef class Again:
    """The odds of a page as running sums: sizes, sizes by odds, sizes of sure blocks."""

    cdef Sheet sheet
    cdef double[:, ::1] sums
    cdef double[:, ::1] like  # of each make: sizes by odds, sizes

    def __cinit__(self, Sheet sheet, list odds):
        cdef Py_ssize_t i, make, n = sheet.blocks
        cdef double p, size
        self.sheet = sheet
        self.sums = matrix(shape=(n + 1, 3), itemsize=sizeof(double), format="d")
        self.like = matrix(shape=(n or 1, 2), itemsize=sizeof(double), format="d")
        self.sums[0, :] = 0
        self.like[:, :] = 0
        for i in range(n):
            p, make, size = odds[i], sheet.made[i], sheet.v[i, WORDS] + LIGHT_BLOCK
            self.sums[i + 1, 0] = self.sums[i, 0] + size
            self.sums[i + 1, 1] = self.sums[i, 1] + size * p
            self.sums[i + 1, 2] = self.sums[i, 2] + (size if p > SURE_ODDS else 0)
            self.like[make, 0] += size * p
            self.like[make, 1] += size

    cdef double mean(self, Py_ssize_t a, Py_ssize_t b):
        return (self.sums[b, 1] - self.sums[a, 1]) / (self.sums[b, 0] - self.sums[a, 0])

    cdef double inside(self, Py_ssize_t container):
        return self.mean(self.sheet.box[container, FIRST], self.sheet.box[container, LAST])

    cdef double odds_of(self, Py_ssize_t i, double before, double own, double after):
        """Of one block, given the odds of the one before it, of itself and of the next."""
        cdef double row[AGAIN_COLUMNS]
        cdef Py_ssize_t n = self.sheet.blocks, make = self.sheet.made[i]
        cdef Py_ssize_t home = (<Block>self.sheet.out.blocks[i]).container
        cdef Py_ssize_t up = self.sheet.box[home, UP] if home else 0
        cdef Py_ssize_t above = self.sheet.box[up, UP] if up else 0
        cdef double sure = self.sums[n, 2], most = sure or 1
        row[AGAIN_OWN], row[AGAIN_BEFORE], row[AGAIN_NEXT] = score_of(own), score_of(before), score_of(after)
        row[AGAIN_NEAR] = self.mean(max(0, i - NEAR), min(n, i + NEAR + 1))
        row[AGAIN_HOME], row[AGAIN_UP], row[AGAIN_UP_UP] = self.inside(home), self.inside(up), self.inside(above)
        row[AGAIN_LIKE] = self.like[make, 0] / self.like[make, 1]
        row[AGAIN_PAGE], row[AGAIN_SURE] = self.mean(0, n), sure / self.sums[n, 0]
        row[AGAIN_SURE_BEFORE], row[AGAIN_SURE_AFTER] = self.sums[i, 2] / most, 1 - self.sums[i + 1, 2] / most
        row[AGAIN_WORDS] = self.sheet.v[i, WORDS]
        return 1 / (1 + exp(-(row[AGAIN_OWN] / 2 + again_score(row))))


cdef list second_pass(Sheet sheet, list odds):
    """As model.second_pass."""
    cdef Again again = Again(sheet, odds)
    cdef Py_ssize_t i, n = sheet.blocks
    cdef double before = 0, own, after
    cdef list found = []
    for i in range(n):
        own, after = odds[i], odds[i + 1] if i + 1 < n else 0
        found.append(again.odds_of(i, before, own, after) if SETTLED_ODDS < own < 1 - SETTLED_ODDS else own)
        before = own
    return found
