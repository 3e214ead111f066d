"""Request and response models of the redirect operations."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from chalicelib.features.sites.models.redirect_targets import checked_target, normalize_source_path
from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.http.models import Input, Patch, RecordOutput

StatusCode = Literal[301, 302, 307, 308]
Origin = Literal["manual", "page"]

FromPath = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(normalize_source_path)]
ToPath = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(checked_target)]


class RedirectCreate(Input):
    """A redirect to create.

    `/old/*` matches everything below `/old`, and `:splat` in the target stands for the rest of the path.
    """

    from_path: FromPath = Field(
        description="A path of the site. `/a/*` matches everything below `/a`. Case is ignored.",
        examples=["/old-looms"],
    )
    to_path: ToPath = Field(
        "/",
        examples=["/looms"],
        description="A path of the site, or a web address. `:splat` stands for what the `*` matched.",
    )
    status_code: StatusCode = Field(301, description="301 and 308 are permanent.", examples=[301])
    enabled: bool = True


class RedirectPatch(Patch):
    """Changes to a redirect, which take effect for the next visitor.

    A redirect of a moved page becomes a manual one: it no longer follows the page.
    """

    from_path: FromPath = Field(examples=["/old-looms"])
    to_path: ToPath = Field("/", examples=["/looms"])
    status_code: StatusCode = Field(301, examples=[308])
    enabled: bool = True


class RedirectOut(RecordOutput):
    """A redirect of a path of a site to another path or address.

    Search engines follow it, so a page keeps its rank when it moves.
    """

    site_id: Uuid
    from_path: str = Field(examples=["/old-looms"])
    to_path: str | None = Field(
        description="The target; for a moved page its current path, or null while the page is not published.",
        examples=["/looms"],
    )
    status_code: StatusCode = Field(examples=[301])
    enabled: bool = Field(examples=[True])
    origin: Origin = Field(
        description="`page` if a page was at this path: the path, and the paths below it, redirect to the moved pages.",
        examples=["manual"],
    )
