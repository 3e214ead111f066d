"""Log streams, which send the entries of an organization's log to a system of the customer, in order."""
