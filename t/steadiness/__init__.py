"""t/steady: shows that a test does not depend on the pace of the machine.

It repeats the test beside a load. Meanwhile it stops random processes of the test (SIGSTOP) and continues each after at most
1.5 s: the test itself, servers, agents, API servers, containers. A sound test passes every time.

    program.py      options, repetitions, summary
    repetition.py   one run of one test, and the report of its failure
    stopper.py      stops processes and continues them
    guard.py        a process that continues what is stopped, and ends the run, when t/steady itself is killed
    family.py       the processes of a run
    log.py          the record of a run: each line of output and each stop with its time
"""
