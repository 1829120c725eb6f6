"""The suite `statestore`: one partition, one big store, driven the way a workflow engine does."""
