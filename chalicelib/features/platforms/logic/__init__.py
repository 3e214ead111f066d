"""Which platforms, spaces and pages a caller sees."""
