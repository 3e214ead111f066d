"""Request and response models of log streams, and their destinations."""
