"""Application events: their types, the keys of the programs that report them, and their entries."""
