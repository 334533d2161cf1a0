"""The harness of the tests with real servers: SUITE.py SERVER MODULE [TEST…]

SERVER is redis, redis8 or valkey, MODULE the path of kith.so (a test that compares may pass another module). Each suite
is a file of functions marked @test, whose names are sentences. They get a Suite, which starts servers on free ports of
the loopback interface, each in its own temporary folder, and stops them after the test. suite.server is one that the
tests of a file share; it is emptied between them.

A test fails if it raises, if a server exits that was not told to, or if a server's log has the mark of a crash or of a
sanitizer. Then the ends of the logs are printed. Exit status: 0 passed, 1 failed, 77 the server is not installed.

KITH_TIER=soak chooses long runs, KITH_SEED the seed of what is random, KITH_PRELOAD a library that the servers load
first (the runtime of the sanitizers).
"""
import ctypes
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

from resp import Connection, Error, Lost, OK, same

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = []
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
CRASH = re.compile(r"BUG REPORT|AddressSanitizer|runtime error:|ASSERTION FAILED|crashed by signal|LeakSanitizer")
WRONGTYPE = Error("WRONGTYPE Operation against a key holding the wrong kind of value")


def test(function):
    TESTS.append(function)
    return function


def find_program(server, program):
    """server is redis, redis8 or valkey, program is server, cli or benchmark. Returns a path, or None."""
    name = f"{server.rstrip('8')}-{program}"
    for unpacked in (ROOT / "build" / server / "bin" / name, ROOT / "build" / server / "root" / "usr" / "bin" / name):
        if unpacked.exists():
            return str(unpacked)
    return None if server == "redis8" else shutil.which(name)


def free_port():
    """Returns a port and a socket. No other test gets this port until the socket is closed or the process ends.

    The port and port + 10000, the cluster's bus, are free and below the range that the system gives to clients. The
    socket has the port in its name, which two processes cannot bind at the same time. Without it, two tests that start
    servers at the same moment could choose the same port, and one would talk to the server of the other."""
    for _ in range(200):
        port = random.SystemRandom().randrange(20000, 22700)
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0kith-redis-port-{port}")
            for number in (port, port + 10000):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", number))
            return port, reservation
        except OSError:
            reservation.close()
    raise RuntimeError("no free port")


