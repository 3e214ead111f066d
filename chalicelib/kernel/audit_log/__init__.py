"""The audit log: entries, their authentication and their place in a Merkle tree."""
