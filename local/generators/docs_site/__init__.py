"""The documentation as static HTML: the API reference of each resource, and the pages of `docs/`."""
