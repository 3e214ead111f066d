"""Where drafts come to be, move and go: what becomes of the page, of those above, and of what leads to it.

What relies on a path holds on condition that the tree of the drafts has the version it was read with.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.sites.entities.sites import DRAFT, LIVE, Site, TreeName, tree_of, trees_of
from chalicelib.features.sites.pages.entities.pages import SAID, Content, Page, Removal, Revision, guard_of
from chalicelib.features.sites.pages.entities.slug_index import trail_key
from chalicelib.features.sites.pages.logic.tree_positions import Trees, ids_of, refuse_cycle, refuse_depth, refuse_twin
from chalicelib.features.sites.pages.models.schemas import MOST_BYTES, MOST_DEPTH, PageCreate, PagePatch
from chalicelib.features.sites.pages.models.slugs import RESERVED_PAGE_SLUGS
from chalicelib.features.sites.rendering.logic.limits import TooComplex
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import SLUG_PATTERN, UUID_PATTERN, slug_from
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import children

MOST_BELOW_A_NEW_HOME: Final = 1000

_MOVE_IT: Final = "Choose another page as its parent."
_HOMELESS: Final = "A site keeps its home until another page is: set `isHome` of that."


def surroundings(request: Request) -> list[ItemKey]:
    """Return what decides where the page of a request may be: both trees, its parent, the trail of its slug."""
    site_id, said = request.parameters["site_id"], request.unvalidated_body
    keys = trees_of(site_id)
    parent, slug, title = (said.get(field) for field in ("parentId", "slug", "title"))
    if slug is None and isinstance(title, str) and request.method == "POST":
        slug = slug_from(title)
    if isinstance(slug, str) and re.fullmatch(SLUG_PATTERN, slug.strip()):
        keys.append(trail_key(tree_of(site_id, DRAFT), slug.strip()))
    if isinstance(parent, str) and re.fullmatch(UUID_PATTERN, ascii_lower(parent.strip())):
        keys.append(Page.make_item_key(site_id=site_id, id=ascii_lower(parent.strip())))
    return keys


def plant(ctx: Context, site: Site, body: PageCreate) -> Page:
    """Create a page with its first draft. Raises Problem if it can't be where it is to be."""
    trees = Trees(ctx.changes, site.id, ctx.access.prefetched)
    line = _line(trees, body.parent_id)
    refuse_depth(site.id, trees.state(DRAFT), "", len(line), has_children=False)
    slug = ctx.choose_slug(body.slug, body.title, RESERVED_PAGE_SLUGS)
    fields = body.model_dump(mode="json", exclude={"is_home", "blocks"}) | {"slug": slug}
    page = Page(
        **ctx.new_record_fields(),
        **site.ancestor_ids,
        **fields,
        lineage=ids_of(line),
        placed=trees.state(DRAFT).version,
        draft_revision_id=ctx.new_record_fields()["id"],
        status="scheduled" if body.publish_at else "draft",
        blocks=_blocks(body),
    )
    page = ctx.changes.create(page.replace(line=(*line, page.seat), home=trees.state(DRAFT).home))
    _keep(ctx, page)
    trees.steps(DRAFT).lead_to(page.seat)
    trees.count(body.parent_id, child_count=1)
    refuse_twin(trees, DRAFT, page, page.parent_id, page.slug)
    if body.is_home or page.home is None:
        page = _make_home(trees, site, page)
    trees.write()
    return page


def change(ctx: Context, trees: Trees, site: Site, page: Page, body: PagePatch) -> Page:
    """Let a page be as a patch says. What a revision says of it makes a new one, which becomes the draft.

    Raises Problem if it can't be where it is to be.
    """
    fields = body.model_dump(mode="json", include={*SAID})
    changed = revise(ctx, trees, page, {**fields, "blocks": _blocks(body)})
    if page.is_home and not body.is_home:
        raise ValidationProblem([FieldError("/isHome", "required", _HOMELESS)])
    if body.is_home and not page.is_home:
        changed = _make_home(trees, site, changed)
    return changed


def restore(ctx: Context, site: Site, page: Page, revision: Revision) -> Page:
    """Let the draft of a page be what a revision was: where that was too, unless another page is there now."""
    trees = Trees(ctx.changes, site.id, ctx.access.prefetched)
    said = revision.domain_fields
    if (revision.parent_id, revision.slug) != (page.parent_id, page.slug) and not _is_free(trees, page, revision):
        said |= {"parent_id": page.parent_id, "slug": page.slug}
    restored = revise(ctx, trees, page, said, restored_from=revision.id)
    trees.write()
    return restored


