"""Dead letters: what they are about, and back to their queues with them: `python -m local redrive`.

Each is received, sent and only then deleted: whatever interrupts that loses nothing, and the next time goes on with
what is left. One that was sent but not deleted comes twice, as any message may. SQS moves letters by itself too
(StartMessageMoveTask), but shows none of them, stops at none, and does not say which deduplication it gives them.
"""

import json
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.entrypoints.catalogue import load_tasks
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import table
from chalicelib.kernel.work import queues, tasks
from infrastructure.resources import DEAD_LETTER_RETENTION_SECONDS, dead_letter_queue

_AT_ONCE: Final = 10
_NAMED: Final = 3
_HELD_SECONDS: Final = 300
_WAIT_SECONDS: Final = 1
_ANSWER_SECONDS: Final = 10
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class NotRedriven(Exception):
    """The queues can't be reached; says why."""


@dataclass(frozen=True)
class Letter:
    """A message that was given up. Times in seconds since 1970; `group` is empty in a queue without order."""

    body: str
    receipt: str
    sent_at: float
    received: int
    group: str

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "Letter":
        """Return the letter that SQS handed out."""
        attributes = message["Attributes"]
        return cls(
            message["Body"],
            message["ReceiptHandle"],
            int(attributes["SentTimestamp"]) / 1000,
            int(attributes["ApproximateReceiveCount"]),
            attributes.get("MessageGroupId", ""),
        )

    def line(self, now_seconds: float) -> str:
        """Return what it is about, for which requests, how old it is, how long it is kept, and whether to send it."""
        age = now_seconds - self.sent_at
        remaining_time = _span(max(0, DEAD_LETTER_RETENTION_SECONDS - age))
        subject = f"{about(self.body)}{_requests(self.body)}"
        return f"{subject}; {_span(age)} old, kept for {remaining_time}, received {self.received} times"


@dataclass(frozen=True)
class DeadLetters:
    """A queue, and the queue of what was given up of it; `name` is that one's."""

    name: str
    address: str
    source: str

    @classmethod
    def of(cls, source: str) -> "DeadLetters":
        """Return the dead letters of a queue by its address."""
        where, _, queue = source.rpartition("/")
        name = dead_letter_queue(queue)
        return cls(name, f"{where}/{name}", source)

    def count(self) -> int:
        """Return how many wait, as SQS reckons it; a queue that is busy may be wrong by some."""
        wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = sqs().get_queue_attributes(QueueUrl=self.address, AttributeNames=wanted)["Attributes"]
        return sum(int(answer[name]) for name in wanted)

    def look(self, most: int) -> list[Letter]:
        """Return the first letters, which are to be seen by everyone again at once."""
        with self._held() as held:
            for letters in self._received(most):
                held.extend(letters)
            return [*held]

    def send_back(self, until: float) -> Generator[tuple[Letter, bool], None, None]:
        """Send each letter that was there before a moment back to its queue, and yield it and whether it was sent.

        What this release would give up again in any case stays, and what is younger than that moment: it was given up
        again meanwhile. Those of a group keep their order.
        """
        with self._held() as held:
            for letters in self._received(None):
                held.extend(letters)
                for letter in letters:
                    if letter.sent_at < until:
                        if taken := is_taken(letter.body):
                            self._send(letter)
                            held.remove(letter)
                        yield letter, taken

    def _received(self, most: int | None) -> Iterator[list[Letter]]:
        count = 0
        while most is None or count < most:
            answer = sqs().receive_message(
                QueueUrl=self.address,
                MaxNumberOfMessages=_AT_ONCE if most is None else min(_AT_ONCE, most - count),
                VisibilityTimeout=_HELD_SECONDS,
                WaitTimeSeconds=_WAIT_SECONDS,
                MessageSystemAttributeNames=["All"],
            )
            letters = [Letter.of(message) for message in answer.get("Messages", [])]
            if not letters:
                return
            count += len(letters)
            yield letters

    def _send(self, letter: Letter) -> None:
        # A fresh deduplication: by the former one SQS could take it for what it has delivered already, and drop it.
        order = {"MessageGroupId": letter.group, "MessageDeduplicationId": new_id(now())} if letter.group else {}
        sqs().send_message(QueueUrl=self.source, MessageBody=letter.body, **order)
        sqs().delete_message(QueueUrl=self.address, ReceiptHandle=letter.receipt)

    @contextmanager
    def _held(self) -> Iterator[list[Letter]]:
        held: list[Letter] = []
        try:
            yield held
        finally:  # Also when somebody presses Ctrl-C: else they could not be looked at for minutes.
            for letter in reversed(held):
                sqs().change_message_visibility(
                    QueueUrl=self.address, ReceiptHandle=letter.receipt, VisibilityTimeout=0
                )