class Server:
    """A server process in its own folder. `module` None starts it without a module."""

    def __init__(self, kind, module, module_args=(), options=(), memory_bytes=None, folder=None):
        self.kind, self.module, self.module_args, self.options = kind, module, list(module_args), list(options)
        self.memory_bytes = memory_bytes
        self.own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="kith-redis-"))
        self.port, self.reservation = free_port()
        self.process = None
        self.connections = []
        self.expect_exit = False
        self.log_path = self.folder / "log"

    def command(self):
        args = [find_program(self.kind, "server"), "--port", str(self.port), "--bind", "127.0.0.1",
                "--dir", str(self.folder), "--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
                "--enable-module-command", "yes", "--daemonize", "no", "--repl-diskless-sync-delay", "0",
                "--latency-tracking", "no"]
        args += [str(option) for option in self.options]
        if self.module:
            args += ["--loadmodule", str(self.module)] + [str(arg) for arg in self.module_args]
        return args

    def start(self, wait=True):
        limit = self.memory_bytes

        def before_exec():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the server does not outlive a test that is killed
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        environment = dict(os.environ)
        if os.environ.get("KITH_PRELOAD"):
            environment["LD_PRELOAD"] = os.environ["KITH_PRELOAD"]
        for _ in range(5):
            with open(self.log_path, "ab") as log:
                self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                cwd=self.folder, env=environment, preexec_fn=before_exec)
            self.expect_exit = False
            if not wait:
                return self
            if self.wait_ready():
                return self
            if "Address already in use" not in self.log()[-2000:]:
                break
            self.reservation.close()
            self.port, self.reservation = free_port()
        raise Lost(f"the server did not start (exit status {self.process.poll()})")

    def wait_ready(self, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return False
            try:
                with Connection(self.port) as c:
                    # The process id tells this server from another one that has taken the port.
                    if c("PING") == "PONG" and info(c, "server")["process_id"] == str(self.process.pid):
                        return True
            except (OSError, Lost):
                pass
            time.sleep(0.01)
        return False

    def connect(self, protocol=2):
        c = Connection(self.port, protocol)
        self.connections.append(c)
        return c

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def end_of_log(self):
        """The last lines, or those where a crash begins."""
        lines = self.log().splitlines()
        crash = next((i for i, line in enumerate(lines) if CRASH.search(line)), None)
        return "\n".join(lines[-40:] if crash is None else lines[max(0, crash - 10):crash + 50]) + "\n"

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """kill -9, as a crash of the machine would."""
        self.expect_exit = True
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.drop_connections()

    def stop(self, save=False):
        self.expect_exit = True
        if self.alive():
            try:
                with Connection(self.port) as c:
                    c.send("SHUTDOWN", "SAVE" if save else "NOSAVE")
            except (OSError, Lost):
                pass
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.drop_connections()

    def restart(self, save=False):
        self.stop(save)
        return self.start()

    def drop_connections(self):
        for c in self.connections:
            try:
                c.close()
            except OSError:
                pass
        self.connections = []

    def trouble(self):
        """What is wrong with this server, or None."""
        mark = CRASH.search(self.log())
        if mark:
            return f"the log has {mark.group(0)!r}"
        if not self.expect_exit and self.process is not None and self.process.poll() is not None:
            return f"the server exited with status {self.process.returncode}"
        return None

    def remove(self):
        self.stop()
        self.reservation.close()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class Suite:
    def __init__(self, kind, module):
        self.kind, self.module = kind, os.path.abspath(module)
        self.soak = os.environ.get("KITH_TIER") == "soak"
        self.sanitized = bool(os.environ.get("KITH_PRELOAD"))
        self.seed = int(os.environ.get("KITH_SEED", "1"))
        self.random = random.Random(self.seed)
        self.servers = []
        self.shared = None

    def start(self, *options, module_args=(), module="", memory_bytes=None, wait=True, files=()):
        """Starts a server for the current test. `options` are options of the server: "--appendonly", "yes" … `files`
        are pairs of a name and the path of a file that is copied into the server's folder under that name."""
        s = Server(self.kind, self.module if module == "" else module, module_args, options, memory_bytes)
        self.servers.append(s)
        for name, path in files:
            shutil.copy(path, s.folder / name)
        return s.start(wait)

    @property
    def server(self):
        if self.shared is None or not self.shared.alive():
            self.shared = Server(self.kind, self.module)
            self.shared.start()
        return self.shared

    def connect(self, protocol=2):
        return self.server.connect(protocol)

    @property
    def is_redisbloom(self):
        """Whether the module is not kith.so but RedisBloom, for comparison."""
        with Connection(self.server.port) as c:
            return any(b"bf" in module for module in c("MODULE LIST"))


def check(condition, text="the condition does not hold"):
    if not condition:
        raise AssertionError(text)


def equal(got, want, about=""):
    if not same(got, want):
        raise AssertionError(f"{about}\n  got  {shorten(got)}\n  want {shorten(want)}")


def shorten(value):
    text = repr(value)
    return text if len(text) < 600 else f"{text[:400]} … {text[-150:]} ({len(text)} characters)"


def expect(connection, call, want):
    """call is one string, split at blanks, or a list of arguments. The type of the reply counts."""
    args = call.split() if isinstance(call, str) else call
    got = connection(*args) if len(args) > 1 else connection(args[0])
    equal(got, want, f"{shorten(call)} returned")
    return got


def expect_error(connection, call, part):
    """The reply is an error that contains `part`."""
    args = call.split() if isinstance(call, str) else call
    got = connection(*args) if len(args) > 1 else connection(args[0])
    check(isinstance(got, Error) and part in got,
          f"{shorten(call)} returned {shorten(got)}, not an error with {part!r}")
    return got


def wait_until(condition, seconds=120, about=""):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {about}")


def info(connection, section):
    """INFO SECTION as a dictionary."""
    text = connection("INFO", section).decode()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def digest(connection, *keys):
    """What DEBUG DIGEST-VALUE says of the keys' values; equal for equal bytes."""
    return connection("DEBUG", "DIGEST-VALUE", *keys)


def run_test(suite, function):
    """Returns the text of what went wrong, or None."""
    wrong = None
    suite.random.seed(f"{suite.seed} {function.__name__}")
    try:
        function(suite)
    except Exception:  # also KeyError and the like: any exception fails the test
        wrong = traceback.format_exc()
    for s in suite.servers + ([suite.shared] if suite.shared else []):
        trouble = s.trouble()
        if trouble:
            wrong = (wrong or "") + f"server at port {s.port}: {trouble}\n"
    if wrong:
        for s in suite.servers + ([suite.shared] if suite.shared else []):
            wrong += f"--- log of the server at port {s.port}\n" + s.end_of_log()
    for s in suite.servers:
        s.remove()
    suite.servers = []
    if suite.shared:
        if wrong:
            suite.shared.remove()
            suite.shared = None
        else:
            suite.shared.drop_connections()
            with Connection(suite.shared.port) as c:
                c("FLUSHALL")
    return wrong


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("redis", "redis8", "valkey"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    kind, module, chosen = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not find_program(kind, "server"):
        print(f"skipped: {kind}-server is not installed")
        sys.exit(77)
    if not os.path.exists(module):
        print(f"{module} does not exist", file=sys.stderr)
        sys.exit(2)
    suite = Suite(kind, module)
    failed = passed = 0
    functions = [f for f in TESTS if not chosen or f.__name__ in chosen]
    try:
        for function in functions:
            start = time.monotonic()
            wrong = run_test(suite, function)
            seconds = time.monotonic() - start
            print(f"{'FAILED' if wrong else 'ok':6} {seconds:6.2f} s  {function.__name__}", flush=True)
            if wrong:
                failed += 1
                print(wrong, flush=True)
            else:
                passed += 1
    finally:
        for s in suite.servers + ([suite.shared] if suite.shared else []):
            s.remove()
    print(f"{passed} passed, {failed} failed (seed {suite.seed})")
    sys.exit(1 if failed or not passed else 0)
