"""Logic of proofs."""
