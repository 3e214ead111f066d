"""Integration channels: rooms of Slack, Discord, Teams and others that events are told in, in words."""
