"""Integration channels: chat rooms of Slack, Discord, Teams and others that receive events as sentences."""
