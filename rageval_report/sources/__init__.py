"""Where files are not files: lists, folders and globs of them, databases, trackers, servers."""
