"""The blocks a page is made of: one model for each type, and the registry of them all."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, PlainValidator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import ElementId, JsonObject, Link, LongText, Name, WebUrl, out_of_range
from chalicelib.kernel.http.models import Input, Output

BlockType = Literal[
    "heading", "text", "list", "quote", "code", "image", "embed", "button", "divider", "columns", "custom"
]
MOST_BLOCKS: Final = 1000
MOST_COLUMNS: Final = 6
MOST_LEVELS: Final = 3

_Path = tuple[int | str, ...]
"""Where a block stands in a page's blocks, such as (2, "columns", 0, 1)."""


def _picture(url: str) -> str:
    if ascii_lower(url).startswith(("mailto:", "#")):
        raise ValueError("must be a web address, or a path that begins with one /")
    return url


def _secure(url: str) -> str:
    if not ascii_lower(url).startswith("https:"):
        raise ValueError("must be a web address that begins with https://")
    return url


class _Block(Input):
    """What every block has."""

    id: ElementId = Field(description="Different from that of every other block of the page.", examples=["opening"])
    type: BlockType


class _OfAnyType(_Block):
    """A block before its type is known."""

    model_config = ConfigDict(extra="ignore")


class HeadingBlock(_Block):
    """A heading."""

    type: Literal["heading"]
    level: int = Field(ge=1, le=6, examples=[2])
    text: LongText = Field(description="Markdown, of one line.", examples=["How the engine weaves"])


class TextBlock(_Block):
    """Paragraphs, and what else Markdown has."""

    type: Literal["text"]
    text: LongText = Field(
        description="Markdown: CommonMark with tables and strikethrough. HTML in it is shown, not obeyed.",
        examples=["It weaves **algebraic patterns**, as the loom weaves flowers."],
    )


class ListBlock(_Block):
    """A list."""

    type: Literal["list"]
    items: list[LongText] = Field(description="Markdown, of one line each.", examples=[["The mill", "The store"]])
    ordered: bool = False


class QuoteBlock(_Block):
    """What somebody else said."""

    type: Literal["quote"]
    text: LongText = Field(
        description="Markdown, of one line.", examples=["The science of operations has its own truth."]
    )
    cite: LongText | None = Field(None, description="Who said it, and where.", examples=["Ada Lovelace, Note A"])


class CodeBlock(_Block):
    """A program, shown as it is."""

    type: Literal["code"]
    text: LongText = Field(examples=["print(sum(range(10)))"])
    language: Name | None = Field(None, examples=["python"])


class ImageBlock(_Block):
    """A picture."""

    type: Literal["image"]
    url: Annotated[Link, AfterValidator(_picture)] = Field(
        description="A web address, or a path of the site.", examples=["https://example.com/engine.jpg"]
    )
    alt: LongText = Field(
        description="What it shows, for those who don't see it; empty if it only decorates.",
        examples=["The mill, from above"],
    )


class EmbedBlock(_Block):
    """Something that another site shows; the page leads there."""

    type: Literal["embed"]
    url: Annotated[WebUrl, AfterValidator(_secure)] = Field(examples=["https://video.example.com/engine"])


class ButtonBlock(_Block):
    """A link that stands out."""

    type: Literal["button"]
    label: LongText = Field(examples=["Visit us"])
    url: Link = Field(
        description="A web address, an e-mail address by `mailto:`, a path of the site, or `#` and a block's id.",
        examples=["/visit"],
    )


class DividerBlock(_Block):
    """A line between what is before and what is after it."""

    type: Literal["divider"]


class ColumnsBlock(_Block):
    """Blocks side by side, where there is room for it."""

    type: Literal["columns"]
    columns: list[list["Block"]] = Field(
        min_length=1,
        max_length=MOST_COLUMNS,
        description="Columns may stand in columns, three levels deep at most.",
        examples=[[[{"id": "mill", "type": "text", "text": "The mill."}], [{"id": "rule", "type": "divider"}]]],
    )


class CustomBlock(_Block):
    """What only the caller's own programs understand; pages that people read don't show it."""

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


def _of_its_type(block: Any) -> _Block:
    """Return a block as its type's model.

    A discriminated union would do the same, but put the type into the place of every fault: a place that isn't there.
    """
    known = _OfAnyType.model_validate(block)
    return _REGISTRY[known.type].model_validate(block)


_One = (
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
Block = Annotated[Any, PlainValidator(_of_its_type, json_schema_input_type=_One)]


def _a_page(blocks: list[_Block]) -> list[_Block]:
    """Return all blocks of a page, if they are not too many, not too deep, and each has an id of its own."""
    faults: list[InitErrorDetails] = []
    seen: set[str] = set()
    for path, block in _placed(blocks):
        if block.id in seen:
            faults.append(InitErrorDetails(type=PydanticCustomError("repeated", ""), loc=(*path, "id"), input=block.id))
        seen.add(block.id)
        if isinstance(block, ColumnsBlock) and path.count("columns") == MOST_LEVELS:
            deep = out_of_range(f"must not stand here: columns are at most {MOST_LEVELS} levels deep")
            faults.append(InitErrorDetails(type=deep, loc=path, input=None))
    count = sum(1 for _ in _placed(blocks))
    if count > MOST_BLOCKS:
        lengths = {"field_type": "List", "max_length": MOST_BLOCKS, "actual_length": count}
        faults.append(InitErrorDetails(type="too_long", loc=(), input=None, ctx=lengths))
    if faults:
        raise ValidationError.from_exception_data("list", faults)
    return blocks


def _placed(blocks: Sequence[_Block], at: _Path = ()) -> Iterator[tuple[_Path, _Block]]:
    """Yield blocks and those in their columns, in the order of reading, each with where it stands."""
    for number, block in enumerate(blocks):
        path = (*at, number)
        yield path, block
        if isinstance(block, ColumnsBlock):
            for column, inner in enumerate(block.columns):
                yield from _placed(inner, (*path, "columns", column))


Blocks = Annotated[list[Block], AfterValidator(_a_page)]
"""All blocks of a page."""


class BlockOut(Output):
    """A block of a page, with the fields of its type."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["opening"])
    type: BlockType = Field(examples=["heading"])
