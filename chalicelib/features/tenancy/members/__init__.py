"""Members: who belongs to an organization, and with which role."""
