"""Every operation and model says what it is for, and has a realistic example."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.operations.operation import Operation
from local.paths import ROOT

DOCUMENT: Final[dict[str, Any]] = json.loads((ROOT / "openapi.json").read_text())
SCHEMAS: Final[dict[str, Any]] = DOCUMENT["components"]["schemas"]
OBJECTS: Final = {name: documented for name, documented in SCHEMAS.items() if documented.get("type") == "object"}
MIN_WORDS: Final = 14
MIN_NEW_WORDS: Final = 6
PLACEHOLDER: Final = re.compile(
    r"\s*(?:string|text|value|name|title|description|foo|bar|baz|qux|test|example|sample|lorem.*|todo|tbd|asdf|x{2,}|"
    r"0{8}-0{4}-.*|my .*|your .*|some .*)\s*",
    re.IGNORECASE | re.DOTALL,
)
LATER_THAN_CREATION: Final = ("expiresAt", "deletionDueAt", "nextAttemptAt", "publishAt", "unpublishAt")


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]{2,}", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower())


def stem(word: str) -> str:
    return re.sub(r"(?:ies|es|s|ed|ing|e|y)$", "", word)


def missing_in_description(text: str, name: str) -> list[str]:
    """Return what the description of an operation or a model lacks. Words of its name say nothing new."""
    new = {stem(word) for word in words(text) if len(word) > 3} - {stem(word) for word in words(name.replace("_", " "))}
    return [
        *(["a second sentence"] if len(re.findall(r"[.](?=\s|$)", text)) < 2 else []),
        *([f"{MIN_WORDS} words"] if len(words(text)) < MIN_WORDS else []),
        *([f"{MIN_NEW_WORDS} words that are not in its name"] if len(new) < MIN_NEW_WORDS else []),
    ]


def prose_of(operation_object: dict[str, Any]) -> str:
    """Return the summary and the description, without the generated paragraph about access, events and limits."""
    details = operation_object["description"].partition("**Access:**")[0].strip()
    return f"{operation_object['summary']}. {details}".strip()


def operation_object(operation: Operation) -> dict[str, Any]:
    documented: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return documented


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):  # Three keys contain names of types and fields.
        value = [part for name, part in value.items() if name not in ("type", "field", "required")]
    if isinstance(value, list):
        for part in value:
            yield from texts_in(part)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Capability", "A capability of a space."),
        ("get_space", "Get a space. Gets the space."),
        (
            "list_spaces",
            "List spaces. The spaces are listed in a list of spaces, which lists the spaces that are there.",
        ),
        ("Probe", "A probe that observes the temperature of a room and reports every change of it to subscribers"),
    ],
)
def test_a_description_that_only_repeats_the_name_or_is_too_short_is_refused(name, text):
    assert missing_in_description(text, name)


@pytest.mark.parametrize("text", ["string", "Lorem ipsum dolor", "00000000-0000-0000-0000-000000000000", "my webhook"])
def test_a_placeholder_is_recognized(text):
    assert PLACEHOLDER.fullmatch(text)


@pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.id)
def test_an_operation_says_what_it_is_for(operation):
    assert missing_in_description(prose_of(operation_object(operation)), operation.id) == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_model_says_what_it_is_for(name):
    assert missing_in_description(SCHEMAS[name].get("description", ""), name) == []


def test_no_two_operations_or_models_have_the_same_description():
    operations = [prose_of(operation_object(operation)).partition(". ")[2] for operation in all_operations()]
    texts = Counter([*operations, *(schema["description"] for schema in SCHEMAS.values())])
    assert [text for text, count in texts.items() if count > 1] == []


# Linters would take an example of these for a schema, so only their fields have examples.
@pytest.mark.parametrize("name", sorted(SCHEMAS.keys() - {"EventType", "EventTypeList"}))
def test_a_model_has_a_valid_example_without_placeholders(name):
    (example,) = SCHEMAS[name]["examples"]
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": DOCUMENT["components"]}
    validator = Draft202012Validator(document | SCHEMAS[name], format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert [error.message for error in validator.iter_errors(example)] == []
    assert [text for text in texts_in(example) if PLACEHOLDER.fullmatch(text)] == []
    if "createdAt" in (example if name in OBJECTS else ()):
        assert [field for field in LATER_THAN_CREATION if (example.get(field) or "9") <= example["createdAt"]] == []


@pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.id)
def test_an_operation_has_an_example_request_that_it_accepts(operation):
    documented = operation_object(operation)
    sample = documented["x-codeSamples"][0]
    program, address, *options = shlex.split(sample["source"].replace("\\\n", " "))
    url, values = urlsplit(address), dict(zip(options[::2], options[1::2], strict=True))
    assert (program, url.scheme, url.hostname) == ("curl", "https", "api.example.com")
    path = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", operation.path), unquote(url.path))
    assert path
    assert operation.has_valid_path_parameters(path.groupdict())
    assert [text for text in [*path.groupdict().values(), *values.values()] if PLACEHOLDER.fullmatch(text)] == []
    assert values.get("-X", "POST" if "-d" in values else "GET") == operation.method
    assert ("Authorization: Bearer $TOKEN" in options) == (documented["security"] not in ([], [{"linkToken": []}]))
    assert ("Link-Token: $TOKEN" in options) == (documented["security"] == [{"linkToken": []}])
    body = documented.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    assert json.loads(values.get("-d", "null")) == body
