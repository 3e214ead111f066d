"""What each migration does: a module each, whose text and data are what its checksum is of."""
