"""What everything else stands on: time, ids, settings, logs and problems."""
