"""Configs: all that a front end has to know of a platform to begin with, in one document."""
