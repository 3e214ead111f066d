"""The stored records of a taxonomy, and its slug index."""
