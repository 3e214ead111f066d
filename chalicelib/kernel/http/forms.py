"""HTML forms as request bodies, for browsers and mail programs."""

from email import policy
from email.parser import BytesParser
from typing import Final
from urllib.parse import parse_qsl

from chalicelib.kernel.core import case_folding
from chalicelib.kernel.core.problems import FieldError, ValidationProblem

URL_ENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
FORMS: Final = (URL_ENCODED, MULTIPART)

_MAX_FIELDS: Final = 20
"""Fields of a form."""


def parse_form(content_type: str, body: bytes) -> dict[str, str]:
    """Return the fields of a form by name, the last of repeated ones. Raises ValidationProblem if it is invalid."""
    media_type = case_folding.ascii_lower(content_type.partition(";")[0].strip())
    try:
        fields = (
            _parse_multipart_text_fields(content_type, body)
            if media_type == MULTIPART
            else _parse_url_encoded_fields(body)
        )
    except (ValueError, LookupError):
        fields = {}
    if not fields or len(fields) > _MAX_FIELDS:
        raise ValidationProblem([FieldError("", "malformed", f"The form is invalid. Send {' or '.join(FORMS)}.")])
    return fields


def _parse_url_encoded_fields(body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=_MAX_FIELDS))


def _parse_multipart_text_fields(content_type: str, body: bytes) -> dict[str, str]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    message = BytesParser(policy=policy.HTTP).parsebytes(head + body)
    fields: dict[str, str] = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str) and not part.is_multipart():
            content = part.get_payload(decode=True)
            fields[name] = content.decode().strip() if isinstance(content, bytes) else ""
    return fields
