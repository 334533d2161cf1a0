#!/usr/bin/python3
"""50 clients with pipelines of 16 commands on growing filters, while the server saves in the background: 0 errors."""
import subprocess
import time

from resp import OK
from server import check, equal, expect, find_program, info, main, test

JOBS = [
    ("BF.ADD bf:hot __rand_int__", 10), ("BF.EXISTS bf:hot __rand_int__", 10),
    ("BF.MADD bf:batch __rand_int__ __rand_int__", 8),
    ("CF.ADDNX cf:hot __rand_int__", 8), ("CF.EXISTS cf:hot __rand_int__", 5), ("CF.ADDNX cf:fixed __rand_int__", 4),
    ("CF.DEL cf:fixed __rand_int__", 5),
]


def filter_calls(c):
    """The number of calls of BF.* and CF.* so far."""
    calls = {name: int(value.split(",")[0].split("=")[1]) for name, value in info(c, "commandstats").items()}
    return sum(count for name, count in calls.items() if "|" not in name
               and name[8:].lower().startswith(("bf.", "cf.")))


@test
def clients_with_pipelines_while_the_server_saves(s):
    equal(sum(clients for _, clients in JOBS), 50)
    server = s.start()
    c = server.connect()
    c("BF.RESERVE bf:hot 0.01 1000")
    c("CF.RESERVE cf:hot 1000")
    c("CF.RESERVE cf:fixed 4000000 EXPANSION 0")
    expect(c, "CONFIG RESETSTAT", OK)
    benchmark = find_program(s.kind, "benchmark")
    # Keys are drawn from this many numbers, so that the filters grow all the time but have an end.
    processes = [subprocess.Popen([benchmark, "-p", str(server.port), "-c", str(clients), "-P", "16", "-l", "-n",
                                   "100000",
                                   "-r", "3000000", "-q", *command.split()],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                 for command, clients in JOBS]
    saves = total = 0
    try:
        start = time.monotonic()
        end = start + (60 if s.soak else 5)
        while time.monotonic() < end or saves < 2 or total <= 10000:
            check(time.monotonic() < start + 300, f"only {saves} background saves and {total} commands in 300 s")
            if info(c, "persistence")["rdb_bgsave_in_progress"] == "0":
                equal(info(c, "persistence")["rdb_last_bgsave_status"], "ok")
                c("BGSAVE")
                saves += 1
            for process, (command, _) in zip(processes, JOBS):
                check(process.poll() is None, f"redis-benchmark of {command} ended: {process.poll()}")
            total = filter_calls(c)
            time.sleep(0.1)
    finally:
        for process in processes:
            process.terminate()
        texts = [process.communicate()[1] for process in processes]
    check(not any("rror" in text for text in texts), repr(texts))
    errors = info(c, "errorstats")
    equal(errors, {}, "errors that the server counted")
    print(f"       {total} commands, {saves} background saves, 0 errors")


if __name__ == "__main__":
    main()
