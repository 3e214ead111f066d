"""The service itself: is it well, which key signs its checkpoints, and what happened outside of any organization."""
