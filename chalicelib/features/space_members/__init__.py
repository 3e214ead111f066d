"""Space members: who belongs to a space, and with which role."""
