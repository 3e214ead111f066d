"""The blocks of a page: a model for each type, and their registry."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import ElementId, JsonObject, Link, LongText, Name, WebUrl, out_of_range_error
from chalicelib.kernel.http.models import VARIANTS_BY_TYPE, Input, Output

BlockType = Literal[
    "heading", "text", "list", "quote", "code", "image", "embed", "button", "divider", "columns", "custom"
]
MAX_BLOCKS: Final = 1000
"""Blocks of a page, including those in columns."""

MAX_COLUMNS: Final = 6
"""Columns of a block."""

MAX_COLUMN_DEPTH: Final = 3
"""Levels of columns within columns."""

_BlockPath = tuple[int | str, ...]
"""The path of a block among a page's blocks, such as (2, "columns", 0, 1)."""


def _validate_web_address_or_path(url: str) -> str:
    if ascii_lower(url).startswith(("mailto:", "#")):
        raise ValueError("must be a web address, or a path that begins with one /")
    return url


def _require_https(url: str) -> str:
    if not ascii_lower(url).startswith("https:"):
        raise ValueError("must be a web address that begins with https://")
    return url


class _Block(Input):
    """The fields of every block."""

    id: ElementId = Field(description="Unique within the page.", examples=["opening"])
    type: BlockType


class _UntypedBlock(_Block):
    """A block of an unknown type. It is never valid, and its errors are those of the fields of every block."""

    model_config = ConfigDict(extra="ignore")


class HeadingBlock(_Block):
    """A heading, which structures a page.

    Choose levels without gaps, because screen readers show them as an outline of the page.
    """

    type: Literal["heading"]
    level: int = Field(ge=1, le=6, examples=[2])
    text: LongText = Field(description="One line of Markdown.", examples=["How the engine weaves"])


class TextBlock(_Block):
    """Paragraphs and other Markdown elements, such as links, emphasis and nested lists.

    HTML in the text is not interpreted.
    """

    type: Literal["text"]
    text: LongText = Field(
        description="Markdown: CommonMark with tables and strikethrough. HTML is shown as text.",
        examples=["It weaves **algebraic patterns**, as the loom weaves flowers."],
    )


class ListBlock(_Block):
    """A list of short texts, numbered if `ordered` is true.

    Use a text block with Markdown for nested lists.
    """

    type: Literal["list"]
    items: list[LongText] = Field(description="One line of Markdown each.", examples=[["The mill", "The store"]])
    ordered: bool = False


class QuoteBlock(_Block):
    """A quotation, with its source if you know it.

    HTML pages mark it as a quotation for screen readers, too.
    """

    type: Literal["quote"]
    text: LongText = Field(
        description="One line of Markdown.", examples=["The science of operations has its own truth."]
    )
    cite: LongText | None = Field(None, description="Who said it, and where.", examples=["Ada Lovelace, Note A"])


class CodeBlock(_Block):
    """Source code, shown verbatim in a fixed-width font.

    The language is a hint for programs that highlight syntax; pages of the service do not.
    """

    type: Literal["code"]
    text: LongText = Field(examples=["print(sum(range(10)))"])
    language: Name | None = Field(None, examples=["python"])


class ImageBlock(_Block):
    """An image at a URL, with a text that replaces it for people who do not see it.

    Atrium does not store the image itself.
    """

    type: Literal["image"]
    url: Annotated[Link, AfterValidator(_validate_web_address_or_path)] = Field(
        description="A web address, or a path of the site.", examples=["https://example.com/engine.jpg"]
    )
    alt: LongText = Field(
        description="Alternative text. Empty for a decorative image.",
        examples=["The mill, from above"],
    )


class EmbedBlock(_Block):
    """Content of another site, such as a video.

    The page links to it and does not load it, so visitors are not tracked by the other site.
    """

    type: Literal["embed"]
    url: Annotated[WebUrl, AfterValidator(_require_https)] = Field(examples=["https://video.example.com/engine"])


class ButtonBlock(_Block):
    """A prominent link, such as a call to action.

    The address can be a path of the site, a URL or a `mailto:` link.
    """

    type: Literal["button"]
    label: LongText = Field(examples=["Visit us"])
    url: Link = Field(
        description="A web address, an e-mail address by `mailto:`, a path of the site, or `#` and a block's id.",
        examples=["/visit"],
    )