def redrive(names: Sequence[str], *, send: bool, most: int) -> None:
    """Print what waits in the dead-letter queues of the queues of these names, or of all; `send` moves it back.

    The settings are this process's own. Raises NotRedriven.
    """
    load_tasks()
    known = queues.queue_urls()
    try:
        dead = [DeadLetters.of(known[name]) for name in names or known]
        total = sum([_sent(letters) if send else _shown(letters, most) for letters in dead])
    except (ClientError, BotoCoreError) as error:
        raise NotRedriven(f"The queues did not answer: {error}") from error
    if send:
        print(f"{total} sent back. What fails again is given up again.")
    elif total:
        print("Nothing was changed. With --send they go back to their queues.")


def _shown(dead: DeadLetters, most: int) -> int:
    count = dead.count()
    print(f"{dead.name}: {count}")
    letters, now_seconds = dead.look(most) if count else [], time.time()
    for letter in letters:
        print(f"  {letter.line(now_seconds)}")
    if count > len(letters):
        print(f"  … and {count - len(letters)} that were not looked at")
    return count


def _sent(dead: DeadLetters) -> int:
    sent, left, now_seconds = Counter[str](), Counter[str](), time.time()
    try:
        with closing(dead.send_back(now_seconds)) as letters:
            for letter, was_sent in letters:
                (sent if was_sent else left)[_kind(letter.body)] += 1
    finally:
        alone = f"; left alone: {_counted(left)}" if left else ""
        print(f"{dead.name}: {sent.total()} sent back{f' ({_counted(sent)})' if sent else ''}{alone}", flush=True)
    return sent.total()


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{number} of {kind}" for kind, number in sorted(kinds.items()))


def _kind(body: str) -> str:
    message = _read(body)
    if message is None:
        return "what is not JSON"
    return str(message.get("task", "ledger.append" if "log" in message else "what names no task"))


def is_taken(body: str) -> bool:
    """Return whether a message is one for a worker of this release; it may fail all the same."""
    message = _read(body)
    if message is None or "task" not in message:
        return message is not None and "log" in message
    try:
        tasks.get_task(str(message["task"]))
    except tasks.UnknownTask:
        return False
    return {"pk", "sk"} <= message.keys()


def about(body: str) -> str:
    """Return what a message is about, and what is known that speaks for or against sending it."""
    message = _read(body)
    if message is None:
        return "not JSON: it will be given up again"
    if "task" in message:
        return f"{message['task']} of {message.get('pk')} {message.get('sk')}: {_standing_of_task(message)}"
    if "log" in message:
        return f"ledger.append of log {message['log']}: {_standing_of_log(message)}"
    return "it names no task and no log: it will be given up again"


def _standing_of_task(message: Mapping[str, Any]) -> str:
    try:
        tasks.get_task(str(message["task"]))
        item = table.get((message["pk"], message["sk"]))
    except tasks.UnknownTask:
        return "no task of this release, so it will be given up again"
    except KeyError:
        return "it names no record, so it will be given up again"
    except Problem as problem:
        return problem.detail
    if item is None:
        return "its record is gone, so nothing is left to be done"
    return f"due at {item['duesk'].partition('#')[0]} anyway" if "duesk" in item else "its record is there"


def _standing_of_log(message: Mapping[str, Any]) -> str:
    starts = ", ".join(str(start.get("task")) for start in message.get("then", []))
    try:
        waiting = ledger.count_pending(str(message["log"]))
    except Problem as problem:
        return problem.detail
    return f"{waiting} entries wait in it" + (f"; then {starts}" if starts else "")


def _requests(body: str) -> str:
    """Return the ids of the requests that a message is there for, as far as a line has room for them."""
    named = (_read(body) or {}).get("requestIds")
    known = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"; requests {', '.join(known[:_NAMED])}{more}" if known else ""


def _read(body: str) -> dict[str, Any] | None:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _span(seconds: float) -> str:
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), _UNITS[-1])
    return f"{seconds / size:.0f} {unit}"


@cache
def sqs() -> Any:
    """Return a client that outlasts a long poll: the service's own gives up sooner, since it only sends."""
    config = Config(connect_timeout=5, read_timeout=_WAIT_SECONDS + _ANSWER_SECONDS, retries={"mode": "standard"})
    return aws.session().client("sqs", endpoint_url=settings().aws_endpoint_url, config=config)
