"""Every fault of a request is named by a code of ours and told in our words, whatever the library calls it."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field

from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.fields import unique_by
from chalicelib.kernel.http.models import Input, Patch, Query
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.http.validation import validate_body, validate_query, validate_value
from chalicelib.kernel.permissions.roles import Role


class Inner(Input):
    text: str
    length: int = 1


class Everything(Input):
    """A body with a field of each kind."""

    text: str = Field("text", min_length=2, max_length=4)
    number: int = Field(1, ge=1, le=5)
    share: float = 0.5
    flag: bool = False
    tags: list[str] = Field(["a"], min_length=1, max_length=2)
    labels: dict[str, str] = Field(default_factory=dict)
    inner: Inner | None = None
    word: Literal["red", "green", "blue"] = "red"
    role: Role = Role.MEMBER


class Needed(Patch):
    text: str


class Several(Input):
    parts: Annotated[list[Inner], unique_by("text")]
    number: int = 1


class Asked(Query):
    number: int = Field(1, ge=1, le=5)
    flag: bool = False
    text: str = Field("", max_length=4)


def request(text: str = "", asked: Mapping[str, str] | None = None) -> Request:
    """Return a request with this body and these query parameters."""
    given = {name: [value] for name, value in (asked or {}).items()}
    return Request("POST", "/", {}, given, {}, text.encode(), "id", "127.0.0.1")


def faults(reading: Any, *arguments: Any) -> list[tuple[str, str, str]]:
    """Return pointer, code and words of each fault that is found."""
    with pytest.raises(ValidationProblem) as refused:
        reading(*arguments)
    return [(e.pointer, e.code, e.detail) for e in refused.value.errors]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", ("", "not_an_object", "must be an object")),
        ('{"colour": 1}', ("/colour", "unknown_field", "There is no such field.")),
        ('{"inner": {}}', ("/inner/text", "required", "This field is required.")),
        ('{"inner": 7}', ("/inner", "not_an_object", "must be an object")),
        ('{"text": 7}', ("/text", "wrong_type", "must be text")),
        ('{"colour": null}', ("/colour", "unknown_field", "There is no such field.")),
        ('{"inner": {"text": null}}', ("/inner/text", "required", "This field is required: it can't be null.")),
        ('{"tags": [null]}', ("/tags/0", "wrong_type", "must be text")),
        ('{"text": "a"}', ("/text", "too_short", "must have 2 or more characters")),
        ('{"text": "abcde"}', ("/text", "too_long", "must have 4 characters or fewer")),
        ('{"number": "1"}', ("/number", "wrong_type", "must be a whole number")),
        ('{"number": 1.5}', ("/number", "wrong_type", "must be a whole number")),
        ('{"number": true}', ("/number", "wrong_type", "must be a whole number")),
        ('{"number": 0}', ("/number", "out_of_range", "must be 1 or more")),
        ('{"number": 6}', ("/number", "out_of_range", "must be 5 or less")),
        ('{"share": "1"}', ("/share", "wrong_type", "must be a number")),
        ('{"flag": 1}', ("/flag", "wrong_type", "must be true or false")),
        ('{"tags": "a"}', ("/tags", "wrong_type", "must be a list")),
        ('{"tags": [7]}', ("/tags/0", "wrong_type", "must be text")),
        ('{"tags": []}', ("/tags", "too_few", "must have 1 or more items")),
        ('{"tags": ["a", "b", "c"]}', ("/tags", "too_many", "must have 2 items or fewer")),
        ('{"labels": {"a": null}}', ("/labels/a", "wrong_type", "must be text")),
        ('{"labels": []}', ("/labels", "wrong_type", "must be an object")),
        ('{"word": "pink"}', ("/word", "not_one_of", "must be one of 'red', 'green', 'blue'")),
        ('{"role": "king"}', ("/role", "not_one_of", "must be one of 'member', 'editor', 'admin', 'owner'")),
    ],
)
def test_a_fault_of_a_body_is_told_in_our_words(text: str, fault: tuple[str, str, str]) -> None:
    assert faults(validate_body, Everything, request(text), None) == [fault]


def test_null_in_a_body_is_what_was_left_out() -> None:
    nothing = json.dumps(dict.fromkeys(Everything.model_fields))
    assert validate_body(Everything, request(nothing), None) == Everything()
    assert validate_body(Everything, request('{"inner": {"text": "a", "length": null}}'), None) == Everything(
        inner=Inner(text="a", length=1)
    )


def test_each_default_is_a_new_one() -> None:
    first, second = (validate_body(Everything, request('{"tags": null, "labels": null}'), None) for _ in range(2))
    assert isinstance(first, Everything)
    first.tags.append("b")
    first.labels["a"] = "b"
    assert second == Everything()


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("number", "1.5", ("query/number", "wrong_type", "must be a whole number")),
        ("number", "", ("query/number", "wrong_type", "must be a whole number")),
        ("number", "6", ("query/number", "out_of_range", "must be 5 or less")),
        ("number", "9" * 5000, ("query/number", "out_of_range", "must be a number of fewer digits")),
        ("flag", "maybe", ("query/flag", "wrong_type", "must be true or false")),
        ("text", "abcde", ("query/text", "too_long", "must have 4 characters or fewer")),
    ],
)
def test_a_fault_of_a_query_is_told_in_our_words(name: str, value: str, fault: tuple[str, str, str]) -> None:
    assert faults(validate_query, Asked, request(asked={name: value})) == [fault]


def test_a_merge_patch_is_told_the_same() -> None:
    assert faults(validate_body, Needed, request("[]"), {}) == [("", "not_an_object", "must be an object")]
    assert faults(validate_body, Needed, request('{"colour": 1, "text": null}'), {"text": "a"}) == [
        ("/colour", "unknown_field", "There is no such field."),
        ("/text", "required", "This field is required."),
    ]


def test_words_of_a_rule_stay_what_they_are() -> None:
    def refuse(_: str) -> str:
        raise ValueError("must not hold {braces}")

    class Ruled(Input):
        text: Annotated[str, AfterValidator(refuse)]

    assert faults(validate_body, Ruled, request('{"text": "a"}'), None) == [
        ("/text", "malformed", "must not hold {braces}")
    ]


def test_each_element_that_repeats_another_is_a_fault_beside_all_others() -> None:
    sent = '{"parts": [{"text": "a"}, {"text": "b"}, {"text": "a"}, {"text": "a"}], "number": "x"}'
    words = "must be another than that of all before it"
    assert faults(validate_body, Several, request(sent), None) == [
        ("/parts/2/text", "repeated", words),
        ("/parts/3/text", "repeated", words),
        ("/number", "wrong_type", "must be a whole number"),
    ]


def test_what_was_put_together_is_checked_as_if_it_were_sent() -> None:
    assert validate_value(Inner, {"text": "a"}, "/parts/2").text == "a"
    assert faults(validate_value, Inner, {"text": 1}, "/parts/2") == [("/parts/2/text", "wrong_type", "must be text")]


def test_of_very_many_faults_the_first_are_named() -> None:
    with pytest.raises(ValidationProblem) as refused:
        validate_body(Everything, request(json.dumps({f"colour{n}": 1 for n in range(5000)})), None)
    assert refused.value.detail == "5000 fields are not valid; see errors for the first 100."
    assert [e.pointer for e in refused.value.errors] == [f"/colour{n}" for n in range(100)]


def test_a_very_long_name_is_not_repeated_to_its_end() -> None:
    (fault,) = faults(validate_body, Everything, request(json.dumps({"x" * 100_000: 1})), None)
    assert fault == (f"/{'x' * 200}…", "unknown_field", "There is no such field.")


def test_a_number_is_whole_however_it_is_written() -> None:
    for text in ("3", "3.0", "3e0", "0.3e1"):
        assert validate_body(Everything, request(f'{{"number": {text}}}'), None).model_dump()["number"] == 3
    for text in ("3.5", "1e999", '"3"', "true"):
        assert faults(validate_body, Everything, request(f'{{"number": {text}}}'), None) == [
            ("/number", "wrong_type", "must be a whole number")
        ]
