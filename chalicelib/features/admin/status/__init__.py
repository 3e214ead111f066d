"""The status of the service, the keys that sign its checkpoints, and its own audit log."""
