"""The destinations of log streams: where the entries are sent, and in which format."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, StringConstraints

from chalicelib.features.notifications.models.webhook_urls import (
    MAX_URL_CHARACTERS,
    TargetUrl,
    normalize_url_with_ports,
)
from chalicelib.kernel.http.fields import pattern_validator_and_schema
from chalicelib.kernel.http.models import Input, Output

DestinationType = Literal["https", "splunk", "datadog", "s3"]
BatchFormat = Literal["json", "ndjson"]
DatadogSite = Literal[
    "datadoghq.com",
    "us3.datadoghq.com",
    "us5.datadoghq.com",
    "datadoghq.eu",
    "ap1.datadoghq.com",
    "ap2.datadoghq.com",
    "ddog-gov.com",
]
"""The sites of Datadog whose log intake is documented."""

ROLE_NAME_PREFIX: Final = "atrium-log-stream-"
"""Beginning of the name of each role that the service assumes. Its own roles have other names."""

SPLUNK_PORTS: Final = (443, 8443, 8088)
"""Permitted ports of Splunk outside of the local stage. 8088 is the default of its HTTP Event Collector."""

SPLUNK_PATH: Final = "/services/collector/event"
"""Path of Splunk's HTTP Event Collector for events as JSON."""

_URL: Final = "https://example.com/atrium/entries"
_SPLUNK_URL: Final = "https://http-inputs-example.splunkcloud.com/services/collector/event"
_ROLE_ARN: Final = "arn:aws:iam::111122223333:role/atrium-log-stream-archive"


def _normalize_splunk_url(text: str) -> str:
    """Return the URL of the collector. A URL without a path gets that of the collector. Raises ValueError."""
    url = normalize_url_with_ports(text, SPLUNK_PORTS)
    parts = urlsplit(url)
    if parts.query or parts.path not in ("", "/", "/services/collector", SPLUNK_PATH):
        raise ValueError(f"must be the address of Splunk's HTTP Event Collector, which ends with {SPLUNK_PATH}")
    return f"{parts.scheme}://{parts.netloc}{SPLUNK_PATH}"


SplunkUrl = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_URL_CHARACTERS),
    AfterValidator(_normalize_splunk_url),
    Field(json_schema_extra={"format": "uri"}),
]
_Credential = Annotated[
    str,
    Field(min_length=1, max_length=200),
    *pattern_validator_and_schema(r"^[!-~]+$", "must be a token of visible ASCII characters"),
]
_BucketName = Annotated[
    str,
    *pattern_validator_and_schema(
        r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$",
        "must be the name of a bucket: 3 to 63 lower-case letters, digits and hyphens, without dots",
    ),
]
_Region = Annotated[
    str,
    Field(max_length=25),
    *pattern_validator_and_schema(r"^[a-z]{2}(-[a-z]+){1,2}-[0-9]$", "must be an AWS region such as eu-central-1"),
]
_ObjectPrefix = Annotated[
    str,
    Field(max_length=200),
    *pattern_validator_and_schema(
        r"^\.*[A-Za-z0-9!_*'()=-][A-Za-z0-9!_.*'()=-]*(/\.*[A-Za-z0-9!_*'()=-][A-Za-z0-9!_.*'()=-]*)*$",
        "must be names of letters, digits and !_.*'()=-, separated by single slashes, not dots only",
    ),
]
_RoleArn = Annotated[
    str,
    Field(max_length=200),
    *pattern_validator_and_schema(
        rf"^arn:aws(-cn|-us-gov)?:iam::[0-9]{{12}}:role/{ROLE_NAME_PREFIX}[A-Za-z0-9+=,.@_-]{{1,46}}$",
        f"must be the ARN of a role without a path, whose name begins with {ROLE_NAME_PREFIX}, such as {_ROLE_ARN}",
    ),
]
_Label = Annotated[
    str,
    Field(min_length=1, max_length=100),
    *pattern_validator_and_schema(r"^[A-Za-z0-9_:./-]+$", "must consist of letters, digits and _:./-"),
]


class Destination(Input):
    """Where a log stream sends entries.

    `credential_field` names the field with a credential, which is never shown, and `address_field` the field that says
    where the credential is sent.
    """

    credential_field: ClassVar[str] = ""
    address_field: ClassVar[str] = ""

    type: DestinationType

    @property
    def credential(self) -> str | None:
        """Return the credential of the request, or None if it contains none."""
        value: str | None = getattr(self, self.credential_field) if self.credential_field else None
        return value

    def to_public_fields(self) -> dict[str, Any]:
        """Return the destination as it is stored and shown, without its credential."""
        return self.model_dump(mode="json", by_alias=True, exclude={self.credential_field})


class HttpsDestination(Destination):
    """An HTTPS endpoint of yours. Each batch is one POST request, signed like the messages of webhooks."""

    type: Literal["https"]
    url: TargetUrl = Field(description="The https URL that receives the batches.", examples=[_URL])
    format: BatchFormat = Field("json", description="A JSON array, or one entry in each line.", examples=["ndjson"])


