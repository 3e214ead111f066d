"""The pages of the API reference: one for each resource, with all its operations."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from local.generators.docs_site.schema_fields import Field, Schemas, Variant
from local.generators.docs_site.text import highlight

PAGE_PREFIX: Final = "api-"

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_JSON_TYPES: Final = ("application/json", "application/problem+json")
_LANGUAGES: Final[Mapping[str, str]] = {"Shell": "bash", "TypeScript": "typescript", "Python": "python"}
_ACCESS_IN_WORDS: Final = re.compile(r"\*\*Access:\*\* `[^`]*` \((.*?)\)[.;]")
_UNIVERSAL_HEADERS: Final = frozenset({"API-Version", "Prefer"})
"""Headers of all operations. The introduction describes them."""


@dataclass(frozen=True)
class Sample:
    """A highlighted sample of code, and the label of its tab."""

    label: str
    html: str


@dataclass(frozen=True)
class OperationView:
    """What the reference shows of an operation. `parameters` are grouped by where they are sent."""

    id: str
    method: str
    path: str
    title: str
    description: str
    access: str
    access_in_words: str
    scope: str
    events: tuple[str, ...]
    is_deprecated: bool
    parameters: Mapping[str, tuple[Field, ...]]
    body: tuple[Variant, ...]
    status: str
    response: tuple[Variant, ...]
    errors: tuple[tuple[str, tuple[str, ...]], ...]
    samples: tuple[Sample, ...]
    response_example: str


@dataclass(frozen=True)
class ResourceView:
    """A resource, such as the invitations of organizations, with its operations."""

    name: str
    title: str
    operations: tuple[OperationView, ...]

    @property
    def page(self) -> str:
        """Name of the page."""
        return PAGE_PREFIX + self.name.replace(".", "-")


def list_resources(document: Mapping[str, Any]) -> list[ResourceView]:
    """Return the resources of an OpenAPI document, in the order of their first operations."""
    views: dict[str, list[OperationView]] = {}
    reader = _OperationReader(document)
    for path, item in document["paths"].items():
        for method in _METHODS:
            if operation := item.get(method):
                views.setdefault(_resource_name(operation), []).append(reader.read(path, method, operation))
    return [ResourceView(name, _resource_title(name), tuple(operations)) for name, operations in views.items()]


def _resource_name(operation: Mapping[str, Any]) -> str:
    client = operation.get("x-atrium-client")
    name = client["group"] if client else operation["tags"][0]
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)


def _resource_title(name: str) -> str:
    parts = [part.replace("-", " ") for part in name.split(".")]
    return " · ".join(part[:1].upper() + part[1:] for part in parts)


class _OperationReader:
    """Reads the operations of a document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._components = document["components"]
        self._schemas = Schemas(self._components["schemas"])

    def read(self, path: str, method: str, operation: Mapping[str, Any]) -> OperationView:
        status, response = next(iter(operation["responses"].items()))
        content = _json_content(response.get("content", {}))
        body = _json_content(operation.get("requestBody", {}).get("content", {}))
        title, _, remark = operation["summary"].partition(". ")
        description = operation.get("description", "").partition("**Access:**")[0].strip()
        return OperationView(
            id=operation["operationId"],
            method=method.upper(),
            path=path,
            title=title,
            description="\n\n".join(filter(None, (remark and f"{remark}.", description))),
            access=operation["x-atrium-access"],
            access_in_words=_ACCESS_IN_WORDS.findall(operation["description"])[-1],
            scope=operation.get("x-atrium-scope", ""),
            events=(*_listed(operation.get("x-atrium-event")), *operation.get("x-atrium-other-events", ())),
            is_deprecated=operation.get("deprecated", False),
            parameters=dict(self._group_parameters(operation.get("parameters", ()))),
            body=self._schemas.list_variants(body.get("schema", {})),
            status=status,
            response=self._schemas.list_variants(content.get("schema", {})),
            errors=tuple(self._iter_errors(operation["responses"])),
            samples=tuple(_iter_samples(operation)),
            response_example=_highlighted_json(content.get("example")),
        )

    def _group_parameters(self, parameters: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[Field, ...]]]:
        resolved = [self._resolve(each) for each in parameters]
        for place in ("path", "query", "header"):
            fields = [
                self._schemas.parameter_field(each)
                for each in resolved
                if each["in"] == place and each["name"] not in _UNIVERSAL_HEADERS
            ]
            if fields:
                yield place, tuple(fields)

    def _iter_errors(self, responses: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for status, response in responses.items():
            if status >= "400":
                yield status, tuple(_iter_codes(self._resolve(response)))

    def _resolve(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" not in value:
            return value
        kind, name = value["$ref"].split("/")[-2:]
        resolved: Mapping[str, Any] = self._components[kind][name]
        return resolved


def _listed(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _iter_codes(response: Mapping[str, Any]) -> Iterator[str]:
    for content in response.get("content", {}).values():
        for example in (content.get("example"), *(each.get("value") for each in content.get("examples", {}).values())):
            if isinstance(example, Mapping) and "code" in example:
                yield str(example["code"])


def _json_content(content: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((content[name] for name in _JSON_TYPES if name in content), {})


def _iter_samples(operation: Mapping[str, Any]) -> Iterator[Sample]:
    for sample in operation.get("x-codeSamples", ()):
        yield Sample(sample.get("label", sample["lang"]), highlight(sample["source"], _LANGUAGES[sample["lang"]]))


def _highlighted_json(example: object) -> str:
    return "" if example is None else highlight(json.dumps(example, indent=2, ensure_ascii=False), "json")
