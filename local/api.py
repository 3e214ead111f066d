"""Serves the app over HTTP with Chalice's own development server: `python -m local.api <port>`."""

import logging
import signal
import sys
from typing import Final

from chalice.cli.factory import CLIFactory
from chalice.local import ChaliceRequestHandler, ThreadedHTTPServer

from local.folders import ROOT

_WAITING_CONNECTIONS: Final = 128


def serve(port: int) -> None:
    """Serve the app on this machine's own address until SIGTERM."""
    # Without this each answer on a kept connection waits 44 ms for an acknowledgement.
    ChaliceRequestHandler.disable_nagle_algorithm = True
    # With the default of 5, a sixth connection at the same moment is tried again only after a second.
    ThreadedHTTPServer.request_queue_size = _WAITING_CONNECTIONS
    # The stage's variables stay in a copy of the environment, so that SETTINGS_FILE is this run's, not the last one's.
    factory = CLIFactory(str(ROOT))
    config = factory.create_config_obj("local")
    factory.create_local_server(config.chalice_app, config, "127.0.0.1", port).serve_forever()


def _stop(*_: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    serve(int(sys.argv[1]))
