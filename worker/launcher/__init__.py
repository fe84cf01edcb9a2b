"""Every task runs in a process tree of its own that ends with the task, whatever becomes of the worker.

    worker ──request──► zygote          one small process, started once; a fork of it takes two milliseconds
       │                  │ fork
       └──── channel ──► keeper         one for each task at a time: subreaper and session leader, owns the tree
                          │ spawn
                         task ──► children, daemons, orphans: all below the keeper

A keeper of commands takes the next one when nothing of the last is left (`idle_keepers`); one of a task type's own code
ends with its task, since that code is a fork of it and could read what it knew before.

The keeper kills the whole tree when the worker asks, when the channel breaks (the worker is dead), when the deadline in
shared memory passes (the worker is stopped or cut off), and what is left of it when the task's main process ends.
What a killed keeper leaves, its zygote kills. `PR_SET_PDEATHSIG` would miss grandchildren.

`client` is the worker's side. Zygote and keeper (`zygote`, `keeper`, `spawn`, `tree`, `wire`, `horizon`) run without
site-packages, so they import only the standard library, `node.prctl` and `registry.clock`.
"""
