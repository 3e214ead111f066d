"""The audit log: what happened in an organization, and the proof that it was not altered."""
