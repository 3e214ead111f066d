"""Request and response models of pages, their blocks and paths."""
