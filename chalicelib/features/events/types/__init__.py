"""Event types of the application, which operators declare: a sentence and a JSON Schema, with its versions."""
