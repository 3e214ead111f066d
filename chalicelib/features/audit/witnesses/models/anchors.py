"""Response models of the list of anchors."""

from pydantic import Field

from chalicelib.kernel.http.models import Output

_HASH_PATTERN = "^[0-9a-f]{64}$"


class AnchorOut(Output):
    """A leaf of the log of anchors: the size and the root of a log of the service, as they were anchored.

    The data of the leaf (RFC 9162) are three lines, each with a newline: `log`, `treeSize`, and the root in base64.
    """

    index: int = Field(ge=0, description="The index of the leaf in the log of anchors, from 0.", examples=[0])
    log: str = Field(
        pattern=_HASH_PATTERN,
        description="The SHA-256 of the log's origin, hex. The origin is `atrium/` and the id of the organization,"
        " which cannot be guessed from it.",
        examples=["3b2c6c10d0e78072d5e1e1b0f1ae1b3a9f1c2e0d0c3b4a5968778695a4b3c2d1"],
    )
    tree_size: int = Field(ge=1, description="The number of entries of the anchored tree.", examples=[2])
    root_hash: str = Field(
        pattern=_HASH_PATTERN,
        description="The root of the anchored tree, hex.",
        examples=["6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"],
    )


class AnchorListHead(Output):
    """What witnesses have cosigned about the list of anchors."""

    checkpoint: str | None = Field(
        description="The tree head of the log of anchors with most cosignatures, the largest of these (C2SP"
        " tlog-checkpoint, tlog-cosignature). It signs the first anchors of the list, up to its size. Null until a"
        " witness has cosigned, and always on a stage without witnesses.",
        examples=[None],
    )
