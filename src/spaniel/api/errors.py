"""Errors of the service: what a request is refused with before anything is fetched, and the form of every error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Codes of the service beside those of the SRD, with their HTTP status and meaning; /openapi.json lists them.
SERVICE_CODES = {
    "unauthorized": (401, "The token is missing or wrong"),
    "forbidden": (403, "The request came from a page of another site"),
    "not_found": (404, "There is nothing at this path, or it belongs to another caller"),
    "method_not_allowed": (405, "This path does not take this method"),
    "request_timeout": (408, "The body of the request did not arrive in time"),
    "body_too_large": (413, "The body of the request is too large"),
    "misdirected": (421, "The Host header names another server"),
    "rate_limited": (429, "The caller has reached one of its limits"),
    "not_implemented": (501, "This is not built yet"),
    "busy": (503, "The service is stopping or overloaded"),
}


class ApiError(Exception):
    """A refusal of the service itself."""

    def __init__(self, code: str, message: str = "", hint: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.code, self.hint, self.headers = code, hint, dict(headers or {})
        self.status, meaning = SERVICE_CODES[code]
        self.message = message or meaning
        super().__init__(self.message)

    @property
    def retryable(self) -> bool:
        return self.status in (408, 429, 503)

    def as_dict(self) -> dict[str, object]:
        return {"code": self.code, "message": self.message, "retryable": self.retryable, "hint": self.hint}


def error_fields(error: ApiError | SpanielError) -> dict[str, Any]:
    """An error of either kind as JSON: code, message, retryable, hint, and details if there are any."""
    if isinstance(error, ApiError):
        return error.as_dict()
    return {**error.as_dict(), "message": error.model_message, "hint": error.model_hint}


def status_of(error: ApiError | SpanielError) -> int:
    return error.status if isinstance(error, ApiError) else error.row.status


def headers_of(error: ApiError | SpanielError) -> dict[str, str]:
    if isinstance(error, ApiError):
        return error.headers
    after = error.details.get("retry_after")
    return {"retry-after": str(after)} if after is not None and str(after).isdigit() else {}


def unauthorized() -> ApiError:
    hint = "Send 'Authorization: Bearer TOKEN' with one of the tokens that this server was started with."
    return ApiError("unauthorized", hint=hint, headers={"www-authenticate": 'Bearer realm="spaniel"'})


def forbidden(message: str, setting: str) -> ApiError:
    return ApiError("forbidden", message, f"The operator can allow an origin with spaniel.{setting}.")


def misdirected(name: str) -> ApiError:
    hint = "Use the server's address, or let the operator add this name to spaniel.serve.allowed_hosts."
    return ApiError("misdirected", f"This server does not answer to the name '{name[:100]}'", hint)


def not_found(what: str = "") -> ApiError:
    return ApiError("not_found", what, "See /openapi.json for the paths of this server.")


def rate_limited(seconds: int, what: str) -> ApiError:
    seconds = max(1, seconds)
    hint = f"Try again in {seconds} s."
    return ApiError("rate_limited", f"The limit of {what} is reached", hint, {"retry-after": str(seconds)})


def body_too_large(most: int) -> ApiError:
    return ApiError("body_too_large", f"The body of a request may have {most:,} bytes", "Send less.")


def bad_argument(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)
