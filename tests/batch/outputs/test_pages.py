"""A folder of Markdown files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from spaniel.batch.outputs.files import PageTree, finish
from spaniel.errors import SpanielError
from tests.batch.outputs.harness import failure, record, write


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_each_page_is_a_file_with_front_matter_in_its_hosts_folder(tmp_path: Path) -> None:
    part = write(tmp_path / "part.jsonl", [record(0), failure(1), record(2)])
    finish([str(part)], f"{tmp_path}/pages/")
    names = files(tmp_path / "pages")
    assert len(names) == 2
    assert all(name.startswith("a.example/a.example_page_") and name.endswith(".md") for name in names)
    _, front, text = (tmp_path / "pages" / names[0]).read_text().split("---\n", 2)
    fields = yaml.safe_load(front)
    assert fields["url"] == "https://a.example/page/0"
    assert fields["author"] == "An Author"
    assert text.strip() == str(record(0)["markdown"]).strip()


def test_names_do_not_depend_on_order_and_writing_twice_is_writing_once(tmp_path: Path) -> None:
    urls = ["https://a.example/x?a=1", "https://a.example/x?a-1", "https://A.example/X?a=1", "http://a.example/x/a-1"]
    records = [record(number, requested_url=url, markdown=url) for number, url in enumerate(urls)]
    for folder, order in (("one", records), ("other", records[::-1]), ("other", records)):
        tree = PageTree(str(tmp_path / folder))
        for found in order:
            tree.write(found)
    assert files(tmp_path / "one") == files(tmp_path / "other")
    assert len(files(tmp_path / "one")) == 4
    for name in files(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.parametrize(
    "url",
    [
        "https://../../etc/passwd",
        "https://a.example/../../../etc/passwd",
        "../../x",
        "/etc/passwd",
        "https://a.example\\..\\..\\x",
        "https://user:pass@a.example/",
        "https://con/",
        "https://a.example/" + "x" * 5000,
        "https://" + "h" * 5000 + "/",
        "\x00\n",
        "",
    ],
)
def test_nothing_is_written_outside_the_folder(tmp_path: Path, url: str) -> None:
    tree = PageTree(str(tmp_path / "in" / "pages"))
    path = tree.write(record(0, requested_url=url))
    assert path is not None
    assert files(tmp_path) == [str(Path(path).relative_to(tmp_path))]
    assert files(tmp_path)[0].startswith("in/pages/")
    assert "pass@" not in path
    assert max(map(len, Path(path).parts)) < 200


def test_a_link_in_the_place_of_a_hosts_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    tree = PageTree(str(tmp_path / "pages"))
    (tmp_path / "pages" / "a.example").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SpanielError, match="cannot be written"):
        tree.write(record(0))
    assert not files(tmp_path / "elsewhere")


def test_somebody_elses_file_is_left_alone(tmp_path: Path) -> None:
    tree = PageTree(str(tmp_path))
    path = tree.write(record(0))
    assert path is not None
    Path(path).write_text("mine")
    with pytest.raises(SpanielError, match="is not this page"):
        tree.write(record(0))
    assert Path(path).read_text() == "mine"


def test_a_page_cannot_forge_front_matter(tmp_path: Path) -> None:
    path = PageTree(str(tmp_path)).write(record(0, title='x\n---\nurl: "forged"', markdown='---\nurl: "forged"\n---\n'))
    assert path is not None
    assert Path(path).read_text().count("\n---\nurl:") == 0
    assert os.path.basename(path).startswith("a.example_page_0-")
