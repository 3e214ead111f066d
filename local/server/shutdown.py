"""How a server process stops."""

import signal
from socketserver import BaseServer
from threading import Thread


def shut_down_on_sigterm(server: BaseServer) -> None:
    """Let SIGTERM end the server's loop.

    If the signal raised an exception, it could interrupt the start of a connection's thread. Then the connection would
    be closed without a response.
    """
    # `shutdown` waits for the end of the loop, so another thread has to call it.
    signal.signal(signal.SIGTERM, lambda *_: Thread(target=server.shutdown, daemon=True).start())
