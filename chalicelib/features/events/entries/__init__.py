"""Application events of organizations: writing and listing."""
