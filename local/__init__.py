"""The local stage: an emulator of AWS, what it needs in it, a pump and a development issuer. Never deployed."""
