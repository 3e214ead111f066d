"""How a server process stops."""

import signal
from threading import Thread
from typing import Protocol


class StoppableServer(Protocol):
    """A server whose `shutdown` ends its loop, and waits for the end."""

    def shutdown(self) -> None:
        """End the loop. Another thread than that of the loop has to call it."""


def shut_down_on_sigterm(server: StoppableServer) -> None:
    """Let SIGTERM end the server's loop.

    If the signal raised an exception, it could interrupt the start of a connection's thread. Then the connection would
    be closed without a response.
    """
    signal.signal(signal.SIGTERM, lambda *_: Thread(target=server.shutdown).start())
