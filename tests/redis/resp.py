"""A small client for the tests: it speaks RESP2 and RESP3 and keeps the type of every reply.

Client libraries map replies to the types of their language, and then a test cannot tell an integer from a boolean or a
simple string from a bulk string. Here each type of the protocol has its own Python type:

    +text     Simple          :1    int            $4 data   bytes          *2  list
    -text     Error           #t    bool           ,0.5      float          %2  Map (a list of pairs)
    $-1, _    None            *-1   NilArray       ~2        Set            >2  Push

An error is returned, not raised. Use same() to compare replies: in Python, 1 == True.
"""
import socket


class Simple(str):
    pass


class Error(str):
    """The text of an error, with its code: Error("ERR not found")."""


class Map(list):
    """Pairs, in the order in which they arrived."""

    def get(self, name):
        for key, value in self:
            if key == name:
                return value
        raise KeyError(name)


class Set(list):
    pass


class Push(list):
    pass


class NilArrayType:
    def __repr__(self):
        return "NilArray"


NilArray = NilArrayType()
OK = Simple("OK")


class Lost(Exception):
    """The server closed the connection."""


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b


def encode(args):
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        if isinstance(arg, str):
            arg = arg.encode("utf-8", "surrogateescape")
        elif not isinstance(arg, (bytes, bytearray, memoryview)):
            arg = repr(arg).encode() if isinstance(arg, float) else str(arg).encode()
        parts.append(b"$%d\r\n" % len(arg))
        parts.append(arg)
        parts.append(b"\r\n")
    return b"".join(parts)


def words(args):
    """A call may be written as one string, which is split at blanks, or as separate arguments."""
    return args[0].split() if len(args) == 1 and isinstance(args[0], str) else args


class Connection:
    def __init__(self, port, protocol=2, host="127.0.0.1", timeout=120):
        self.socket = socket.create_connection((host, port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.socket.makefile("rb", 1 << 16)
        if protocol == 3:
            reply = self("HELLO", "3")
            if not isinstance(reply, Map):
                raise Lost(repr(reply))

    def close(self):
        try:
            self.reader.close()
        finally:
            self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __call__(self, *args):
        self.send(*args)
        return self.read()

    def send(self, *args):
        self.send_bytes(encode(words(args)))

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except OSError as e:
            raise Lost(str(e)) from e

    def many(self, calls):
        """Sends all calls, then reads all replies."""
        calls = list(calls)
        self.send_bytes(b"".join(encode(words(call) if isinstance(call, tuple) else words((call,))) for call in calls))
        return [self.read() for _ in calls]

    def line(self):
        try:
            line = self.reader.readline()
        except OSError as e:
            raise Lost(str(e)) from e
        if not line.endswith(b"\r\n"):
            raise Lost("the server closed the connection")
        return line[:-2]

    def exactly(self, count):
        data = self.reader.read(count)
        if data is None or len(data) != count:
            raise Lost("the server closed the connection")
        return data

    def read(self):
        line = self.line()
        mark, rest = line[:1], line[1:]
        if mark == b"+":
            return Simple(rest.decode())
        if mark == b"-":
            return Error(rest.decode("utf-8", "replace"))
        if mark == b":":
            return int(rest)
        if mark == b"$":
            return None if rest == b"-1" else self.exactly(int(rest) + 2)[:-2]
        if mark == b"*":
            return NilArray if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if mark == b"%":
            return Map((self.read(), self.read()) for _ in range(int(rest)))
        if mark == b"#":
            return rest == b"t"
        if mark == b"_":
            return None
        if mark == b",":
            return float(rest)
        if mark == b"=":
            return self.exactly(int(rest) + 2)[4:-2]
        if mark == b"~":
            return Set(self.read() for _ in range(int(rest)))
        if mark == b">":
            return Push(self.read() for _ in range(int(rest)))
        raise Lost(f"not a reply: {line[:80]!r}")