class DividerBlock(_Block):
    """A thematic break between two parts of a page.

    HTML pages show it as a horizontal line.
    """

    type: Literal["divider"]


class ColumnsBlock(_Block):
    """Blocks in columns, if the screen is wide enough.

    On a narrow screen the columns are below each other.
    """

    type: Literal["columns"]
    columns: list[list["Block"]] = Field(
        min_length=1,
        max_length=MAX_COLUMNS,
        description="Columns can contain columns, at most three levels deep.",
        examples=[[[{"id": "mill", "type": "text", "text": "The mill."}], [{"id": "rule", "type": "divider"}]]],
    )


class CustomBlock(_Block):
    """Data for the caller's own programs, such as a chart that your front end draws.

    HTML pages do not show it.
    """

    type: Literal["custom"]
    data: JsonObject = Field(examples=[{"chart": "visitors"}])


_REGISTRY: Final[dict[str, type[_Block]]] = {
    "heading": HeadingBlock,
    "text": TextBlock,
    "list": ListBlock,
    "quote": QuoteBlock,
    "code": CodeBlock,
    "image": ImageBlock,
    "embed": EmbedBlock,
    "button": ButtonBlock,
    "divider": DividerBlock,
    "columns": ColumnsBlock,
    "custom": CustomBlock,
}


def _parse_block(block: Any) -> _Block:
    """Return a block as the model of its type.

    A discriminated union would add the type, which is not a part of the document, to the path of each error.
    """
    block_type = block.get("type") if isinstance(block, dict) else None
    model = _REGISTRY.get(block_type, _UntypedBlock) if isinstance(block_type, str) else _UntypedBlock
    return model.model_validate(block)


_AnyBlock = (
    HeadingBlock
    | TextBlock
    | ListBlock
    | QuoteBlock
    | CodeBlock
    | ImageBlock
    | EmbedBlock
    | ButtonBlock
    | DividerBlock
    | ColumnsBlock
    | CustomBlock
)
Block = Annotated[Any, PlainValidator(_parse_block, json_schema_input_type=_AnyBlock)]


def _validate_blocks(blocks: list[_Block]) -> list[_Block]:
    """Return the blocks of a page. Raises ValidationError for too many blocks, duplicate ids and deep nesting."""
    errors: list[InitErrorDetails] = []
    block_ids: set[str] = set()
    for path, block in _iter_blocks_with_paths(blocks):
        if block.id in block_ids:
            errors.append(InitErrorDetails(type=PydanticCustomError("repeated", ""), loc=(*path, "id"), input=block.id))
        block_ids.add(block.id)
        if isinstance(block, ColumnsBlock) and path.count("columns") == MAX_COLUMN_DEPTH:
            depth_error = out_of_range_error(f"is not allowed here: columns are at most {MAX_COLUMN_DEPTH} levels deep")
            errors.append(InitErrorDetails(type=depth_error, loc=path, input=None))
    count = sum(1 for _ in _iter_blocks_with_paths(blocks))
    if count > MAX_BLOCKS:
        context = {"field_type": "List", "max_length": MAX_BLOCKS, "actual_length": count}
        errors.append(InitErrorDetails(type="too_long", loc=(), input=None, ctx=context))
    if errors:
        raise ValidationError.from_exception_data("list", errors)
    return blocks


def _iter_blocks_with_paths(blocks: Sequence[_Block], path: _BlockPath = ()) -> Iterator[tuple[_BlockPath, _Block]]:
    """Yield blocks and the blocks in their columns in document order, each with its path."""
    for number, block in enumerate(blocks):
        block_path = (*path, number)
        yield block_path, block
        if isinstance(block, ColumnsBlock):
            for column, inner in enumerate(block.columns):
                yield from _iter_blocks_with_paths(inner, (*block_path, "columns", column))


Blocks = Annotated[list[Block], AfterValidator(_validate_blocks)]
"""All blocks of a page."""


class BlockOut(Output):
    """A block of a page, with the fields of its type.

    The types are those of the blocks in a request; programs have to ignore types that they do not know.
    """

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [{"id": "opening", "type": "heading", "level": 2, "text": "How the engine weaves"}],
            VARIANTS_BY_TYPE: {block_type: model.__name__ for block_type, model in _REGISTRY.items()},
        },
    )

    id: str = Field(examples=["opening"])
    type: BlockType = Field(examples=["heading"])
