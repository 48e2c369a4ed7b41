"""What is written down or sent: encodings, messages, frames, and what a table and its genesis say."""
