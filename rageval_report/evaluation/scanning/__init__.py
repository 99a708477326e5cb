"""The analyses of tables beyond memory: the Results of memory, made of states."""
