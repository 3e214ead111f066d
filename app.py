"""The Chalice application: mounts the route groups and declares what queues and schedules call.

Queue and schedule handlers stand here because Lambda imports the module that declares them.
"""

import os
from typing import Any

from chalice.app import Chalice, CloudWatchEvent, Rate, SQSEvent

from chalicelib.entrypoints.http import blueprints, problems_of_chalice
from chalicelib.entrypoints.invocations import named
from chalicelib.kernel.core.settings import settings

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    settings()  # A wrong setting ends the start with its name; packaging, which imports this too, has none.

app = Chalice(app_name="atrium", configure_logs=False)  # Both log as `atrium`: the kernel writes, and once.
app.api.binary_types = []  # Everything is text; and Chalice saves a third of its own time a request.
app.register_middleware(named, "all")
app.register_middleware(problems_of_chalice, "http")
for blueprint in blueprints():
    app.register_blueprint(blueprint)


def _queue(setting: str, local: str) -> str:
    # Chalice puts a stage's variables into the environment before it loads the app, to deploy it or to package it.
    return os.environ.get(setting, local).rpartition("/")[2]


@app.on_sqs_message(queue=_queue("EVENTS_QUEUE_URL", "atrium-events.fifo"), batch_size=10, maximum_concurrency=100)
def events(event: SQSEvent) -> Any:
    """Append committed entries to their organizations' logs."""
    from chalicelib.entrypoints.workers import append_entries

    return append_entries(event.to_dict())


@app.on_sqs_message(queue=_queue("JOBS_QUEUE_URL", "atrium-jobs"), batch_size=1, maximum_concurrency=20)
def jobs(event: SQSEvent) -> Any:
    """Do the long work."""
    from chalicelib.entrypoints.workers import run_tasks

    return run_tasks(event.to_dict())


@app.on_sqs_message(
    queue=_queue("DELIVERIES_QUEUE_URL", "atrium-deliveries.fifo"), batch_size=10, maximum_concurrency=400
)
def deliveries(event: SQSEvent) -> Any:
    """Send events to webhooks and channels."""
    from chalicelib.entrypoints.workers import deliver

    return deliver(event.to_dict())


@app.on_sqs_message(
    queue=_queue("DELIVERIES_SLOW_QUEUE_URL", "atrium-deliveries-slow"), batch_size=10, maximum_concurrency=50
)
def deliveries_slow(event: SQSEvent) -> Any:
    """Try the webhooks that gave no answer, or were never asked."""
    from chalicelib.entrypoints.workers import deliver

    return deliver(event.to_dict())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def sweep(_event: CloudWatchEvent) -> int:
    """Queue all that is due."""
    from chalicelib.entrypoints import workers

    return workers.sweep()


@app.schedule(Rate(1, unit=Rate.HOURS))
def anchor(_event: CloudWatchEvent) -> int:
    """Let the heads of the logs that grew be kept outside of the table."""
    from chalicelib.entrypoints import workers

    return workers.anchor()


@app.lambda_function()
def migrate(_event: Any, _context: Any) -> Any:
    """Apply the migrations that are pending: to be called once after each deployment."""
    from chalicelib.entrypoints import workers

    return workers.migrate()
