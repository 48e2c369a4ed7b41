"""Everything that is stored or sent: encodings, messages, frames, table ids, names, purses and the genesis."""
