"""Request and response models of organizations and memberships, and country codes."""
