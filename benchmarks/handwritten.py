"""A RoBERTa encoder written by hand in plain PyTorch: the least that the computation can cost there."""

import torch
from torch import nn
from torch.nn import functional

from unmask import ModelConfig


class Layer(nn.Module):
    """Post-norm: self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        width = config.d_model
        self.heads, self.dropout, self.attention_dropout = config.n_heads, config.dropout, config.attention_dropout
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.inner, self.outer = nn.Linear(width, config.d_ff), nn.Linear(config.d_ff, width)
        self.norm1, self.norm2 = (nn.LayerNorm(width, config.norm_eps) for _ in range(2))

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = (f(x).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        dropped = self.attention_dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropped)
        attended = self.out(attended.transpose(1, 2).reshape(batch, length, width))
        x = self.norm1(x + functional.dropout(attended, self.dropout, self.training))
        fed = self.outer(functional.gelu(self.inner(x)))
        return self.norm2(x + functional.dropout(fed, self.dropout, self.training))


class Encoder(nn.Module):
    """Token, segment and position embeddings, and the layers."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.segments = nn.Embedding(config.n_segments, config.d_model)
        self.positions = nn.Embedding(config.max_positions + config.first_position, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, config.norm_eps)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.n_layers))

    def forward(self, ids, attend):
        counted = ids.ne(self.config.pad_id).long()
        positions = counted.cumsum(1) * counted + self.config.pad_id
        x = self.tokens(ids) + self.segments(torch.zeros_like(ids)) + self.positions(positions)
        x = functional.dropout(self.norm(x), self.config.dropout, self.training)
        mask = attend[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return x
