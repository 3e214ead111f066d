"""The service itself: is it well, and which key signs its checkpoints."""
