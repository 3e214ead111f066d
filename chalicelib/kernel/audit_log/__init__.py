"""The audit log: entries, their authentication, and their position in a Merkle tree."""
