"""Modules: the parts of a platform that it switches on and off, and that its spaces may override."""
