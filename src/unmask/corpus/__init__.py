"""From files of text to shards of tokens: read, normalize, drop duplicates, hold out, tokenize, report."""
