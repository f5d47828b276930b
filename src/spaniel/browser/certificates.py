"""The certificates of `ca_file` for Chromium, which on Linux trusts what stands in a database in its user's home.

The database is made once, by a process of its own, and put into the home of each Chromium before that is given away.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = (".pki", "nssdb")  # in the home
WRITER = str(Path(__file__).with_name("nss_writer.py"))  # never imported: it is a program
SECONDS = 20.0


class TrustStoreError(Exception):
    """Chromium cannot be told here whom to trust; why."""


def database(ca_file: str) -> dict[str, bytes]:
    """The files of a database that trusts a file's certificates, by their names.

    Raises `bad_args` for a file that HTTP could not use either, and `TrustStoreError`.
    """
    from spaniel.net.connector import tls_context

    tls_context(ca_file)
    if sys.platform != "linux":
        raise TrustStoreError("on this system Chromium trusts what the system trusts, and nothing else")
    pem = Path(ca_file).read_bytes()
    with tempfile.TemporaryDirectory(prefix="spaniel-trust-") as folder:
        try:
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-I", "-S", WRITER, folder],
                input=pem, capture_output=True, timeout=SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            raise TrustStoreError(str(error)) from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip() or f"its writer ended with {done.returncode}"
            raise TrustStoreError(said.splitlines()[-1])
        return {path.name: path.read_bytes() for path in Path(folder).glob("*.db")}
