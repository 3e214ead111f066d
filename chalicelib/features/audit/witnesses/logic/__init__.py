"""Rules and reads of the log of anchors and its witnesses."""
