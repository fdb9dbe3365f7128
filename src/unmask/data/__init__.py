"""From documents to batches, in NumPy; imports no framework."""
