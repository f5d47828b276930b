"""A program of its own: certificates from standard input, as PEM, into a new database of NSS, as trusted.

NSS is the library by which Chromium on Linux reads what its user trusts, so it is there wherever Chromium is. It is
loaded here and not by Spaniel itself: it is C, it keeps one database for a whole process, and it may fail.
"""

from __future__ import annotations

import ctypes
import re
import sys
from binascii import a2b_base64
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_ulong, c_void_p

BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
# What `certutil -t C,,` and `-t P,,` set: an authority, and a server's own certificate that nobody signed.
AUTHORITY, SERVER = 0x18, 0x03


class SecItem(ctypes.Structure):
    """SECItem: some bytes."""

    _fields_ = (("kind", c_int), ("data", c_char_p), ("length", c_uint))


class CertTrust(ctypes.Structure):
    """CERTCertTrust: for whom a certificate may vouch, by purpose."""

    _fields_ = (("servers", c_uint), ("mail", c_uint), ("code", c_uint))


def load() -> ctypes.CDLL:
    """The library, with the functions that are used told of their types. Raises `OSError`."""
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
