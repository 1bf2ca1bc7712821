"""The command line: one file per command, one for each kind of picture; it speaks to the planner only."""
