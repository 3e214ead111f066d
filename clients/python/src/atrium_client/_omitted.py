"""The default of parameters that are not sent."""

from typing import Final, final


@final
class Omitted:
    """The type of OMITTED, which differs from None: None is sent as null."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "OMITTED"


OMITTED: Final = Omitted()
"""The value of a field or parameter that is not sent."""
