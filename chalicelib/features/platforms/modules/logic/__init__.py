"""The effective state of modules, and changes of the modules of a platform. Without I/O."""
