"""What programs ask of the machine around them: flags, the main function, logging and files. No graph is involved."""
