"""Proofs that an entry is in the log, and that the log has only grown since an earlier checkpoint."""
