"""The stored taxonomy of a platform, and its slug index."""
