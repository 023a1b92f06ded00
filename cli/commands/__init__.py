"""The commands: options and help. What a command needs to run is imported then, so help is quick."""
