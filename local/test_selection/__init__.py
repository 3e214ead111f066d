"""Selects the tests that a change can affect: `make test-changed`.

A run records which blocks of code each test executes. The next run compares the files of the project with those of the
recording, and runs the tests that depend on a changed block.
"""
