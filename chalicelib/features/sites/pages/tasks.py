"""Scheduled publication, rendering, and removal of the pages below a deleted page."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import tree_state_keys
from chalicelib.features.sites.pages.entities.pages import (
    RENDER_TASK,
    SCHEDULE_TASK,
    Content,
    Page,
    PageRemoval,
    Revision,
    page_status,
)
from chalicelib.features.sites.pages.entities.renderings import StoredRendering
from chalicelib.features.sites.pages.logic.page_changes import remove_from_trees
from chalicelib.features.sites.pages.logic.publishing import PagePublisher, remove_from_published_tree_and_build_fields
from chalicelib.features.sites.pages.logic.tree_positions import EditablePage, SiteTreesUnitOfWork
from chalicelib.features.tenancy.purges.logic import try_purge_references_to_record
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, Partition
from chalicelib.kernel.storage.item_reads import perform_reads
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, scheduler, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_BATCH_SIZE: Final = 25
_PASS_COUNT: Final = 2
_RETRY_SECONDS: Final = 60
_PAUSE_SECONDS: Final = 60
"""Time between passes. It is longer than indexes usually lag."""


@task(SCHEDULE_TASK, emits={"page.published": Page, "page.unpublished": Page})
def run_schedule(message: dict[str, Any]) -> None:
    """Publish a page whose `publishAt` is due, or unpublish it if its `unpublishAt` is due, whichever came first.

    If the page cannot be published, it is tried again each minute until somebody resolves the conflict or removes the
    schedule.
    """
    stored_page = tasks.load_record_or_none(EditablePage, message)
    tree_states = table.get_all(tree_state_keys(stored_page.site_id)) if stored_page else {}
    if stored_page is None or len(tree_states) < len(tree_state_keys(stored_page.site_id)):
        return
    items, page = perform_reads(stored_page.hydration_reads(tree_states), tree_states)
    if page is None or page.scheduled_task is None or page.scheduled_task.at > now():
        return
    changes = UnitOfWork(now())
    trees = SiteTreesUnitOfWork(changes, page.site_id, items)
    try:
        event, updated = _apply_schedule_and_name_event(PagePublisher(trees, page), page)
        trees.add_changes_to_unit_of_work()
        if updated is page:  # It is published or unpublished already.
            changes.update(page, touch=True, **_cleared_due_schedule_fields(page, page.scheduled_task.at))
            changes.commit()
        else:
            changes.event(updated, event)
            outbox.commit(changes, Origin.system(SCHEDULE_TASK))
    except Problem as problem:
        if problem.is_server_error:
            raise
        add_fields(page=f"not published yet: {problem.code}")
        scheduler.postpone(page, seconds=_RETRY_SECONDS)  # The service works, so the task is not overdue.


def _apply_schedule_and_name_event(publisher: PagePublisher, page: Page) -> tuple[str, Page]:
    if page.scheduled_task and page.scheduled_task.at == page.publish_at:
        return "page.published", publisher.publish_now(page, was_scheduled_for=page.publish_at)
    return "page.unpublished", publisher.unpublish()


def _cleared_due_schedule_fields(page: Page, due_timestamp: str) -> dict[str, Any]:
    schedule = {"publish_at": page.publish_at, "unpublish_at": page.unpublish_at}
    cleared: dict[str, Any] = {name: None for name, due_at in schedule.items() if due_at == due_timestamp}
    return {**cleared, "status": page_status(page, None if "publish_at" in cleared else page.publish_at)}


@task(RENDER_TASK)
def render_content(message: dict[str, Any]) -> None:
    """Render the content of a revision that the current renderer has not rendered yet.

    A request that needs the rendering enqueues this task, and renders the content itself meanwhile. If the content
    changes concurrently, that change stores a rendering, or a later request enqueues the task again.
    """
    content = tasks.load_record_or_none(Content, message)
    if content is None:
        return
    ids = {"page_id": content.page_id, "id": content.id}
    items = table.get_all([StoredRendering.make_item_key(**ids), Revision.make_item_key(**ids)])
    rendering, revision = (items.get(record_type.make_item_key(**ids)) for record_type in (StoredRendering, Revision))
    if revision is None or (rendering and StoredRendering.from_item(rendering).is_current):
        return
    changes = UnitOfWork(now())
    if content.repeats_title is None:
        changes.update_untracked(content, repeats_title=content.with_repeats_title(revision["title"]).repeats_title)
    else:
        changes.require_unchanged(content)
        for item in content.derived_items:
            changes.add_write(Write("Put", (item["pk"], item["sk"]), item=item))
    with suppress(ConcurrentModification):
        changes.commit()


@task(PageRemoval.task, emits={"page.unpublished": Page})
def run_page_removal(message: dict[str, Any]) -> None:
    """Remove a deleted page's revisions, the redirects to it and all pages below it."""
    job, deadline = jobs.claim(PageRemoval, message), jobs.slice_deadline_monotonic()
    if job is None:
        return
    try:
        is_complete = _remove_own_records_and_descendants(job.site_id, job.page_id, deadline)
    except ConcurrentModification:
        is_complete = False
    if not is_complete and time.monotonic() > deadline:
        jobs.release(job)
    elif not is_complete:
        jobs.release_with_growing_delay(job)
    elif job.passes + 1 < _PASS_COUNT:
        jobs.release(job, delay_seconds=_PAUSE_SECONDS, passes=job.passes + 1)
    else:
        jobs.remove(job)


