"""Background work: outbox, queues, tasks, jobs and the scheduler."""
