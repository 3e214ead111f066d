"""Platform members: who belongs to a platform, and with which role."""
