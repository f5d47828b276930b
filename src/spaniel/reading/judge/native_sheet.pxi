# The numbers of a page and of its blocks: surroundings.py, features.py, page.py and model.py for the compiler.

cdef class Sheet:
    """Everything about one page as numbers: rows of blocks, containers, running sums."""

    cdef Outline out
    cdef Py_ssize_t blocks, containers, trunk
    cdef double[:, ::1] v, sums, weights  # weights: own, lowest above, faded sum
    cdef long long[:, ::1] box
    cdef list made  # for each block the number of its make

    def __cinit__(self, Outline out, str title):
        cdef Py_ssize_t i
        cdef Block block
        cdef Known words = Known(dict.fromkeys(title_words(title), 0.0))
        self.out, self.blocks, self.containers = out, len(out.blocks), len(out.parent)
        self.v = matrix(shape=(self.blocks or 1, KINDS + KIND_COUNT), itemsize=sizeof(double), format="d")
        self.sums = matrix(shape=(self.blocks + 1, 3), itemsize=sizeof(double), format="d")
        self.sums[0, :] = 0
        for i in range(self.blocks):
            block = out.blocks[i]
            shape(block, out.tag[block.container], words, self.v, i)
            self.sums[i + 1, SUM_WORDS] = self.sums[i, SUM_WORDS] + self.v[i, WORDS]
            self.sums[i + 1, SUM_LINKED] = self.sums[i, SUM_LINKED] + self.v[i, WORDS] * self.v[i, LINKED]
            self.sums[i + 1, SUM_GOOD] = self.sums[i, SUM_GOOD] + self.v[i, WORDS] * self.v[i, GOOD]

    cdef double sum_of(self, int what, Py_ssize_t container):
        return self.sums[self.box[container, LAST], what] - self.sums[self.box[container, FIRST], what]

    cdef int inherit(self) except -1:
        """As features.Inherited and main_container."""
        cdef Outline out = self.out
        cdef Py_ssize_t i, up
        cdef double share, most = TRUNK_PART * self.sums[self.blocks, SUM_GOOD]
        self.box = matrix(shape=(self.containers, 6), itemsize=sizeof(long long), format="q")
        self.weights = matrix(shape=(self.containers, 3), itemsize=sizeof(double), format="d")
        for i in range(self.containers):
            up = self.box[i, UP] = out.box[i].parent
            self.box[i, FIRST], self.box[i, LAST], self.box[i, OWN_MASK] = out.box[i].first, out.box[i].last, out.box[i].mask
            self.weights[i, 0] = out.box[i].weight
            if not i:
                self.box[0, ALL_MASKS] = self.box[0, LANDS] = 0
                self.weights[0, 1] = self.weights[0, 2] = 0
                continue
            self.box[i, ALL_MASKS] = self.box[up, ALL_MASKS] | self.box[i, OWN_MASK]
            self.box[i, LANDS] = self.box[up, LANDS] | <long long>LAND_BITS.get(out.tag[i], 0)
            self.weights[i, 1] = min(self.weights[up, 1], self.weights[i, 0])
            self.weights[i, 2] = FADE * self.weights[up, 2] + self.weights[i, 0]
            if up == self.trunk:
                share = self.sum_of(SUM_GOOD, i)
                if 0 < share >= most:
                    self.trunk = i
        return 0

    cdef list guess_kinds(self, facts):
        """As features.page_features and model.guess_kind."""
        cdef double[::1] page = matrix(shape=(len(PAGE),), itemsize=sizeof(double), format="d")
        cdef double words = self.sums[self.blocks, SUM_WORDS] or 1
        cdef Py_ssize_t i, at = PAGE_TAGS, heads = 0, firsts = 0, good = 0, prices = 0, twins = 0, count
        cdef Block block
        cdef long long mask
        cdef double under[32]
        cdef int k
        cdef dict tags = {}
        for k in range(GROUP_COUNT):
            under[k] = 0
        for i in range(self.blocks):
            block = self.out.blocks[i]
            good += self.v[i, GOOD] > 0
            heads += self.v[i, LEVEL] > 0
            firsts += self.v[i, LEVEL] == 1
            if len(block.text) < LONGEST_PRICE and has_digit(block.text) and PRICE.search(block.text) is not None:
                prices += 1
        page[PAGE_WORDS], page[PAGE_BLOCKS] = words, self.blocks
        page[PAGE_LINKED] = self.sums[self.blocks, SUM_LINKED] / words
        page[PAGE_GOOD] = self.sums[self.blocks, SUM_GOOD] / words
        page[PAGE_GOOD_BLOCKS], page[PAGE_HEADS], page[PAGE_H1] = good, heads, firsts
        for tag in self.out.tag:
            tags[tag] = tags.get(tag, 0) + 1
        for number in (*[tags.get(tag, 0) for tag in COUNTED], facts.times, facts.images, prices):
            page[at] = number
            at += 1
        for i in range(self.blocks):
            block = self.out.blocks[i]
            mask = self.box[block.container, ALL_MASKS]
            for k in range(GROUP_COUNT):
                if mask & GROUP_BITS[k]:
                    under[k] += self.v[i, WORDS]
        for k in range(GROUP_COUNT):
            page[PAGE_GROUPS + k] = under[k] / words
        at = PAGE_HEAD
        for number in head_features(facts):
            page[at] = number
            at += 1
        for i in range(self.containers):
            count = self.out.alike[self.out.box[i].kin]
            if count > 2:
                twins = max(twins, count * (self.box[i, LAST] - self.box[i, FIRST]))
        page[PAGE_TWINS] = <double>twins / (self.blocks or 1)
        scores = [kind_score(i, &page[0]) for i in range(KIND_COUNT)]
        most = max(scores)
        powers = [exp(score - most) for score in scores]
        whole = sum(powers)
        return [power / whole for power in powers]

    cdef int surround(self, list kinds) except -1:
        """The rest of features.block_rows."""
        cdef Py_ssize_t i, k, n = self.blocks, first = -1
        cdef double whole = self.sums[n, SUM_WORDS] or 1, paragraphs = self.sums[n, SUM_GOOD] or 1
        cdef Block block
        cdef dict times = {}
        for i in range(n):
            block = self.out.blocks[i]
            times[block.text] = times.get(block.text, 0) + 1
            if first < 0 and self.v[i, LEVEL] == 1:
                first = i
        for i in range(n):
            block = self.out.blocks[i]
            self.place(i, block.container, paragraphs)
            self.v[i, NEAR_WORDS] = self.sums[min(n, i + NEAR + 1), SUM_WORDS] - self.sums[max(0, i - NEAR), SUM_WORDS]
            self.v[i, NEAR_GOOD] = self.sums[min(n, i + NEAR + 1), SUM_GOOD] - self.sums[max(0, i - NEAR), SUM_GOOD]
            self.v[i, BEFORE] = self.sums[i, SUM_WORDS] / whole
            self.v[i, AFTER] = 1 - self.sums[i + 1, SUM_GOOD] / paragraphs
            self.v[i, SAME] = times[block.text]
            self.v[i, SINCE_FIRST] = FAR_AWAY if first < 0 else min(FAR_AWAY, i - first)
            for k in range(KIND_COUNT):
                self.v[i, KINDS + k] = kinds[k]
        self.part()
        return 0

    cdef int place(self, Py_ssize_t i, Py_ssize_t home, double paragraphs) except -1:
        cdef Py_ssize_t up = self.box[home, UP] if home else 0
        cdef double size = self.sum_of(SUM_WORDS, home)
        cdef double above = self.sum_of(SUM_WORDS, up), good = self.sum_of(SUM_GOOD, up)
        cdef Py_ssize_t begin = self.box[self.trunk, FIRST], end = self.box[self.trunk, LAST]
        self.v[i, TAG] = RANKS.get(self.out.tag[home], UNRANKED_TAG)
        self.v[i, EVERY], self.v[i, MARKS] = self.box[home, ALL_MASKS], self.box[home, LANDS]
        self.v[i, LOW], self.v[i, TOTAL] = self.weights[home, 1], self.weights[home, 2]
        self.v[i, UP_WEIGHT] = self.weights[up, 0]
        self.v[i, HOME_GOOD] = self.sum_of(SUM_GOOD, home) / size
        self.v[i, HOME_LINKED] = self.sum_of(SUM_LINKED, home) / size
        self.v[i, TWINS] = self.out.alike[self.out.box[home].kin]
        self.v[i, UP_WORDS], self.v[i, UP_GOOD], self.v[i, UP_SHARE] = above, good / above, good / paragraphs
        self.v[i, TRUNK] = begin <= self.box[home, FIRST] < end
        return 0

    cdef int part(self) except -1:
        """As features.sections."""
        cdef Py_ssize_t i, begin = 0, head = -1, stop
        cdef double linked
        for stop in range(self.blocks + 1):
            if stop < self.blocks and not self.v[stop, LEVEL]:
                continue
            if stop > begin:
                linked = (self.sums[stop, SUM_LINKED] - self.sums[begin, SUM_LINKED]) / (
                    self.sums[stop, SUM_WORDS] - self.sums[begin, SUM_WORDS]
                )
                mask = self.names_near(head)
                for i in range(begin, stop):
                    self.v[i, SINCE_HEAD] = i - head if head >= 0 else FAR_AWAY
                    self.v[i, HEAD_MASK] = mask
                    self.v[i, HEAD_LEVEL] = self.v[head, LEVEL] if head >= 0 else 0
                    self.v[i, SECTION_LINKED] = linked
            begin = head = stop
        return 0

    cdef long long names_near(self, Py_ssize_t head) except -1:
        cdef Py_ssize_t home, up
        if head < 0:
            return 0
        home = (<Block>self.out.blocks[head]).container
        up = self.box[home, UP]
        if up <= 0:
            return self.box[home, OWN_MASK]
        return self.box[home, OWN_MASK] | self.box[up, OWN_MASK] | self.box[self.box[up, UP], OWN_MASK]

    cdef int compare(self, str linked_text, str description) except -1:
        """As features._neighbour_features, _lookalike_features and _head_match_features."""
        cdef Py_ssize_t i, n = self.blocks
        cdef double paragraphs = self.sums[n, SUM_GOOD] or 1
        cdef Block block
        cdef str start
        cdef Numbering makes = Numbering()  # tags and names of its container and of the one above
        cdef Container *box = self.out.box
        cdef Py_ssize_t home, make
        cdef double[:, ::1] tally = matrix(shape=(n or 1, 4), itemsize=sizeof(double), format="d")
        tally[:, :] = 0
        self.made = []
        for i in range(n):
            home = (<Block>self.out.blocks[i]).container
            make = makes.of(box[home].look, box[box[home].parent if home else 0].look)
            self.made.append(make)
            tally[make, 0] += self.v[i, WORDS]
            tally[make, 1] += self.v[i, WORDS] * self.v[i, LINKED]
            tally[make, 2] += self.v[i, WORDS] * self.v[i, GOOD]
            tally[make, 3] += 1
        for i in range(n):
            block = self.out.blocks[i]
            home = block.container
            make = makes.of(box[home].look, box[box[home].parent if home else 0].look)
            self.v[i, LIKE_GOOD], self.v[i, LIKE_LINKED] = tally[make, 2] / paragraphs, tally[make, 1] / tally[make, 0]
            self.v[i, LIKE_WORDS] = tally[make, 0] / tally[make, 3]
            self.look(i, i - 1, 0)
            self.look(i, i + 1, NEXT_LINKED - BEFORE_LINKED)
            start = block.text[:START_OF_BLOCK]
            self.v[i, SAID], self.v[i, SAID_CHARS] = 1 if linked_text or description else 0, len(linked_text)
            if letters_of(start) >= SHORTEST_START:
                self.v[i, SAID] += 2 if start in linked_text else 1 if start in description else 0
        return 0

    cdef int look(self, Py_ssize_t i, Py_ssize_t other, int shift) except -1:
        cdef bint there = 0 <= other < self.blocks
        self.v[i, BEFORE_LINKED + shift] = self.v[other, LINKED] if there else -1
        self.v[i, BEFORE_ENDING + shift] = self.v[other, ENDING] if there else -1
        self.v[i, BEFORE_LEVEL + shift] = self.v[other, LEVEL] if there else -1
        self.v[i, BEFORE_TONE + shift] = self.v[other, TONE] if there else -1
        return 0

    cdef list odds(self):
        """As model.judge_blocks."""
        cdef Py_ssize_t i
        cdef int chunk
        cdef double total
        cdef list found = []
        for i in range(self.blocks):
            total = 0.0
            for chunk in range(BLOCK_CHUNKS):
                total += block_odds(chunk, &self.v[i, 0])
                if not -CLEAR_SUM < total < CLEAR_SUM:
                    break
            found.append(1 / (1 + exp(-total)))
        return found
