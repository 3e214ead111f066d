"""Request and response models of research, identifiers of works and people, and venues."""
