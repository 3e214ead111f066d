"""An app that returns the bodies of requests, on the local server: `python -m tests.harness.echo_app <port>`."""

import sys
import time
from threading import Barrier
from typing import Any, Final

from chalice.app import Chalice, Response
from chalice.config import Config

from chalicelib.entrypoints.http import convert_chalice_errors
from chalicelib.kernel.core.version import API_VERSION
from local.server.http_server import Server, serve

_SLOW_SECONDS: Final = 3.0
MIN_COMPRESSED_BYTES: Final = 1024
_PAIR: Final = Barrier(2, timeout=60)

echo = Chalice(app_name="echo", configure_logs=False)
echo.api.binary_types = []
echo.register_middleware(convert_chalice_errors, "http")


def echo_config() -> Config:
    """Return the configuration of the app, which compresses like the service."""
    return Config.create(chalice_app=echo, minimum_compression_size=MIN_COMPRESSED_BYTES)


def _text_response(text: str, status: int = 200) -> Response:
    return Response(text, status_code=status, headers={"API-Version": API_VERSION, "Content-Type": "text/plain"})


def _echo_body() -> Response:
    assert echo.current_request
    body = echo.current_request.raw_body
    return _text_response(f"<{body if isinstance(body, str) else body.decode()}>")


@echo.route("/echo", methods=["GET", "POST"], content_types=["*/*"])
def _echo() -> Response:
    return _echo_body()


@echo.route("/headers", methods=["GET"])
def _headers() -> Response:
    assert echo.current_request
    return _text_response("<{prefer}|{x}>".format_map(echo.current_request.headers))


@echo.route("/together", methods=["POST"], content_types=["*/*"])
def _together() -> Response:
    _PAIR.wait()
    return _echo_body()


@echo.route("/remapped", methods=["GET"])
def _remapped() -> Response:
    changed = {"WWW-Authenticate": "Bearer", "Date": "today", "server": "echo", "Transfer-Encoding": "chunked"}
    return Response("", status_code=401, headers={"API-Version": API_VERSION, "ETag": "1", **changed})


@echo.route("/large", methods=["HEAD"])
def _large() -> Response:
    return _text_response("x" * 2000)


@echo.route("/encoded", methods=["GET"])
def _encoded() -> Response:
    return Response("x" * 2000, headers={"API-Version": API_VERSION, "content-encoding": "br"})


@echo.route("/nothing", methods=["GET"])
def _nothing() -> Response:
    return _text_response("", 204)


@echo.route("/slow", methods=["GET"])
def _slow() -> Response:
    sys.stdout.write("in progress\n")
    sys.stdout.flush()
    time.sleep(_SLOW_SECONDS)
    return _text_response("slept")


def _delay_after_start_of_thread(seconds: float) -> None:
    """Let the server's main thread stay with each connection for some time after the connection's thread started."""
    process_request = Server.process_request

    def process_request_and_sleep(self: Server, request: Any, client_address: Any) -> None:
        process_request(self, request, client_address)
        time.sleep(seconds)

    Server.process_request = process_request_and_sleep


if __name__ == "__main__":
    _delay_after_start_of_thread(0.5)
    serve(echo, echo_config(), int(sys.argv[1]))
