"""The data of a rendered page, and the version of the renderer."""
