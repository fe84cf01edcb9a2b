"""Why a command, a run or a task does not move: the facts, and the sentences about them."""
