"""What a task adds to an encoder: examples → token ids, logits → answers; imports no framework."""
