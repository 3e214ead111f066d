"""The Chalice application: its routes, and the handlers of queues and schedules.

The handlers are declared here because Lambda imports the module that declares them.
"""

import os
from typing import Any

from chalice.app import Chalice, CloudWatchEvent, Rate, SQSEvent

from chalicelib.entrypoints.capacity import profile_of
from chalicelib.entrypoints.http import convert_chalice_errors, create_blueprints
from chalicelib.entrypoints.invocations import add_invocation_id_to_logs
from chalicelib.kernel.core.settings import settings

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    settings()  # An invalid setting prevents the start. Packaging also imports this module, but without settings.

# Chalice's logger has the same name as the kernel's. Configuring both would write each record twice.
app = Chalice(app_name="atrium", configure_logs=False)
app.api.binary_types = []  # All responses are text. Without binary types Chalice needs a third less time.
app.register_middleware(add_invocation_id_to_logs, "all")
app.register_middleware(convert_chalice_errors, "http")
for blueprint in create_blueprints():
    app.register_blueprint(blueprint)


def _queue_name(setting: str, local_name: str) -> str:
    # Before Chalice loads the app to deploy or package it, it sets the environment variables of the stage.
    return os.environ.get(setting, local_name).rpartition("/")[2]


_MAXIMUM_CONCURRENCY = profile_of(os.environ).maximum_concurrency


@app.on_sqs_message(
    queue=_queue_name("EVENTS_QUEUE_URL", "atrium-events.fifo"),
    batch_size=10,
    maximum_concurrency=_MAXIMUM_CONCURRENCY["events"],
)
def events(event: SQSEvent) -> Any:
    """Append pending entries to the logs of their organizations."""
    from chalicelib.entrypoints.workers import append_log_entries_and_fan_out

    return append_log_entries_and_fan_out(event.to_dict())


@app.on_sqs_message(
    queue=_queue_name("JOBS_QUEUE_URL", "atrium-jobs"), batch_size=1, maximum_concurrency=_MAXIMUM_CONCURRENCY["jobs"]
)
def jobs(event: SQSEvent) -> Any:
    """Run background tasks."""
    from chalicelib.entrypoints.workers import run_tasks

    return run_tasks(event.to_dict())


@app.on_sqs_message(
    queue=_queue_name("DELIVERIES_QUEUE_URL", "atrium-deliveries.fifo"),
    batch_size=10,
    maximum_concurrency=_MAXIMUM_CONCURRENCY["deliveries"],
)
def deliveries(event: SQSEvent) -> Any:
    """Deliver events to webhooks and channels."""
    from chalicelib.entrypoints.workers import run_delivery_tasks_by_group

    return run_delivery_tasks_by_group(event.to_dict())


@app.on_sqs_message(
    queue=_queue_name("DELIVERIES_SLOW_QUEUE_URL", "atrium-deliveries-slow"),
    batch_size=10,
    maximum_concurrency=_MAXIMUM_CONCURRENCY["deliveries_slow"],
)
def deliveries_slow(event: SQSEvent) -> Any:
    """Deliver events to webhooks that time out, so that they do not delay the others."""
    from chalicelib.entrypoints.workers import run_delivery_tasks_by_group

    return run_delivery_tasks_by_group(event.to_dict())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def sweep(_event: CloudWatchEvent) -> int:
    """Queue all due tasks."""
    from chalicelib.entrypoints import workers

    return workers.enqueue_due_tasks()


@app.schedule(Rate(1, unit=Rate.HOURS))
def anchor(_event: CloudWatchEvent) -> int:
    """Store checkpoints of the logs that have grown outside of the table."""
    from chalicelib.entrypoints import workers

    return workers.enqueue_log_anchoring()


@app.lambda_function()
def migrate(_event: Any, _context: Any) -> Any:
    """Apply pending migrations. Call it once after each deployment."""
    from chalicelib.entrypoints import workers

    return workers.migrate()
