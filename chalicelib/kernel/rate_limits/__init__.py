"""Rate limits of callers, organizations, client networks and recipients."""
