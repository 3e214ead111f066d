"""Project blocks: those of a platform, and the platforms that use one."""

from chalicelib.features.platforms.entities import Platform, at_platform
from chalicelib.features.platforms.models import PlatformSummary
from chalicelib.features.platforms.reach import within_reach
from chalicelib.features.project_blocks.entities import ProjectBlock, ProjectBlockSet, in_order
from chalicelib.features.project_blocks.models import ProjectBlockOut, ProjectBlocksPatch
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import Handle
from chalicelib.kernel.http.models import ListQuery, SetQuery
from chalicelib.kernel.operations.operation import Caller, Page, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("platforms")


@routes.get(
    "/platforms/{platform_id}/project-blocks", needs=at_platform(Role.MEMBER), scope="platforms:read", emits=None,
)  # fmt: skip
def list_project_blocks(ctx: Context, query: SetQuery) -> Page[ProjectBlockOut]:
    """List the project blocks of a platform, in their order."""
    return ctx.part([ProjectBlockOut.of(block) for block in _present(ctx)], query)


@routes.patch(
    "/platforms/{platform_id}/project-blocks",
    needs=at_platform(Role.ADMIN), scope="platforms:write", emits="platform.project_blocks.updated",
)  # fmt: skip
def update_project_blocks(ctx: Context, platform: Platform, body: ProjectBlocksPatch) -> Page[ProjectBlockOut]:
    """Replace the project blocks of a platform, up to 40 in their order, at once; the answer lists them.

    Every change of them gives the platform another version: `If-Match` takes the platform's `ETag`.
    """
    present = _present(ctx)
    if "project_blocks" not in body.model_fields_set:
        return Page([ProjectBlockOut.of(block) for block in present], None)
    wanted = [
        ProjectBlock(**ctx.new(), **platform.ids, position=position, **block.fields())
        for position, block in enumerate(body.project_blocks or [])
    ]
    ProjectBlockSet.refuse_excess(wanted)
    kept = ctx.changes.replace(
        platform, present, wanted, lambda place, blocks: ProjectBlockSet.of(place, in_order(blocks))
    )
    return Page([ProjectBlockOut.of(block) for block in in_order(kept)], None)


@routes.get(
    "/project-blocks/{project_block_id}/platforms",
    needs=Caller.PRINCIPAL, scope="platforms:read", emits=None,
)  # fmt: skip
def list_project_block_platforms(ctx: Context, project_block_id: Handle, query: ListQuery) -> Page[PlatformSummary]:
    """List those of the caller's platforms that use a project block, in the order of the list of platforms.

    A page may be short or empty: the list ends where `nextCursor` is null.
    """
    return within_reach(
        ctx, ProjectBlock.in_organization, query, PlatformSummary.of,
        having=lambda platform_id: ProjectBlock.key_of(platform_id=platform_id, project_block_id=project_block_id),
        project_block_id=project_block_id,
    )  # fmt: skip


def _present(ctx: Context) -> list[ProjectBlock]:
    return in_order(ctx.gather(ProjectBlock.in_platform).of(ProjectBlock))
