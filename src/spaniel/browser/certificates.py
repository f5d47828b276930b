"""Makes Chromium trust the certificates of `ca_file`: on Linux it reads a database in the home of its user.

The database is created once, by a separate process, and copied into the home of each Chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = (".pki", "nssdb")  # in the home
WRITER = str(Path(__file__).with_name("nss_writer.py"))  # run as a program, never imported
SECONDS = 20.0


class TrustStoreError(Exception):
    """Chromium's trust store cannot be created; why."""


def database(ca_file: str) -> dict[str, bytes]:
    """The files (by name) of a database that trusts the certificates of `ca_file`.

    Raises `bad_args` for a file that the HTTP client cannot use either, and `TrustStoreError`.
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
