"""The audit log: what happened in an organization, with cryptographic proof that no entry was altered."""
