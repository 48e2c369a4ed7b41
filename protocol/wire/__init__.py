"""Everything that is written down or sent: encodings, messages, frames, ids of tables, and the genesis."""
