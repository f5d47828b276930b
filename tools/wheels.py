"""`make wheels`: build the wheel with its compiled part, install it where there is no compiler, and read a page with it.

Usage: python tools/wheels.py FOLDER
The source is copied first: a build puts what it compiles beside the source, where the environment at work uses it.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src")
PROOF = """
import sys
from spaniel.reading import content, extract
from spaniel.reading.judge import native
assert content.is_compiled(), "the judge is not compiled"
assert native.__file__.startswith(sys.prefix), native.__file__
text = "The council met on Monday to discuss the bridge, and most of its members spoke in favour of it. "
page = "<title>A bridge</title><nav><a href=/>Home</a></nav><main><h1>A bridge</h1>" + f"<p>{text * 3}</p>" * 4 + "</main>"
markdown = extract(page).markdown
assert markdown.count("most of its members") == 12 and "Home" not in markdown, markdown
print("read with", native.__file__)
"""


def build(folder: Path) -> Path:
    """The one wheel of this Python and this platform."""
    with tempfile.TemporaryDirectory() as scratch:
        source, made = Path(scratch, "source"), Path(scratch, "made")
        source.mkdir()
        for name in NEEDED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            else:
                shutil.copy(ROOT / name, source / name)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-cache-dir"]
        subprocess.run([*pip, "--wheel-dir", made, source], check=True)
        (wheel,) = made.glob("*.whl")
        if "none-any" in wheel.name:
            raise SystemExit(f"{wheel.name} has no compiled part: is there a C compiler, and Python.h?")
        folder.mkdir(parents=True, exist_ok=True)
        if importlib.util.find_spec("auditwheel") and shutil.which("patchelf"):
            subprocess.run([sys.executable, "-m", "auditwheel", "repair", "-w", folder, wheel], check=True)
            return max(folder.glob("spaniel*.whl"), key=lambda path: path.stat().st_mtime)
        return Path(shutil.copy(wheel, folder))


def prove(wheel: Path) -> None:
    """Install it in an environment of its own; what it depends on is lent by the one at work."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "environment")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
        packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", packages]
        subprocess.run([*pip, wheel], check=True)
        (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
        python = home / "bin" / "python"
        subprocess.run([python, "-c", PROOF], check=True, cwd=scratch, env={"PATH": str(home / "bin")})


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("folder", type=Path)
    wheel = build(ap.parse_args().folder)
    prove(wheel)
    print(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
