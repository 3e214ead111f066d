"""The AWS resources of a stage, and the commands that manage them. This package is not deployed."""