class SplunkDestination(Destination):
    """The HTTP Event Collector of Splunk Cloud Platform or Splunk Enterprise.

    Each entry becomes an event of its own, with the time at which it occurred.
    """

    credential_field, address_field = "token", "url"

    type: Literal["splunk"]
    url: SplunkUrl = Field(
        description=f"The URL of the collector. If it has no path, `{SPLUNK_PATH}` is added.", examples=[_SPLUNK_URL]
    )
    token: _Credential = Field(description="The collector's token.", examples=["hec-token"])
    index: _Label | None = Field(None, description="The index. If omitted, that of the token.", examples=["audit"])
    sourcetype: _Label | None = Field(
        None, description="The source type. If omitted, that of the token.", examples=["_json"]
    )


class SplunkDestinationPatch(SplunkDestination):
    """The HTTP Event Collector of Splunk, in a change of a stream.

    The token is needed only with another URL, because the stored one is only sent where it was sent before.
    """

    token: _Credential | None = Field(  # type: ignore[assignment]  # only a new stream needs it
        None,
        description="The collector's token. Required with another URL. If omitted, the current one stays.",
        examples=["hec-token"],
    )


class DatadogDestination(Destination):
    """The log intake of one of the sites of Datadog, the monitoring service.

    Each entry becomes a log, whose message is the JSON of the entry.
    """

    credential_field, address_field = "api_key", "site"

    type: Literal["datadog"]
    site: DatadogSite = Field(description="The site of your Datadog organization.", examples=["datadoghq.eu"])
    api_key: _Credential = Field(description="An API key of Datadog.", examples=["dd-api-key"])
    service: _Label = Field("atrium", description="The `service` of the logs.", examples=["atrium"])


class DatadogDestinationPatch(DatadogDestination):
    """The log intake of one of the sites of Datadog, in a change of a stream.

    The API key is needed only with another site, because the stored one is only sent where it was sent before.
    """

    api_key: _Credential | None = Field(  # type: ignore[assignment]  # only a new stream needs it
        None,
        description="An API key of Datadog. Required with another site. If omitted, the current one stays.",
        examples=["dd-api-key"],
    )


class S3Destination(Destination):
    """A bucket of yours in Amazon S3.

    The service writes objects with lines of JSON, compressed by gzip, with a role of yours that it assumes.
    """

    type: Literal["s3"]
    bucket: _BucketName = Field(examples=["example-audit-archive"])
    region: _Region = Field(description="The region of the bucket.", examples=["eu-central-1"])
    prefix: _ObjectPrefix | None = Field(None, description="Beginning of the objects' names.", examples=["atrium"])
    role_arn: _RoleArn = Field(
        description=f"The role that the service assumes with the stream's `externalId`. Its name begins with"
        f" `{ROLE_NAME_PREFIX}`.",
        examples=[_ROLE_ARN],
    )


class _UntypedDestination(Destination):
    """What every destination has: its type."""

    model_config = ConfigDict(extra="ignore")


_MODELS: Final[Mapping[str, type[Destination]]] = {
    "https": HttpsDestination,
    "splunk": SplunkDestination,
    "datadog": DatadogDestination,
    "s3": S3Destination,
}
_PATCH_MODELS: Final[Mapping[str, type[Destination]]] = {
    **_MODELS,
    "splunk": SplunkDestinationPatch,
    "datadog": DatadogDestinationPatch,
}


def _destination_parser(models: Mapping[str, type[Destination]]) -> Callable[[Any], Destination]:
    """Return a function that parses a destination as the model of its type.

    A discriminated union would add the type, which is not a part of the document, to the path of each error.
    """

    def parse(value: Any) -> Destination:
        destination_type = value.get("type") if isinstance(value, dict) else None
        model = models.get(destination_type) if isinstance(destination_type, str) else None
        return (model or _UntypedDestination).model_validate(value)

    return parse


AnyDestination = Annotated[
    Any,
    PlainValidator(
        _destination_parser(_MODELS),
        json_schema_input_type=HttpsDestination | SplunkDestination | DatadogDestination | S3Destination,
    ),
]
"""A destination of any type, as a model of its type."""

AnyDestinationPatch = Annotated[
    Any,
    PlainValidator(
        _destination_parser(_PATCH_MODELS),
        json_schema_input_type=HttpsDestination | SplunkDestinationPatch | DatadogDestinationPatch | S3Destination,
    ),
]
"""The destination of an existing stream, whose credential may be omitted."""


class DestinationOut(Output):
    """Where a log stream sends entries, with the fields of its type and without credentials.

    The types are those of the destinations in a request; programs have to ignore types that they do not know.
    """

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [{"type": "https", "url": _URL, "format": "ndjson"}]}
    )

    type: DestinationType = Field(examples=["https"])