def revise(ctx: Context, trees: Trees, page: Page, said: Mapping[str, Any], restored_from: str | None = None) -> Page:
    """Let a page have another draft, which says this, and move where it says so."""
    if not restored_from and all(getattr(page, name) == value for name, value in said.items()):
        return page
    moved = _moved(trees, page, said["parent_id"], said["slug"])
    revised = ctx.changes.update(page, **{**said, **moved, "draft_revision_id": ctx.new_record_fields()["id"]})
    # What was stored once can be moved, renamed and restored, whatever the limits are by now.
    _keep(ctx, revised, restored_from, known=bool(restored_from) or said["blocks"] == page.blocks)
    return revised


def _moved(trees: Trees, page: Page, parent_id: str | None, slug: str) -> dict[str, Any]:
    """Return the fields of a page that moves to another parent, or by its slug; nothing if it does neither."""
    if (parent_id, slug) == (page.parent_id, page.slug):
        return {}
    line = page.line[:-1] if parent_id == page.parent_id else _line(trees, parent_id)
    if parent_id != page.parent_id:
        refuse_cycle(page.id, line, _MOVE_IT)
        deeper = len(line) >= len(page.line)
        refuse_depth(
            trees.site_id, trees.state(DRAFT), page.id, len(line), has_children=deeper and page.child_count > 0
        )
        trees.count(page.parent_id, child_count=-1)
        trees.count(parent_id, child_count=1)
    version = trees.place_anew(DRAFT, page.id)
    placed = page.replace(parent_id=parent_id, slug=slug, lineage=ids_of(line), placed=version)
    trees.steps(DRAFT).leave(page.seat)
    trees.steps(DRAFT).lead_to(placed.seat)
    refuse_twin(trees, DRAFT, page, parent_id, slug)
    return {"lineage": placed.lineage, "placed": placed.placed, "line": (*line, placed.seat)}


def _is_free(trees: Trees, page: Page, revision: Revision) -> bool:
    """Return whether a page can be where a revision of it was."""
    parent = trees.page(revision.parent_id)
    if revision.parent_id and (parent is None or (parent := parent.shown_in(trees.read)) is None):
        return False
    line = parent.line if parent else ()
    home = trees.state(DRAFT).home
    beside = {None, home} if revision.parent_id in (None, home) else set[str | None]()
    keys = {above: guard_of(trees.site_id, DRAFT, above, revision.slug) for above in {revision.parent_id, *beside}}
    guards = table.get_all(keys.values())
    # The home itself is at `/`: its slug is in nobody's way but its siblings'.
    others = {
        guard["ref"]
        for above, key in keys.items()
        for guard in [guards.get(key)]
        if guard and (guard["ref"] != home or above == revision.parent_id)
    } - {page.id}
    fits = len(line) < MOST_DEPTH and (revision.parent_id == page.parent_id or not page.child_count)
    return fits and not others and page.id not in ids_of(line)


def _make_home(trees: Trees, site: Site, page: Page) -> Page:
    """Let a page be the home: of the drafts at once, and to the public as soon as it is published.

    Raises Problem if what is below it would have the path of another page then.
    """
    _refuse_twins_below(trees, DRAFT, page)
    trees.let(DRAFT, **trees.state(DRAFT).with_home(page.id, trees.changes.now))
    if page.published_revision_id:
        make_live_home(trees, page, page.published_revision_id)
    trees.changes.set_event_subject(page)
    home = trees.changes.bump_version(page, home=page.id)
    trees.changes.update_untracked(site, home_page_id=page.id)
    return home


def make_live_home(trees: Trees, page: Page, revision_id: str) -> None:
    """Let a page be the home of what is published, where a revision of it is shown."""
    _refuse_twins_below(trees, LIVE, page)
    trees.let(LIVE, **trees.state(LIVE).with_home(page.id, trees.changes.now), home_revision_id=revision_id)


