"""What nobody asks for: time passes; messages are lost, doubled, held up; workers die; clients send things again."""

from contextlib import suppress
from copy import copy
from typing import Final

from hypothesis import strategies as st

from chalicelib.kernel.core.problems import Problem
from tests.harness import cloud, snapshots
from tests.harness.faults import Died, Fault, failing
from tests.model.actions import deed, which
from tests.model.endpoints import STATES
from tests.model.nouns import domains, invitations, pages
from tests.model.story import Story

FAULTS: Final = ("THROTTLED", "TIMED_OUT", "UNANSWERED", "DIED_BEFORE", "DIED_AFTER", "CONFLICT")
PAUSE_SECONDS: Final = 360
"""Longer than anything waits that is looked for by the sweep."""


@deed()
def settle(story: Story) -> None:
    """Let the workers do what there is to be done."""
    story.workers.settle()


@deed(days=st.sampled_from([1 / 24, 1, 1, 7]))
def time_passes(story: Story, days: float) -> None:
    """Let hours or days pass, and what is due by then be done, unless that would be the end of an organization."""
    if any(t.shown["status"] == "pending_deletion" for t in story.model.things if t.kind == "organization"):
        return
    story.endpoints.state = "well"
    recover(story)
    story.pass_time(days=days)
    recover(story)
    grow_old(story)


def recover(story: Story) -> None:
    """Let the schedule make up for whatever was lost, until nothing is left to be done."""
    before = None
    while (items := snapshots.stored()) != before:
        story.pass_time(seconds=PAUSE_SECONDS)
        story.workers.settle()
        before = items


def grow_old(story: Story) -> None:
    """Note what ended by itself."""
    for page in story.model.of("page"):
        pages.comes_due(story, page)
    for platform in story.model.of("platform"):
        domains.grows_old(story, platform)
    for thing in story.model.things:
        if thing.kind == "api_key" and thing.shown["status"] == "active":
            until = thing.hidden["until"]
            if until is not None and until <= story.seconds:
                thing.shown["status"] = "expired"
        waits = thing.kind == "invitation" and thing.shown["status"] == "pending" and thing.there
        if waits and invitations.status(story, thing) == "expired":
            thing.shown["status"], thing.touched = "expired", True
            kind = thing.hidden["place"].kind
            story.model.later.setdefault(thing.log, []).append((f"{kind}.invitation.expired", thing.id))


@deed()
def messages_are_lost(story: Story) -> None:  # noqa: ARG001 - the queues are the same for all
    for queue in cloud.queues():
        queue._messages.clear()  # noqa: SLF001


@deed()
def messages_come_twice(story: Story) -> None:
    """Double what is queued: of a standard queue SQS delivers at least once."""
    for queue in cloud.queues():
        doubled = [copy(message) for message in queue._messages]  # noqa: SLF001
        for number, message in enumerate(doubled):
            message.id = f"{message.id}-{number}-again"
        queue._messages.extend(doubled)  # noqa: SLF001
    story.workers.attempt()


@deed()
def messages_are_reordered(story: Story) -> None:
    """Deliver what is queued from the last to the first; what SQS should hold back comes too."""
    for queue in cloud.queues():
        queue._messages.reverse()  # noqa: SLF001
    story.workers.attempt(delayed=True)


@deed(fault=st.sampled_from(FAULTS), at=st.integers(1, 12))
def a_worker_is_struck(story: Story, fault: str, at: int) -> None:
    """Let a worker fail, or die, at one of its calls."""
    with failing(Fault[fault], at=at), suppress(Died, Problem):
        story.workers.attempt()


@deed(state=st.sampled_from(STATES))
def endpoints_become(story: Story, state: str) -> None:
    story.endpoints.state = state


@deed(sent=which)
def a_client_sends_again(story: Story, sent: int) -> None:
    """Let a client repeat a request that had an `Idempotency-Key`."""
    if story.sent:
        story.again(story.sent[-1 - sent % len(story.sent)])


@deed()
def the_process_is_new(story: Story) -> None:  # noqa: ARG001 - it is the same for all
    """Let a process begin that knows nothing."""
    present, queued = snapshots.taken(), {queue.name: [*queue._messages] for queue in cloud.queues()}  # noqa: SLF001
    snapshots.put_back(present)
    for queue in cloud.queues():
        queue._messages.extend(queued[queue.name])  # noqa: SLF001
