"""A program: writes PEM certificates from standard input into a new NSS database, as trusted.

Chromium on Linux reads its trust store with NSS, so the library is there wherever Chromium is. It is loaded in a
separate process, since it is C code, keeps one database for a whole process, and may crash.
"""

from __future__ import annotations

import ctypes
import re
import sys
from binascii import a2b_base64
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_ulong, c_void_p

BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
# What `certutil -t C,,` and `-t P,,` set: an authority, and a self-signed server certificate.
AUTHORITY, SERVER = 0x18, 0x03


class SecItem(ctypes.Structure):
    """SECItem: a byte string."""

    _fields_ = (("kind", c_int), ("data", c_char_p), ("length", c_uint))


class CertTrust(ctypes.Structure):
    """CERTCertTrust: what a certificate is trusted for."""

    _fields_ = (("servers", c_uint), ("mail", c_uint), ("code", c_uint))


def load() -> ctypes.CDLL:
    """Load the library and declare the types of the functions that are used. Raises `OSError`."""
    nss = ctypes.CDLL("libnss3.so")
    for name, result, *arguments in (
        ("NSS_InitReadWrite", c_int, c_char_p),
        ("PK11_GetInternalKeySlot", c_void_p),
        ("PK11_InitPin", c_int, c_void_p, c_char_p, c_char_p),
        ("CERT_GetDefaultCertDB", c_void_p),
        ("CERT_NewTempCertificate", c_void_p, c_void_p, POINTER(SecItem), c_char_p, c_int, c_int),
        ("CERT_IsCACert", c_int, c_void_p, c_void_p),
        ("PK11_ImportCert", c_int, c_void_p, c_void_p, c_ulong, c_char_p, c_int),
        ("CERT_ChangeCertTrust", c_int, c_void_p, c_void_p, POINTER(CertTrust)),
    ):
        function = getattr(nss, name)
        function.restype, function.argtypes = result, arguments
    return nss


def write(folder: str, pem: bytes) -> None:
    """Raises `OSError` or `ValueError`, with the reason."""
    nss = load()
    _require(nss.NSS_InitReadWrite(f"sql:{folder}".encode()) == 0, "NSS makes no database")
    slot, known = nss.PK11_GetInternalKeySlot(), nss.CERT_GetDefaultCertDB()
    _require(nss.PK11_InitPin(slot, None, b"") == 0, "NSS makes no database")
    for number, block in enumerate(BLOCK.findall(pem)):
        der = a2b_base64(block)
        certificate = nss.CERT_NewTempCertificate(known, byref(SecItem(0, der, len(der))), None, 0, 1)
        _require(bool(certificate), f"certificate {number + 1} cannot be read")
        flags = CertTrust(AUTHORITY if nss.CERT_IsCACert(certificate, None) else SERVER, 0, 0)
        name = f"spaniel-{number}".encode()
        kept = nss.PK11_ImportCert(slot, certificate, 0, name, 0) == 0
        _require(
            kept and nss.CERT_ChangeCertTrust(known, certificate, byref(flags)) == 0,
            f"certificate {number + 1} cannot be kept",
        )


def _require(done: bool, otherwise: str) -> None:
    if not done:
        raise ValueError(otherwise)


if __name__ == "__main__":
    try:
        write(sys.argv[1], sys.stdin.buffer.read())
    except (OSError, ValueError, AttributeError) as error:
        sys.exit(str(error))
