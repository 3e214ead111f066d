"""Serves the app over HTTP with Chalice's own development server: `python -m local.api <port>`."""

import json
import logging
import signal
import sys
from http.client import FORBIDDEN
from typing import Final
from urllib.parse import urlsplit

from chalice.cli.factory import CLIFactory
from chalice.local import ChaliceRequestHandler, LocalDevServer, LocalGatewayException, ThreadedHTTPServer
from uuid_utils import uuid7

from chalicelib.kernel.version import API_VERSION
from infrastructure.gateway import PROBLEMS
from local.folders import ROOT

_WAITING_CONNECTIONS: Final = 128


class Handler(ChaliceRequestHandler):
    """Answers what no route matches as the deployed gateway does: with a problem."""

    # Without this each answer on a kept connection waits 44 ms for an acknowledgement.
    disable_nagle_algorithm = True

    def _send_error_response(self, error: LocalGatewayException) -> None:
        problem = PROBLEMS["MISSING_AUTHENTICATION_TOKEN"] if error.CODE == FORBIDDEN else PROBLEMS["DEFAULT_5XX"]
        request_id = str(uuid7())
        document = problem.document(instance=urlsplit(self.path).path, request_id=request_id)
        headers = {"Content-Type": "application/problem+json", "Cache-Control": "no-store", "API-Version": API_VERSION}
        headers |= {"X-Request-Id": request_id, "Access-Control-Allow-Origin": "*"}
        self._send_http_response(problem.status, headers, json.dumps(document).encode())


def serve(port: int) -> None:
    """Serve the app on this machine's own address until SIGTERM."""
    # With the default of 5, a sixth connection at the same moment is tried again only after a second.
    ThreadedHTTPServer.request_queue_size = _WAITING_CONNECTIONS
    # The stage's variables stay in a copy of the environment, so that SETTINGS_FILE is this run's, not the last one's.
    factory = CLIFactory(str(ROOT))
    config = factory.create_config_obj("local")
    LocalDevServer(config.chalice_app, config, "127.0.0.1", port, handler_cls=Handler).serve_forever()


def _stop(*_: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    serve(int(sys.argv[1]))
