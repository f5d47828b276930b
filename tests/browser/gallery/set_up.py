"""Sets the gallery's frameworks up: packages of npm by name, version and hash, unpacked without what they depend on.

`python set_up.py FOLDER` makes FOLDER/node_modules/NAME for each line of packages.json, and FOLDER/built/NAME.js for
each program in bundled/. What is there already is not fetched again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from base64 import b64encode
from pathlib import Path

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    packages: dict[str, tuple[str, str]] = json.loads((HERE / "packages.json").read_text(encoding="utf-8"))
    modules = folder / "node_modules"
    missing = {name: result for name, result in packages.items() if not (modules / name).exists()}
    if missing:
        with tempfile.TemporaryDirectory() as downloads:
            fetch([spec for spec, _ in missing.values()], Path(downloads))
            for name, (spec, integrity) in missing.items():
                unpack(Path(downloads) / file_name(spec), integrity, modules / name)
    built = folder / "built"
    built.mkdir(parents=True, exist_ok=True)
    subprocess.run(["node", HERE / "build.mjs", HERE / "bundled", modules, built], check=True)


def fetch(specs: list[str], downloads: Path) -> None:
    command = ["npm", "pack", "--silent", "--ignore-scripts", *specs]
    subprocess.run(command, cwd=downloads, check=True, stdout=subprocess.DEVNULL)


def file_name(spec: str) -> str:
    """As npm names a package: @a/b@1.2.3 is a-b-1.2.3.tgz."""
    name, _, version = spec.rpartition("@")
    return f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"


def unpack(archive: Path, integrity: str, place: Path) -> None:
    """Only what has the hash that was pinned; into its place at once, or not at all."""
    found = "sha512-" + b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != integrity:
        raise SystemExit(f"{archive.name} is not what was pinned: {found} is not {integrity}")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as half:
        with tarfile.open(archive) as tar:
            tar.extractall(half, filter="data")
        (inside,) = Path(half).iterdir()
        shutil.move(inside, place)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
