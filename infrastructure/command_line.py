"""How the command lines of the project end."""

import os
import select
import sys
from collections.abc import Callable
from typing import Final

_PIPE_CLOSED: Final = 141
"""Exit code of a command whose output nobody reads any more: 128 and the number of SIGPIPE, as shells report it."""


def run_until_output_closes(main: Callable[[], int]) -> int:
    """Return the exit code of a command, which ends without a message when its reader does, as in `… | head`.

    Python ignores SIGPIPE and raises BrokenPipeError instead. The default handler of the signal would also end the
    command when a server closes a connection (https://docs.python.org/3/library/signal.html#note-on-sigpipe).
    """
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if _is_stdout_open():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes the rest when it ends.
        return _PIPE_CLOSED


def _is_stdout_open() -> bool:
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return not poll.poll(0)  # POLLERR on Linux, POLLHUP on macOS
