"""Work after the response: outbox, queues, tasks, jobs and the scheduler."""