def _remove_own_records_and_descendants(site_id: str, page_id: str, deadline: float) -> bool:
    """Remove the records of a deleted page, and its descendants from the bottom up. Return False if time is up.

    In this order an interrupted run leaves no page that cannot be found from its parent.
    """
    while table.delete_batch(f"R#{page_id}"):
        pass
    if not try_purge_references_to_record(Page.kind, page_id, deadline):
        return False
    redirects = Redirect.of_page.partition(site_id=site_id, page_id=page_id)
    for items in table.iter_item_pages(redirects, limit=_BATCH_SIZE):
        _remove_redirects(table.read_current(items, redirects))
    for item in _iter_current_items(Page.by_parent.partition(site_id=site_id, parent_id=page_id)):
        if time.monotonic() > deadline:
            return False
        if not _remove_own_records_and_descendants(site_id, item["id"], deadline):
            return False
        _remove_page(site_id, item["id"])
    return _unpublish_descendants(site_id, page_id, deadline)


def _unpublish_descendants(site_id: str, page_id: str, deadline: float) -> bool:
    """Unpublish the pages that are only published below a deleted page. Return False if time is up."""
    for item in _iter_current_items(Page.by_published_parent.partition(site_id=site_id, published_parent_id=page_id)):
        if time.monotonic() > deadline:
            return False
        if not _unpublish_descendants(site_id, item["id"], deadline):
            return False
        _unpublish_below_deleted_parent(site_id, item["id"])
    return True


def _iter_current_items(partition: Partition) -> Iterator[Item]:
    """Yield the current items of an index partition. Pages that have moved away must not be removed."""
    for items in table.iter_item_pages(partition):
        yield from table.read_current(items, partition)


def _remove_redirects(redirect_items: list[Item]) -> None:
    changes = UnitOfWork(now())
    for item in redirect_items:
        changes.delete(Redirect.from_item(item))
    if not changes.is_empty:
        changes.commit()


def _remove_page(site_id: str, page_id: str) -> None:
    """Remove a page whose parent is deleted."""
    loaded = _load_page_and_trees_or_none(site_id, page_id)
    if loaded:
        page, trees = loaded
        remove_from_trees(trees, page)
        trees.changes.delete(page)
        trees.add_changes_to_unit_of_work()
        trees.changes.commit()


def _unpublish_below_deleted_parent(site_id: str, page_id: str) -> None:
    """Unpublish a page whose published parent is deleted. The ancestors of its draft may be deleted, too."""
    loaded = _load_page_and_trees_or_none(site_id, page_id)
    if loaded is None or loaded[0].published_tree_version is None:
        return
    page, trees = loaded
    hydrated_page = trees.load_with_breadcrumbs_or_none(page, with_blocks=True)
    trees.changes.update(hydrated_page or page, **remove_from_published_tree_and_build_fields(trees, page))
    trees.add_changes_to_unit_of_work()
    if hydrated_page and page.published_revision_id:
        trees.changes.event(hydrated_page, "page.unpublished")
        outbox.commit(trees.changes, Origin.system(PageRemoval.task))
    else:
        trees.changes.commit()


def _load_page_and_trees_or_none(site_id: str, page_id: str) -> tuple[Page, SiteTreesUnitOfWork] | None:
    """Return a page and a unit of work for the trees of its site, or None if the page or the site is deleted."""
    key = Page.make_item_key(site_id=site_id, id=page_id)
    items = table.get_all([key, *tree_state_keys(site_id)])
    is_complete = len(items) > len(tree_state_keys(site_id))
    return (Page.from_item(items[key]), SiteTreesUnitOfWork(UnitOfWork(now()), site_id, items)) if is_complete else None
