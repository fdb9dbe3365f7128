"""The guided tour: plain text to a tokenizer, a pretrained model, a fine-tuned one, its evaluation, on real reviews."""
