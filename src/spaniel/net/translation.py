"""The one place where other people's exceptions become Spaniel's, and those of the wire below."""

from __future__ import annotations

import errno
import os
import ssl

from spaniel.errors import Code, SpanielError
from spaniel.net.connector import ConnectFailedError
from spaniel.net.encodings import BAD_DATA
from spaniel.net.heads import MalformedError
from spaniel.net.responses import BrokenBodyError, NoResponseError

WIRE_ERRORS: tuple[type[Exception], ...] = (
    *(ConnectFailedError, NoResponseError, MalformedError, BrokenBodyError, OSError),
    *BAD_DATA,
)


def translated(error: Exception) -> SpanielError:
    """What a failed hop is called in the registry."""
    if isinstance(error, BAD_DATA):
        return SpanielError(Code.NETWORK, error=f"the body cannot be decoded: {error}")
    if isinstance(error, ConnectFailedError):
        return _unreached(error.__cause__ or error)
    if isinstance(error, NoResponseError):
        return SpanielError(Code.NETWORK, error="the server closed the connection without an answer")
    if isinstance(error, BrokenBodyError):
        return SpanielError(Code.NETWORK, error="the body ended too early or is malformed")
    if isinstance(error, MalformedError):
        return SpanielError(Code.NETWORK, error=f"not HTTP as it should be: {error}")
    return SpanielError(Code.NETWORK, error=_reason(error))


def _unreached(cause: BaseException) -> SpanielError:
    """No connection came about, so that no other page of the host can be reached either."""
    if isinstance(cause, ssl.SSLCertVerificationError):
        error, kind = f"the certificate is not trusted: {cause.verify_message}", "certificate"
    else:
        error, kind = f"cannot connect: {_reason(cause)}", "tls" if isinstance(cause, ssl.SSLError) else "connect"
    refused = isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED
    return SpanielError(Code.NETWORK, error=error, cause=kind, refused=refused or None)


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    if isinstance(error, OSError) and error.errno:  # asyncio writes over the system's own words
        return os.strerror(error.errno)
    if isinstance(error, ConnectionResetError):  # asyncio's own, where the other end hangs up during a handshake
        return os.strerror(errno.ECONNRESET)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
