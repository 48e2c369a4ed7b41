"""The report: a page that shows a match, embeds its transcript, and verifies it again in the reader's browser."""
