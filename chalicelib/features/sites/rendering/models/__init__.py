"""What a rendered page shows, and the version of the renderer."""
