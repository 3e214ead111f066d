"""Request and response models of sites, intervals of time, and paths of URLs."""
