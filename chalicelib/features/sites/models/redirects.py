"""What the operations on redirects accept and answer."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.features.sites.models.redirect_targets import source, target
from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.http.models import Input, Patch, RecordOutput

StatusCode = Literal[301, 302, 307, 308]
Origin = Literal["manual", "page"]

FromPath = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(source)]
ToPath = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(target)]


class RedirectCreate(Input):
    """A new redirect."""

    from_path: FromPath = Field(
        description="A path of the site; `/a/*` is all that is below `/a`. Its case makes no difference.",
        examples=["/old-looms"],
    )
    to_path: ToPath = Field(
        "/",
        examples=["/looms"],
        description="A path of the site, or a web address; `:splat` in it stands for what the `*` stood for.",
    )
    status_code: StatusCode = Field(301, description="301 and 308 are permanent.", examples=[301])
    enabled: bool = True


class RedirectPatch(Patch):
    """What of a redirect can be changed. One that was made for a page that moved is a manual one then."""

    from_path: FromPath = Field(examples=["/old-looms"])
    to_path: ToPath = Field("/", examples=["/looms"])
    status_code: StatusCode = Field(301, examples=[308])
    enabled: bool = True


class RedirectOut(RecordOutput):
    """A redirect."""

    site_id: Uuid
    from_path: str = Field(examples=["/old-looms"])
    to_path: str | None = Field(
        description="Where it leads; of a page that moved, where that is now, and null while it is nowhere.",
        examples=["/looms"],
    )
    status_code: StatusCode = Field(examples=[301])
    enabled: bool = Field(examples=[True])
    origin: Origin = Field(
        description="`page`: a page was there, and this leads to it, and all below it to what was there.",
        examples=["manual"],
    )
