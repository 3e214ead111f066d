"""What happens to pages at their time, and to what a deleted one leaves."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import trees_of
from chalicelib.features.sites.pages.entities.pages import RENDER, TURN, Content, Page, Removal, Revision, status_of
from chalicelib.features.sites.pages.entities.renderings import Rendered
from chalicelib.features.sites.pages.logic.page_changes import leave
from chalicelib.features.sites.pages.logic.publishing import Publishing, orphan
from chalicelib.features.sites.pages.logic.tree_positions import PageToChange, Trees
from chalicelib.features.tenancy.purges.logic import purge_references
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.logs import add_fields
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, Partition
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import jobs, outbox, tasks
from chalicelib.kernel.work.outbox import Origin
from chalicelib.kernel.work.tasks import task

_AT_ONCE: Final = 25
_OUR_FAULT: Final = 500
_PASSES: Final = 2
_PAUSE_SECONDS: Final = 60
"""Longer than an index lags."""


@task(TURN, emits={"page.published": Page, "page.unpublished": Page})
def take_turn(message: dict[str, Any]) -> None:
    """Publish a page whose `publishAt` has come, or take it back whose `unpublishAt` has, whichever was first.

    What can't be published where it would be is tried again with each sweep, until somebody makes room for it or takes
    the time away.
    """
    about = tasks.load_record(PageToChange, message)
    read = table.get_all(trees_of(about.site_id)) if about else {}
    page = about.hydrate(read) if about and len(read) > 1 else None
    if page is None or page.scheduled_task is None or page.scheduled_task.at > now():
        return
    changes = UnitOfWork(now())
    trees = Trees(changes, page.site_id, read)
    try:
        event, turned = _turned(Publishing(trees, page, changes.now), page)
        trees.write()
        if turned is page:  # It is so already.
            changes.update_untracked(page, **_over(page, page.scheduled_task.at))
            changes.commit()
        else:
            outbox.commit(changes, event, Origin.system(TURN))
    except Problem as problem:
        if problem.status >= _OUR_FAULT:
            raise
        add_fields(page=f"not published yet: {problem.code}")


def _turned(publishing: Publishing, page: Page) -> tuple[str, Page]:
    if page.scheduled_task and page.scheduled_task.at == page.publish_at:
        return "page.published", publishing.publish(page, since=page.publish_at)
    return "page.unpublished", publishing.take_back()


def _over(page: Page, moment: str) -> dict[str, Any]:
    times = {"publish_at": page.publish_at, "unpublish_at": page.unpublish_at}
    over: dict[str, Any] = {name: None for name, at in times.items() if at == moment}
    return {**over, "status": status_of(page, None if "publish_at" in over else page.publish_at)}


@task(RENDER)
def render_content(message: dict[str, Any]) -> None:
    """Render what a revision consists of that this renderer has not rendered yet.

    Whoever wants to see it asks for that, and meanwhile renders it for themselves. What changes at the same moment is
    rendered with that, or asked for again.
    """
    content = tasks.load_record(Content, message)
    if content is None:
        return
    names = {"page_id": content.page_id, "id": content.id}
    read = table.get_all([Rendered.make_item_key(**names), Revision.make_item_key(**names)])
    rendered, revision = (read.get(kind.make_item_key(**names)) for kind in (Rendered, Revision))
    if revision is None or (rendered and Rendered.from_item(rendered).is_current):
        return
    changes = UnitOfWork(now())
    if content.titled is None:
        changes.update_untracked(content, titled=content.beneath(revision["title"]).titled)
    else:
        changes.require_unchanged(content)
        for item in content.derived_items:
            changes.add_write(Write("Put", (item["pk"], item["sk"]), item=item))
    with suppress(ConcurrentModification):
        changes.commit()


@task(Removal.task, emits={"page.unpublished": Page})
def remove_below(message: dict[str, Any]) -> None:
    """Remove what a deleted page leaves: its revisions, the redirects that led to it, and all pages below it."""
    job, until = jobs.claim(Removal, message), jobs.slice_ends_at()
    if job is None:
        return
    try:
        done = _clear(job.site_id, job.page_id, until)
    except ConcurrentModification:
        done = False
    if not done and time.monotonic() > until:
        jobs.release(job)
    elif not done:
        jobs.retry_later(job)
    elif job.passes + 1 < _PASSES:
        jobs.release(job, seconds=_PAUSE_SECONDS, passes=job.passes + 1)
    else:
        jobs.remove(job)


def _clear(site_id: str, page_id: str, until: float) -> bool:
    """Remove what belonged to a page that is gone, and what is below it, the lowest first; False if time is over.

    So whatever ends it, what is left is found from above.
    """
    while table.delete_batch(f"R#{page_id}"):
        pass
    if not purge_references(Page.kind, page_id, until):
        return False
    led_here = Redirect.of_page.partition(site_id=site_id, page_id=page_id)
    for items in table.iter_pages(led_here, limit=_AT_ONCE):
        _remove_redirects(table.read_current(items, led_here))
    for item in _listed(Page.below.partition(site_id=site_id, parent_id=page_id)):
        if time.monotonic() > until:
            return False
        if not _clear(site_id, item["id"], until):
            return False
        _remove(site_id, item["id"])
    return _orphan_below(site_id, page_id, until)


def _orphan_below(site_id: str, page_id: str, until: float) -> bool:
    """Take back what is published below a page that is gone, though its draft is elsewhere; False if time is over."""
    for item in _listed(Page.below_live.partition(site_id=site_id, live_parent_id=page_id)):
        if time.monotonic() > until:
            return False
        if not _orphan_below(site_id, item["id"], until):
            return False
        _orphan(site_id, item["id"])
    return True


def _listed(where: Partition) -> Iterator[Item]:
    """Yield what an index lists, as far as it is there still: what has moved away in time must not go with the rest."""
    for items in table.iter_pages(where):
        yield from table.read_current(items, where)


def _remove_redirects(items: list[Item]) -> None:
    changes = UnitOfWork(now())
    for item in items:
        changes.delete(Redirect.from_item(item))
    if not changes.is_empty:
        changes.commit()


def _remove(site_id: str, page_id: str) -> None:
    """Remove a page whose parent is gone."""
    found = _found(site_id, page_id)
    if found:
        page, trees = found
        leave(trees, page, trees.changes.now)
        trees.changes.delete(page)
        trees.write()
        trees.changes.commit()


def _orphan(site_id: str, page_id: str) -> None:
    """Take back a page that is published below one that is gone. What was above its draft may be gone too by now."""
    found = _found(site_id, page_id)
    if found is None or found[0].live_placed is None:
        return
    page, trees = found
    shown = page.hydrate(trees.read)
    trees.changes.update(shown or page, **orphan(trees, page))
    trees.write()
    if shown and page.published_revision_id:
        outbox.commit(trees.changes, "page.unpublished", Origin.system(Removal.task))
    else:
        trees.changes.commit()


def _found(site_id: str, page_id: str) -> tuple[Page, Trees] | None:
    """Return a page, and the trees of its site, for a transaction; None if it is gone, or all of its site."""
    key = Page.make_item_key(site_id=site_id, id=page_id)
    read = table.get_all([key, *trees_of(site_id)])
    whole = len(read) > len(trees_of(site_id))
    return (Page.from_item(read[key]), Trees(UnitOfWork(now()), site_id, read)) if whole else None
