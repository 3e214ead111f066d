"""Export formats, inline and background exports, and the program that verifies a file."""
