"""The one place where other people's exceptions become Spaniel's."""

from __future__ import annotations

import errno
import os
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from spaniel.errors import Code, SpanielError
from spaniel.net.encodings import BAD_DATA

LIBRARY_ERRORS: tuple[type[Exception], ...] = (aiohttp.ClientError, HttpProcessingError, OSError, *BAD_DATA)


def translated(error: Exception) -> SpanielError:
    """What a failed hop is called in the registry."""
    if isinstance(error, BAD_DATA):
        return SpanielError(Code.NETWORK, error=f"the body cannot be decoded: {error}")
    cause = getattr(error, "os_error", None) or error.__cause__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _unreached(f"the certificate is not trusted: {cause.verify_message}", "certificate")
    if isinstance(error, aiohttp.ClientConnectorError):
        refused = isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED
        how = "tls" if isinstance(cause, ssl.SSLError) else "connect"
        return _unreached(f"cannot connect: {_reason(cause)}", how, refused=refused or None)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return SpanielError(Code.NETWORK, error="the server closed the connection without an answer")
    if isinstance(error, aiohttp.ClientPayloadError):
        return SpanielError(Code.NETWORK, error="the body ended too early or is malformed")
    if isinstance(error, aiohttp.ClientResponseError):
        return SpanielError(Code.NETWORK, error=f"not HTTP as it should be: {error.message}")
    return SpanielError(Code.NETWORK, error=_reason(error))


def _unreached(error: str, cause: str, *, refused: bool | None = None) -> SpanielError:
    """No connection came about, so that no other page of the host can be reached either."""
    return SpanielError(Code.NETWORK, error=error, cause=cause, refused=refused)


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    if isinstance(error, OSError) and error.errno:  # asyncio writes over the system's own words
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
