"""What AWS calls: HTTP requests, queue messages, schedules."""
