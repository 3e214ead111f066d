"""What the blocks of a page may be, and what is told of those that may not."""

from typing import Any

import pytest

from chalicelib.entrypoints.openapi import described_together
from chalicelib.features.sites.pages.models.blocks import MAX_BLOCKS, BlockOut
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.route_groups import RouteGroup
from tests.harness.page_blocks import LeafletCreate, StoredBlock, build_block, validate_blocks, validation_errors


class LeafletOut(RecordOutput):
    """What has blocks, as callers see it."""

    blocks: list[BlockOut]


def columns(*inner: StoredBlock, name: str) -> StoredBlock:
    return build_block("columns", name, columns=[list(inner)])


EACH = [
    build_block("heading", level=1, text="The *engine*"),
    build_block("text", text="# Notes\n\n    indented\n"),
    build_block("text", text=""),
    build_block("list", items=["The mill", "The store"], ordered=True),
    build_block("quote", text="It weaves.", cite="Ada Lovelace"),
    build_block("code", text="  if weaving:\n\tstop()\n", language="python"),
    build_block("image", url="https://example.com/engine.jpg", alt=""),
    build_block("image", url="/engine.jpg", alt="The engine"),
    build_block("embed", url="https://video.example.com/engine?t=10"),
    *(
        build_block("button", label="Go", url=url)
        for url in ("https://example.com", "mailto:a@example.com", "/", "#a", "/b")
    ),
    build_block("divider"),
    build_block("columns", columns=[[build_block("divider", "b")], []]),
    build_block("custom", data={"chart_of": ["visitors"], "snake_case": None}),
]


class TestBlocks:
    @pytest.mark.parametrize("sent", EACH, ids=lambda sent: sent["type"])
    def test_are_kept_as_they_were_sent(self, sent: StoredBlock) -> None:
        assert validate_blocks(sent) == [sent]

    def test_say_what_was_left_out(self) -> None:
        list_, quote, code = validate_blocks(
            build_block("list", "a", items=[]),
            build_block("quote", "b", text="q"),
            build_block("code", "c", text="c", language=None),
        )
        assert (list_["ordered"], quote["cite"], code["language"]) == (False, None, None)

    def test_are_shown_with_all_their_fields(self) -> None:
        shown = [BlockOut.of(sent).model_dump(mode="json", by_alias=True) for sent in EACH]
        assert shown == EACH

    def test_have_text_of_any_length(self) -> None:
        long = "x" * 200_000
        assert validate_blocks(build_block("text", text=long)) == [build_block("text", text=long)]


class TestWhatIsWrongWithABlock:
    @pytest.mark.parametrize(
        ("sent", "fault"),
        [
            (7, ("", "not_an_object")),
            (None, ("", "not_an_object")),
            ({"type": "divider"}, ("/id", "required")),
            (build_block("divider", "-"), ("/id", "malformed")),
            (build_block("divider", "x" * 129), ("/id", "malformed")),
            ({"id": "a"}, ("/type", "required")),
            ({"id": "a", "type": None}, ("/type", "required")),
            ({"id": "a", "type": "carousel"}, ("/type", "not_one_of")),
            ({"id": "a", "type": 7}, ("/type", "not_one_of")),
            (build_block("divider", colour="red"), ("/colour", "unknown_field")),
            (build_block("heading", text="a"), ("/level", "required")),
            (build_block("heading", text="a", level=0), ("/level", "out_of_range")),
            (build_block("heading", text="a", level=7), ("/level", "out_of_range")),
            (build_block("heading", text="a", level="1"), ("/level", "wrong_type")),
            (build_block("heading", text="a\x00", level=1), ("/text", "malformed")),
            (build_block("text"), ("/text", "required")),
            (build_block("text", text=7), ("/text", "wrong_type")),
            (build_block("text", text="\x1b[31m"), ("/text", "malformed")),
            (build_block("list", items="a"), ("/items", "wrong_type")),
            (build_block("list", items=["a", 7]), ("/items/1", "wrong_type")),
            (build_block("list", items=["a", "\x07"]), ("/items/1", "malformed")),
            (build_block("list", items=[], ordered="yes"), ("/ordered", "wrong_type")),
            (build_block("quote", text="a", cite=7), ("/cite", "wrong_type")),
            (build_block("code", text=None), ("/text", "required")),
            (build_block("code", text="a", language="py\nthon"), ("/language", "malformed")),
            (build_block("image", url="https://example.com/a.jpg"), ("/alt", "required")),
            (build_block("image", url="a.jpg", alt=""), ("/url", "malformed")),
            (build_block("image", url="//example.com/a.jpg", alt=""), ("/url", "malformed")),
            (build_block("image", url="data:image/png;base64,AA==", alt=""), ("/url", "malformed")),
            (build_block("image", url="mailto:a@example.com", alt=""), ("/url", "malformed")),
            (build_block("image", url="#a", alt=""), ("/url", "malformed")),
            (build_block("embed", url="http://example.com"), ("/url", "malformed")),
            (build_block("embed", url="/film"), ("/url", "malformed")),
            (build_block("embed", url="https://ada:secret@example.com"), ("/url", "malformed")),
            (build_block("button", label="Go", url="javascript:alert(1)"), ("/url", "malformed")),
            (build_block("button", label="Go", url="JaVaScRiPt:alert(1)"), ("/url", "malformed")),
            (build_block("button", label="Go", url="/\\example.com"), ("/url", "malformed")),
            (build_block("button", label="Go", url="/" + "x" * 2000), ("/url", "too_long")),
            (build_block("button", url="/"), ("/label", "required")),
            (build_block("columns", columns=[]), ("/columns", "too_few")),
            (build_block("columns", columns=[[]] * 7), ("/columns", "too_many")),
            (build_block("columns", columns=[build_block("divider")]), ("/columns/0", "wrong_type")),
            (
                build_block("columns", columns=[[], [build_block("heading", "b", level=9, text="")]]),
                ("/columns/1/0/level", "out_of_range"),
            ),
            (build_block("custom", data=[]), ("/data", "wrong_type")),
            (build_block("custom", data={"text": "x" * 65_536}), ("/data", "too_large")),
        ],
    )
    def test_is_told_where_it_stands(self, sent: Any, fault: tuple[str, str]) -> None:
        pointer, code = fault
        assert validation_errors(build_block("divider", "before"), sent) == [(f"/blocks/1{pointer}", code)]

    def test_is_told_at_once_for_all_of_them(self) -> None:
        found = validation_errors(
            build_block("heading", level=9, text=7), {"id": "a", "type": "carousel"}, build_block("image")
        )
        assert found == [
            ("/blocks/0/level", "out_of_range"),
            ("/blocks/0/text", "wrong_type"),
            ("/blocks/1/type", "not_one_of"),
            ("/blocks/2/url", "required"),
            ("/blocks/2/alt", "required"),
        ]

    def test_of_an_unknown_type_names_those_there_are(self) -> None:
        with pytest.raises(ValidationProblem) as refused:
            validate_blocks({"id": "a", "type": "carousel"})
        assert refused.value.errors[0].detail == (
            "must be one of 'heading', 'text', 'list', 'quote', 'code', 'image', 'embed', 'button', 'divider', "
            "'columns', 'custom'"
        )


