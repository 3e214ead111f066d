"""HTTP operations on the project blocks of a platform, and the platforms that use a block."""

from collections.abc import Sequence

from chalicelib.features.platforms.entities import Platform, require_platform_role
from chalicelib.features.platforms.logic.record_set_replacement import replace_record_set
from chalicelib.features.platforms.logic.visibility import list_visible_platforms
from chalicelib.features.platforms.models.schemas import PlatformSummaryListItem
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock, ProjectBlockSet, sort_by_position
from chalicelib.features.platforms.project_blocks.models import ProjectBlockOut, ProjectBlocksPatch
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import Identifier
from chalicelib.kernel.http.models import ListQuery, SmallListQuery
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Container

routes = RouteGroup("platforms")


@routes.get(
    "/platforms/{platform_id}/project-blocks",
    access=require_platform_role(Role.MEMBER),
    scope="platforms:read",
    emits=None,
)
def list_project_blocks(ctx: Context, query: SmallListQuery) -> ListPage[ProjectBlockOut]:
    """List the project blocks of a platform, by position.

    A project block is a part of your product that an organization arranges itself, such as a showcase. Atrium stores
    its order, title and settings; your front end renders it. Blocks that are off are listed, too.
    """
    return ctx.slice_page([ProjectBlockOut.of(block) for block in _load_blocks(ctx)], query)


@routes.patch(
    "/platforms/{platform_id}/project-blocks",
    access=require_platform_role(Role.ADMIN),
    scope="platforms:write",
    emits="platform.project_blocks.updated",
)
def update_project_blocks(ctx: Context, platform: Platform, body: ProjectBlocksPatch) -> ListPage[ProjectBlockOut]:
    """Replace all project blocks of a platform, up to 40 in order. The response lists them.

    Each change raises the version of the platform: `If-Match` takes the platform's `ETag`.
    """
    current = _load_blocks(ctx)
    if "project_blocks" not in body.model_fields_set:
        return ListPage([ProjectBlockOut.of(block) for block in current], None)
    new_blocks = [
        ProjectBlock(
            **ctx.new_id_and_time_fields(),
            **platform.ids_by_parameter,
            position=position,
            **block.to_stored_fields_with_defaults(),
        )
        for position, block in enumerate(body.project_blocks or [])
    ]
    ProjectBlockSet.reject_too_many_or_large_records(new_blocks)

    def block_set(container: Container, blocks: Sequence[ProjectBlock]) -> ProjectBlockSet:
        return ProjectBlockSet.from_container_and_records(container, sort_by_position(blocks))

    stored = replace_record_set(ctx.changes, platform, current, new_blocks, block_set)
    return ListPage([ProjectBlockOut.of(block) for block in sort_by_position(stored)], None)


@routes.get(
    "/project-blocks/{project_block_id}/platforms",
    access=Caller.PRINCIPAL,
    scope="platforms:read",
    emits=None,
)
def list_project_block_platforms(
    ctx: Context, project_block_id: Identifier, query: ListQuery
) -> ListPage[PlatformSummaryListItem]:
    """List the caller's platforms that use a project block, in the order of the list of platforms.

    A page may be short or empty. The list ends when `nextCursor` is null.
    """
    return list_visible_platforms(
        ctx,
        ProjectBlock.in_organization,
        query,
        lambda platform, role: PlatformSummaryListItem.of(platform, role=role),
        make_key_of_required_record=lambda platform_id: ProjectBlock.make_item_key(
            platform_id=platform_id, project_block_id=project_block_id
        ),
        project_block_id=project_block_id,
    )


def _load_blocks(ctx: Context) -> list[ProjectBlock]:
    return sort_by_position(ctx.load_collections_and_keyed_records(ProjectBlock.in_platform).instances_of(ProjectBlock))
