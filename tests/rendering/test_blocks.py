"""The validation of the blocks of a page, and the errors of invalid blocks."""

from typing import Any

import pytest

from chalicelib.features.sites.pages.models.blocks import MAX_BLOCKS, BlockOut
from chalicelib.kernel.core.problems import ValidationProblem
from tests.harness.page_blocks import StoredBlock, build_block, validate_blocks, validation_errors


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


IMAGE_URLS = ("a.jpg", "//example.com/a.jpg", "data:image/png;base64,AA==", "mailto:a@example.com", "#a")
EMBED_URLS = ("http://example.com", "/film", "https://ada:secret@example.com")
BUTTON_URLS = ("javascript:alert(1)", "JaVaScRiPt:alert(1)", "/\\example.com")
INVALID_BLOCKS: dict[tuple[str, str], list[Any]] = {
    ("", "not_an_object"): [7, None],
    ("/id", "required"): [{"type": "divider"}],
    ("/id", "malformed"): [build_block("divider", "-"), build_block("divider", "x" * 129)],
    ("/type", "required"): [{"id": "a"}, {"id": "a", "type": None}],
    ("/type", "not_one_of"): [{"id": "a", "type": "carousel"}, {"id": "a", "type": 7}],
    ("/colour", "unknown_field"): [build_block("divider", colour="red")],
    ("/level", "required"): [build_block("heading", text="a")],
    ("/level", "out_of_range"): [build_block("heading", text="a", level=level) for level in (0, 7)],
    ("/level", "wrong_type"): [build_block("heading", text="a", level="1")],
    ("/text", "required"): [build_block("text"), build_block("code", text=None)],
    ("/text", "wrong_type"): [build_block("text", text=7)],
    ("/text", "malformed"): [build_block("heading", text="a\x00", level=1), build_block("text", text="\x1b[31m")],
    ("/items", "wrong_type"): [build_block("list", items="a")],
    ("/items/1", "wrong_type"): [build_block("list", items=["a", 7])],
    ("/items/1", "malformed"): [build_block("list", items=["a", "\x07"])],
    ("/ordered", "wrong_type"): [build_block("list", items=[], ordered="yes")],
    ("/cite", "wrong_type"): [build_block("quote", text="a", cite=7)],
    ("/language", "malformed"): [build_block("code", text="a", language="py\nthon")],
    ("/alt", "required"): [build_block("image", url="https://example.com/a.jpg")],
    ("/url", "malformed"): [
        *(build_block("image", url=url, alt="") for url in IMAGE_URLS),
        *(build_block("embed", url=url) for url in EMBED_URLS),
        *(build_block("button", label="Go", url=url) for url in BUTTON_URLS),
    ],
    ("/url", "too_long"): [build_block("button", label="Go", url="/" + "x" * 2000)],
    ("/label", "required"): [build_block("button", url="/")],
    ("/columns", "too_few"): [build_block("columns", columns=[])],
    ("/columns", "too_many"): [build_block("columns", columns=[[]] * 7)],
    ("/columns/0", "wrong_type"): [build_block("columns", columns=[build_block("divider")])],
    ("/columns/1/0/level", "out_of_range"): [
        build_block("columns", columns=[[], [build_block("heading", "b", level=9, text="")]])
    ],
    ("/data", "wrong_type"): [build_block("custom", data=[])],
    ("/data", "too_large"): [build_block("custom", data={"text": "x" * 65_536})],
}
"""Invalid blocks by the pointer and the code of their error."""


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
    @pytest.mark.parametrize(("pointer", "code"), INVALID_BLOCKS)
    def test_the_error_has_the_position(self, pointer, code):
        blocks = INVALID_BLOCKS[pointer, code]
        errors = [validation_errors(build_block("divider", "before"), block_fields) for block_fields in blocks]
        assert errors == [[(f"/blocks/1{pointer}", code)]] * len(blocks)

    def test_the_errors_of_all_blocks_are_reported(self):
        blocks = build_block("heading", level=9, text=7), {"id": "a", "type": "carousel"}, build_block("image")
        inner = build_block("quote", "", text=7), {"id": "", "type": 7}
        more_blocks: list[Any] = [build_block("button", "", url="/"), columns_block(*inner, name="b"), "divider"]
        codes = {"0/level": "out_of_range", "0/text": "wrong_type", "1/type": "not_one_of"}
        codes |= {"2/url": "required", "2/alt": "required", "3/id": "malformed", "3/label": "required"}
        codes |= {f"4/columns/0/{name}": "malformed" for name in ("0/id", "1/id")}
        codes |= {"4/columns/0/0/text": "wrong_type", "4/columns/0/1/type": "not_one_of", "5": "not_an_object"}
        assert sorted(validation_errors(*blocks, *more_blocks)) == sorted(
            (f"/blocks/{name}", code) for name, code in codes.items()
        )

    def test_the_error_of_an_unknown_type_lists_the_types(self):
        with pytest.raises(ValidationProblem) as raised:
            validate_blocks({"id": "a", "type": "carousel"})
        assert raised.value.errors[0].detail == (
            "must be one of 'heading', 'text', 'list', 'quote', 'code', 'image', 'embed', 'button', 'divider', "
            "'columns', 'custom'"
        )

    def test_an_unknown_field_gets_the_nearest_one_of_the_type(self):
        inner = build_block("code", text="", languages="")
        blocks = [
            build_block("heading", level=1, leve=1, text=""),
            build_block("divider", "b", leve=1),
            columns_block(inner, name="c"),
        ]
        with pytest.raises(ValidationProblem) as raised:
            validate_blocks(*blocks)
        questions = [error.detail.removeprefix("There is no such field.") for error in raised.value.errors]
        assert questions == [" Do you mean `level`?", "", " Do you mean `language`?"]


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