def _refuse_twins_below(trees: Trees, name: TreeName, page: Page) -> None:
    """Raise Problem if what is right below a page would have another's path, were it below the home.

    None comes to be there meanwhile: that would be another version of the tree.
    """
    number = page.child_count if name == DRAFT else page.live_count
    if not number:
        return
    if number > MOST_BELOW_A_NEW_HOME:
        detail = f"It has {number} pages below it; a page that becomes the home has at most {MOST_BELOW_A_NEW_HOME}."
        raise Problem.for_field("/isHome", "limit_exceeded", f"{detail} Move some first.")
    slugs = sorted(str(seat["slug"]) for seat in children(tree_of(trees.site_id, name), page.id))
    if len(slugs) != number:
        raise ConcurrentModification  # Another came or went just now.
    beside = {slug: guard_of(trees.site_id, name, None, slug) for slug in slugs}
    guards = table.get_all(beside.values())
    taken = [slug for slug in slugs if guards.get(beside[slug], {}).get("ref", page.id) != page.id]
    if taken:
        detail = "Below it and beside it there are pages with the same slug, which would be at one path"
        raise Problem.for_field("/isHome", "slug_taken", f"{detail}: {', '.join(taken)}. Change one of each first.")


def uproot(ctx: Context, site: Site, page: Page, *, cascade: bool) -> None:
    """Delete a page, and what is below it. Raises Problem `not_empty` if that is something, and not to be deleted."""
    below = max(page.child_count, page.live_count)
    if below and not cascade:
        noun = "page" if below == 1 else "pages"
        detail = f"It has {below} {noun} below it. Send `strategy=cascade` to delete all of it, or move them first."
        raise Problem.for_field("query/strategy", "not_empty", detail)
    trees = Trees(ctx.changes, site.id, ctx.access.prefetched)
    leave(trees, page, ctx.now)
    ctx.changes.delete(page)
    if site.home_page_id == page.id:
        ctx.changes.update_untracked(site, home_page_id=None)
    trees.write()
    removal = Removal(**ctx.new_record_fields(), **page.ids, page_id=page.id, turn_at=ctx.now)
    ctx.changes.enqueue_after_commit(Removal.task, ctx.changes.create(removal))


def leave(trees: Trees, page: Page, moment: str) -> None:
    """Let a page that goes have no seat in either tree. Where it was published still leads to what was below it."""
    trees.steps(DRAFT).leave(page.seat)
    trees.count(page.parent_id, child_count=-1)
    if trees.state(DRAFT).home == page.id:
        trees.let(DRAFT, **trees.state(DRAFT).with_home(None, moment))
    if page.live_placed is not None:
        trees.unseat(page, moment)
    if trees.state(LIVE).home == page.id:
        trees.let(LIVE, **trees.state(LIVE).with_home(None, moment), home_revision_id=None)


def _line(trees: Trees, page_id: str | None) -> tuple[Item, ...]:
    """Return the page that another is to be below, and those above it. Raises Invalid if there is none."""
    page = trees.page(page_id)
    parent = page.shown_in(trees.read) if page else None
    if page_id and parent is None:
        raise ValidationProblem([FieldError("/parentId", "unknown", "No page of this site has this id.")])
    return parent.line if parent else ()


def _blocks(body: PageCreate | PagePatch) -> tuple[Mapping[str, Any], ...]:
    """Return the blocks of a body as they are stored. Raises Problem `payload_too_large`."""
    blocks = tuple(block.model_dump(mode="json", by_alias=True) for block in body.blocks)
    size = len(to_json(blocks))
    if size > MOST_BYTES:
        detail = f"The blocks of a page have at most {MOST_BYTES} bytes as JSON; these have {size}."
        raise Problem.for_field("/blocks", "payload_too_large", detail)
    return blocks


def _keep(ctx: Context, page: Page, restored_from: str | None = None, *, known: bool = False) -> None:
    """Keep the draft of a page as a revision. Raises Invalid if its blocks are not `known`, and can't be shown."""
    begun = {**ctx.new_record_fields(), "id": page.draft_revision_id}
    said = {name: getattr(page, name) for name in SAID}
    content = Content.of(page, begun)
    if not known:
        _refuse_complex(content)
    ctx.changes.create(
        Revision(
            **begun,
            **page.ids,
            **said,
            page_id=page.id,
            created_by=ctx.principal.id,
            restored_from=restored_from,
        )
    )
    ctx.changes.create(content)


def _refuse_complex(content: Content) -> None:
    """Raise Invalid if blocks exceed what a page can hold as people see it."""
    refused = content.rendering.result
    if isinstance(refused, TooComplex):
        pointer = "".join(f"/{each}" for each in ("blocks", *refused.path))
        raise ValidationProblem([FieldError(pointer, "too_complex", str(refused))])
