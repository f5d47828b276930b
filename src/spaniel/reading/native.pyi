from turbohtml import Element

from spaniel.reading.judge import Judged
from spaniel.reading.page import Facts

def judge(body: Element, facts: Facts) -> Judged: ...
def count_tags(body: bytes) -> tuple[int, int]: ...
