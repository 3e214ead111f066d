"""Tests that Lambda lets queue messages form a chain, in which each message queues the next one."""
