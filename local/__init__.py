"""The local stage: emulators of AWS, a development issuer, commands and generators. Never deployed."""
