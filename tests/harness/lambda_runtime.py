"""The Runtime API of AWS Lambda, and functions that run with its runtime interface client.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Final, Self
from uuid import uuid4

from tests.harness.threaded_servers import serve_in_thread

ACCOUNT: Final = "123456789012"
REGION: Final = "us-east-1"
_BASE_PATH: Final = "/2018-06-01/runtime/"
_TIMEOUT_SECONDS: Final = 29
_MEMORY_MB: Final = 1024


@dataclass(frozen=True)
class Outcome:
    """A result that a function sent: its kind (`response` or `error`, the end of the path) and value."""

    kind: str
    request_id: str
    value: Any


class _RuntimeApi(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, arn: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.arn = arn
        self.invocations: Queue[tuple[str, bytes] | None] = Queue()
        self.outcomes: Queue[Outcome] = Queue()


class _Handler(BaseHTTPRequestHandler):
    server: _RuntimeApi

    def do_GET(self) -> None:
        assert self.path == f"{_BASE_PATH}invocation/next"
        invocation = self.server.invocations.get()
        if invocation is None:
            return
        request_id, event = invocation
        headers = {
            "Lambda-Runtime-Aws-Request-Id": request_id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + _TIMEOUT_SECONDS) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.server.arn,
            "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=0",
        }
        self._answer(200, event, headers)

    def do_POST(self) -> None:
        *_, request_id, kind = self.path.split("/")
        value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.outcomes.put(Outcome(kind, request_id, value))
        self._answer(202, b'{"status":"OK"}', {})

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing. pytest shows failures."""


class LambdaFunction:
    """A function as Lambda runs it: `handler` of the unpacked package in `task`, run by an installation of Python."""

    def __init__(self, python: Path, task: Path, handler: str, settings: Mapping[str, str], log: Path) -> None:
        name = f"atrium-prod-{handler.rpartition('.')[2]}"
        self._api = _RuntimeApi(f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}")
        self._log = log
        self._command = [str(python), "-m", "awslambdaric", handler]
        self._task = task
        self._serving = serve_in_thread(self._api)
        self._environment = {
            **settings,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._api.server_address[1]}",
            "_HANDLER": handler,
            "LAMBDA_TASK_ROOT": str(task),
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(_MEMORY_MB),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/22/[$LATEST]0",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        }

    def __enter__(self) -> Self:
        self._serving.__enter__()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._task, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._api.invocations.put(None)
        self._serving.__exit__(None, None, None)

    def invoke(self, event: Any) -> Any:
        """Invoke the function with an event, check that it succeeds, and return its response."""
        request_id = str(uuid4())
        self._api.invocations.put((request_id, json.dumps(event).encode()))
        outcome = self.next_outcome()
        assert (outcome.kind, outcome.request_id) == ("response", request_id), f"{outcome}\n{self.log_text}"
        return outcome.value

    def next_outcome(self) -> Outcome:
        """Wait for the next result, up to the timeout of the function."""
        try:
            return self._api.outcomes.get(timeout=_TIMEOUT_SECONDS)
        except Empty:
            raise AssertionError(f"The function sent no result. Its log: {self.log_text}") from None

    @property
    def log_text(self) -> str:
        return self._log.read_text()

    def read_log_records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log_text.splitlines() if line.startswith("{")]