class TestWhatIsWrongWithAllBlocksTogether:
    def test_is_an_id_that_another_has_wherever_it_stands(self) -> None:
        inner = columns(build_block("divider", "a"), build_block("divider", "c"), name="b")
        assert validation_errors(build_block("divider", "a"), inner, build_block("divider", "c")) == [
            ("/blocks/1/columns/0/0/id", "repeated"),
            ("/blocks/2/id", "repeated"),
        ]

    def test_is_a_fourth_level_of_columns(self) -> None:
        three = columns(columns(columns(build_block("divider", "d"), name="c"), name="b"), name="a")
        assert validate_blocks(three) == [three]
        assert validation_errors(columns(three, name="0")) == [
            ("/blocks/0/columns/0/0/columns/0/0/columns/0/0", "out_of_range")
        ]

    def test_is_one_more_than_there_may_be_of_them(self) -> None:
        inner = [build_block("divider", f"b{number}") for number in range(MAX_BLOCKS - 1)]
        assert len(validate_blocks(columns(*inner, name="a"))[0]["columns"][0]) == MAX_BLOCKS - 1
        assert validation_errors(columns(*inner, name="a"), build_block("divider", "one-more")) == [
            ("/blocks", "too_many")
        ]


def test_the_interface_tells_the_fields_of_each_type() -> None:
    def create_leaflet(_ctx: object, body: LeafletCreate) -> LeafletOut:
        """Create a leaflet."""
        raise NotImplementedError(body)

    group = RouteGroup("sites")
    group.post("/leaflets", access=Caller.USER, scope=None, emits=None)(create_leaflet)
    schemas = described_together(group.operations)["components"]["schemas"]
    told = {reference["$ref"].rpartition("/")[2] for reference in _choices(schemas["LeafletCreate"])}
    types = {schemas[name]["properties"]["type"]["const"] for name in told}
    assert types == {sent["type"] for sent in EACH}
    assert _choices(schemas["ColumnsBlock"]) == _choices(schemas["LeafletCreate"])
    assert schemas["Leaflet"]["properties"]["blocks"]["items"] == {"$ref": "#/components/schemas/Block"}
    assert schemas["Block"]["additionalProperties"]


def _choices(schema: StoredBlock) -> list[StoredBlock]:
    """Return the schemas that a list of blocks, the schema's last field, may be made of."""
    blocks = list(schema["properties"].values())[-1]
    while "anyOf" not in blocks or {"type": "null"} in blocks["anyOf"]:
        blocks = blocks["items"] if "items" in blocks else blocks["anyOf"][0]
    choices: list[StoredBlock] = blocks["anyOf"]
    return choices
