"""Request and response models of modules, and the catalogue of modules."""
