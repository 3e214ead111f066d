"""The validation of the blocks of a page, and the errors of invalid blocks."""

import pytest

from chalicelib.entrypoints.openapi import build_document_for
from chalicelib.features.sites.pages.models.blocks import MAX_BLOCKS, BlockOut
from chalicelib.kernel.core.problems import ValidationProblem
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.route_groups import RouteGroup
from tests.harness.page_blocks import LeafletCreate, StoredBlock, build_block, validate_blocks, validation_errors


class LeafletOut(RecordOutput):
    """A record with blocks, as callers see it."""

    blocks: list[BlockOut]


def columns_block(*inner: StoredBlock, name: str) -> StoredBlock:
    return build_block("columns", name, columns=[list(inner)])


VALID_BLOCKS = [
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
    @pytest.mark.parametrize("block_fields", VALID_BLOCKS, ids=lambda block_fields: block_fields["type"])
    def test_valid_blocks_are_stored_unchanged(self, block_fields):
        assert validate_blocks(block_fields) == [block_fields]

    def test_optional_fields_have_defaults(self):
        list_, quote, code = validate_blocks(
            build_block("list", "a", items=[]),
            build_block("quote", "b", text="q"),
            build_block("code", "c", text="c", language=None),
        )
        assert (list_["ordered"], quote["cite"], code["language"]) == (False, None, None)

    def test_responses_have_all_fields(self):
        responses = [BlockOut.of(block_fields).model_dump(mode="json", by_alias=True) for block_fields in VALID_BLOCKS]
        assert responses == VALID_BLOCKS

    def test_text_has_no_maximum_length_of_its_own(self):
        text = "x" * 200_000
        assert validate_blocks(build_block("text", text=text)) == [build_block("text", text=text)]


class TestInvalidBlock:
    @pytest.mark.parametrize(
        ("block_fields", "error"),
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
    def test_the_error_has_the_position(self, block_fields, error):
        pointer, code = error
        assert validation_errors(build_block("divider", "before"), block_fields) == [(f"/blocks/1{pointer}", code)]

    def test_the_errors_of_all_blocks_are_reported(self):
        errors = validation_errors(
            build_block("heading", level=9, text=7), {"id": "a", "type": "carousel"}, build_block("image")
        )
        assert errors == [
            ("/blocks/0/level", "out_of_range"),
            ("/blocks/0/text", "wrong_type"),
            ("/blocks/1/type", "not_one_of"),
            ("/blocks/2/url", "required"),
            ("/blocks/2/alt", "required"),
        ]

    def test_the_error_of_an_unknown_type_lists_the_types(self):
        with pytest.raises(ValidationProblem) as raised:
            validate_blocks({"id": "a", "type": "carousel"})
        assert raised.value.errors[0].detail == (
            "must be one of 'heading', 'text', 'list', 'quote', 'code', 'image', 'embed', 'button', 'divider', "
            "'columns', 'custom'"
        )


class TestLimitsOfAllBlocks:
    def test_ids_are_unique_across_columns(self):
        inner = columns_block(build_block("divider", "a"), build_block("divider", "c"), name="b")
        assert validation_errors(build_block("divider", "a"), inner, build_block("divider", "c")) == [
            ("/blocks/1/columns/0/0/id", "repeated"),
            ("/blocks/2/id", "repeated"),
        ]

    def test_columns_have_at_most_three_levels(self):
        three_levels = columns_block(
            columns_block(columns_block(build_block("divider", "d"), name="c"), name="b"), name="a"
        )
        assert validate_blocks(three_levels) == [three_levels]
        assert validation_errors(columns_block(three_levels, name="0")) == [
            ("/blocks/0/columns/0/0/columns/0/0/columns/0/0", "out_of_range")
        ]

    def test_the_number_of_blocks_includes_those_in_columns(self):
        inner = [build_block("divider", f"b{number}") for number in range(MAX_BLOCKS - 1)]
        assert len(validate_blocks(columns_block(*inner, name="a"))[0]["columns"][0]) == MAX_BLOCKS - 1
        assert validation_errors(columns_block(*inner, name="a"), build_block("divider", "one-more")) == [
            ("/blocks", "too_many")
        ]


def test_openapi_describes_the_fields_of_each_type():
    def create_leaflet(_ctx: object, body: LeafletCreate) -> LeafletOut:
        """Create a leaflet."""
        raise NotImplementedError(body)

    group = RouteGroup("sites")
    group.post("/leaflets", access=Caller.USER, scope=None, emits=None)(create_leaflet)
    schemas = build_document_for(group.operations)["components"]["schemas"]
    schema_names = {reference["$ref"].rpartition("/")[2] for reference in _block_schemas(schemas["LeafletCreate"])}
    types = {schemas[name]["properties"]["type"]["const"] for name in schema_names}
    assert types == {block_fields["type"] for block_fields in VALID_BLOCKS}
    assert _block_schemas(schemas["ColumnsBlock"]) == _block_schemas(schemas["LeafletCreate"])
    assert schemas["Leaflet"]["properties"]["blocks"]["items"] == {"$ref": "#/components/schemas/Block"}
    assert schemas["Block"]["additionalProperties"]


def _block_schemas(schema: StoredBlock) -> list[StoredBlock]:
    """Return the schemas of the items of a list of blocks, the last field of a schema."""
    blocks = list(schema["properties"].values())[-1]
    while "anyOf" not in blocks or {"type": "null"} in blocks["anyOf"]:
        blocks = blocks["items"] if "items" in blocks else blocks["anyOf"][0]
    choices: list[StoredBlock] = blocks["anyOf"]
    return choices
