"""Request and response models of research, identifiers of works and researchers, and venues."""
