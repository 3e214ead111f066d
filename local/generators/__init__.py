"""Programs that write generated files."""
