"""Request and response models of proofs."""

from typing import Annotated, ClassVar, Final

from pydantic import Field, ValidationInfo, field_validator

from chalicelib.features.audit.log.models import AuditEntry
from chalicelib.kernel.http.fields import out_of_range_error
from chalicelib.kernel.http.models import Output, Query

MAX_TREE_SIZE: Final = 10**12 - 1
"""Entries of the largest log: sequences have at most 12 digits."""

HexHash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ProofQuery(Query):
    """The tree for which an entry is proven."""

    tree_size: int | None = Field(
        None,
        ge=1,
        le=MAX_TREE_SIZE,
        description="The number of entries of the tree, such as the size in a checkpoint that you stored earlier. It "
        "has to contain the entry. If omitted, the size of the newest checkpoint.",
        examples=[None],
    )

    witnessed_size: int | None = Field(
        None,
        ge=1,
        le=MAX_TREE_SIZE,
        description="The number of cosigned anchors (`witness.treeSize`) in an earlier receipt. `witness` then also"
        " proves that the log of anchors has only grown since.",
        examples=[None],
    )


class ConsistencyQuery(Query):
    """The sizes of the two trees to compare."""

    to: int | None = Field(
        None,
        ge=1,
        le=MAX_TREE_SIZE,
        description="The size of the later tree. If omitted, the size of the newest checkpoint.",
        examples=[None],
    )
    # Declared last, so that its validator sees the other field.
    from_: int = Field(
        alias="from",
        ge=1,
        le=MAX_TREE_SIZE,
        description="The size of the earlier tree, such as the size in a checkpoint that you stored earlier.",
        examples=[1],
    )

    @field_validator("from_")
    @classmethod
    def _not_above_to(cls, from_: int, others: ValidationInfo) -> int:
        to = others.data.get("to")
        if to is not None and from_ > to:
            raise out_of_range_error("must not be greater than `to`")
        return from_


_HASH_EXAMPLE: Final = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
_CONSISTENCY_PATH_DESCRIPTION = (
    "RFC 9162 consistency proof from {} to the size of `checkpoint`. Null if both are the same size."
)
_CHECKPOINT_EXAMPLE: Final = (
    "atrium/01a20500-0000-7000-8000-000000000000\n2\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— atrium/01a20500-0000-7000-8000-000000000000 Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gG"
    "zGku9nTo+zyWE+xeMcTOAYQ8=\n"
)
_COSIGNED_CHECKPOINT_EXAMPLE: Final = (
    "atrium.example.com/anchors\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "— atrium.example.com/anchors Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeM"
    "cTOAYQ8=\n"
    "— witness.example jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkB"
    "IfZ+qnA==\n"
)
_CHECKPOINT_DESCRIPTION = "The newest signed tree head (C2SP tlog-checkpoint). The proof leads to its root."


class AnchorProof(Output):
    """The first anchor of the log after the entry: a signed tree head that was stored outside of the table.

    `path` proves that its tree contains the entry.
    """

    tree_size: int = Field(ge=1, description="The number of entries of the anchored tree.", examples=[2])
    path: list[HexHash] = Field(
        description="RFC 9162 inclusion proof of the entry in the anchored tree, hex.", examples=[[_HASH_EXAMPLE]]
    )
    checkpoint: str = Field(
        description="The signed tree head (C2SP tlog-checkpoint). The data of its leaf in the log of anchors has three"
        " lines, each with a newline: the SHA-256 of its first line in hexadecimal, its second and its third line.",
        examples=[_CHECKPOINT_EXAMPLE],
    )


class WitnessProof(Output):
    """What servers outside of the service have cosigned: one log of the anchors of all organizations.

    `path` proves that it contains the anchor. `verify.py receipt --witness-key` checks the cosignatures.
    """

    anchor: AnchorProof
    index: int = Field(ge=0, description="The index of the anchor in the log of anchors, from 0.", examples=[0])
    tree_size: int = Field(ge=1, description="The number of anchors that the witnesses have cosigned.", examples=[1])
    path: list[HexHash] = Field(
        description="RFC 9162 inclusion proof of the anchor in the log of anchors, hex.", examples=[[]]
    )
    checkpoint: str = Field(
        description="The tree head of the log of anchors, signed by the service and cosigned by witnesses (C2SP"
        " tlog-cosignature).",
        examples=[_COSIGNED_CHECKPOINT_EXAMPLE],
    )
    cosigned_by: list[str] = Field(
        description="The names of the witnesses that have cosigned `checkpoint`. Verify their signatures: the names"
        " prove nothing.",
        examples=[["witness.example"]],
    )
    consistency_path: list[HexHash] | None = Field(
        description="RFC 9162 consistency proof from `witnessedSize` of the query to `treeSize`, hex. Null without"
        " `witnessedSize`, and if it is greater than `treeSize`.",
        examples=[None],
    )


class EntryProof(Output):
    """A proof that an entry is in the log (RFC 9162, section 2.1.3). Save the response: it is a receipt.

    `verify.py receipt` checks it with the public key alone.
    """

    no_store: ClassVar[bool] = True

    entry: AuditEntry
    leaf_hash: HexHash = Field(description="The hash of the entry's leaf, hex.", examples=[_HASH_EXAMPLE])
    sequence: int = Field(
        ge=1, description="The position of the entry. Its leaf has the index `sequence` - 1.", examples=[1]
    )
    tree_size: int = Field(ge=1, description="The number of entries of the tree to which `path` belongs.", examples=[2])
    root_hash: HexHash = Field(description="The root of that tree, hex.", examples=[_HASH_EXAMPLE])
    path: list[HexHash] = Field(
        description="RFC 9162 inclusion proof: the hashes from the leaf to the root, hex.", examples=[[_HASH_EXAMPLE]]
    )
    checkpoint: str = Field(description=_CHECKPOINT_DESCRIPTION)
    consistency_path: list[HexHash] | None = Field(
        description=_CONSISTENCY_PATH_DESCRIPTION.format("`treeSize`"), examples=[None]
    )
    witness: WitnessProof | None = Field(
        description="What witnesses have cosigned. Null until the log was anchored, which happens each hour, and"
        " always null on a stage without witnesses.",
        examples=[None],
    )


class ConsistencyProof(Output):
    """A proof that the log at one size is the beginning of the log at another (RFC 9162, section 2.1.4).

    Compare the roots with those in the checkpoints that you stored.
    """

    no_store: ClassVar[bool] = True

    from_: int = Field(ge=1, serialization_alias="from", description="The size of the earlier tree.", examples=[1])
    to: int = Field(ge=1, description="The size of the later tree.", examples=[2])
    from_root_hash: HexHash = Field(description="The root of the earlier tree, hex.", examples=[_HASH_EXAMPLE])
    to_root_hash: HexHash = Field(description="The root of the later tree, hex.", examples=[_HASH_EXAMPLE])
    path: list[HexHash] = Field(
        description="RFC 9162 consistency proof, hex. Empty if `from` and `to` are equal.", examples=[[_HASH_EXAMPLE]]
    )
    checkpoint: str = Field(description=_CHECKPOINT_DESCRIPTION)
    consistency_path: list[HexHash] | None = Field(
        description=_CONSISTENCY_PATH_DESCRIPTION.format("`to`"), examples=[None]
    )
