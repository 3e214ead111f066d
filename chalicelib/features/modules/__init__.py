"""Modules: what a platform can do, switched on and off by the platform and by its spaces."""
