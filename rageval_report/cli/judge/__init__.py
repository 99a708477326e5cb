"""The commands that ask a chat model to judge."""
