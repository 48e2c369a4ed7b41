"""The report: one page that shows a match, carries its transcript, and verifies it again in the reader's browser."""
