"""Small corpora for tests: random documents in the shards' own format."""

import numpy as np
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from unmask import Tokenizer
from unmask.data.shards import HELDOUT, SENTENCE, TRAIN, WORD, Corpus, Document, manifest_of, write_shard
from unmask.files import file_hash, write_json
from unmask.text.build import BERT_SPECIALS, ROBERTA_SPECIALS, wordpiece


def random_documents(generator, n_documents, n_ids=200, longest=120):
    """Every token of a corpus is another one as far as ids reach, so that lost and repeated ones are seen."""
    for _ in range(n_documents):
        length = int(generator.integers(1, longest))
        begins = np.where(
            generator.random(length) < 0.15, SENTENCE | WORD, np.where(generator.random(length) < 0.7, WORD, 0)
        )
        begins[0] = SENTENCE | WORD
        yield Document(generator.integers(5, n_ids, length), begins)


def write_corpus(folder, *, seed=0, shards=2, documents=40, heldout=6, n_ids=200, longest=120):
    """A corpus folder without a tokenizer."""
    generator = np.random.default_rng(seed)
    entries = [
        write_shard(folder, split, f"{number:05d}", list(random_documents(generator, count, n_ids, longest)), n_ids)
        for split, count, n in ((TRAIN, documents, shards), (HELDOUT, heldout, 1))
        for number in range(n)
    ]
    write_json(folder / "manifest.json", manifest_of(entries, n_ids=n_ids, tokenizer_hash="none"))
    return Corpus(folder)


def sentences(generator, count):
    """Sentences of a small grammar: something to be learnt."""
    who = ["the cat", "a dog", "my old friend", "the queen of hearts", "an owl"]
    does = ["sees", "finds", "eats", "remembers", "draws"]
    what = ["a red apple", "the long river", "two small stones", "its own tail", "nothing at all"]
    for _ in range(count):
        yield f"{generator.choice(who)} {generator.choice(does)} {generator.choice(what)} ."


def small_tokenizer(family="roberta"):
    """A tokenizer for these sentences."""
    texts = list(sentences(np.random.default_rng(0), 200))
    if family == "roberta":
        rust = tokenizers.Tokenizer(models.BPE())
        rust.pre_tokenizer, rust.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=330, special_tokens=list(ROBERTA_SPECIALS), initial_alphabet=alphabet, show_progress=False
        )
        rust.train_from_iterator(texts, trainer)
        rust.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
        return Tokenizer(rust)
    words = sorted({word for text in texts for word in text.split()})
    letters = sorted({letter for word in words for letter in word})
    vocab = [*BERT_SPECIALS, *letters, *(f"##{letter}" for letter in letters), *(w for w in words if len(w) > 1)]
    return Tokenizer(wordpiece(vocab, lowercase=True))


def write_text_corpus(folder, *, family="roberta", documents=120, heldout=20, seed=0, sentences_each=6):
    """A corpus folder with its tokenizer, of documents of the small grammar."""
    tokenizer, generator = small_tokenizer(family), np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for split, count in ((TRAIN, documents), (HELDOUT, heldout)):
        made = []
        for _ in range(count):
            ids, begins = [], []
            for sentence in sentences(generator, sentences_each):
                encoded = tokenizer.rust.encode(sentence, add_special_tokens=False)
                words = np.asarray(encoded.word_ids)
                new = np.concatenate([[True], words[1:] != words[:-1]])
                ids.extend(encoded.ids)
                begins.extend(np.where(np.arange(len(words)) == 0, SENTENCE | WORD, np.where(new, WORD, 0)))
            made.append(Document(np.asarray(ids), np.asarray(begins)))
        entries.append(write_shard(folder, split, "00000", made, tokenizer.n_ids))
    tokenizer.save(folder)
    hashed = file_hash(folder / "tokenizer.json")
    write_json(folder / "manifest.json", manifest_of(entries, n_ids=tokenizer.n_ids, tokenizer_hash=hashed))
    return Corpus(folder)
