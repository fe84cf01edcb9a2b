"""Every task runs in a process tree of its own that ends with the task, whatever becomes of the worker.

    worker ──request──► zygote          one small process, started once; forking it takes a millisecond
       │                  │ fork
       └──── channel ──► keeper         one for each task: subreaper and session leader, owns the tree
                          │ fork, exec
                         task ──► children, daemons, orphans: all below the keeper

The keeper kills the whole tree when the worker asks, when the channel breaks (the worker is dead), when the deadline in
shared memory passes (the worker is stopped or cut off), and what is left of it when the task's main process ends.
`PR_SET_PDEATHSIG` alone would miss grandchildren and be cleared by a change of uid.

`client` is the worker's side. Zygote and keeper (`zygote`, `keeper`, `tree`, `wire`, `deadline`, `prctl`) run without
site-packages, so they import only the standard library and `registry.clock`.
"""
