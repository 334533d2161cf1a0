"""A server for tests that gives the replies that a test wants, including those that no real server gives.

    with Fake(reply) as fake: …        reply(args) returns bytes to send, Cut bytes, DROP or SILENT, or a generator of
                                       bytes that are sent one after the other

`args` is a list of bytes. fake.calls has all commands so far.
"""
import socket
import threading

DROP = object()
SILENT = object()


class Cut(bytes):
    """Bytes after which the connection is closed."""


def simple(text):
    return b"+" + text.encode() + b"\r\n"


def error(text):
    return b"-" + text.encode() + b"\r\n"


def integer(number):
    return b":%d\r\n" % number


def bulk(data):
    return b"$-1\r\n" if data is None else b"$%d\r\n%s\r\n" % (len(data), data)


def array(*parts):
    return b"*%d\r\n" % len(parts) + b"".join(parts)


class Fake:
    def __init__(self, reply):
        self.reply, self.calls = reply, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # ends the accept() of the other thread
        self.listener.close()
        for c in self.connections:
            c.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        reader = connection.makefile("rb")
        try:
            while True:
                line = reader.readline()
                if not line:
                    return
                args = []
                for _ in range(int(line[1:])):
                    args.append(reader.read(int(reader.readline()[1:])))
                    reader.read(2)
                self.calls.append(args)
                reply = self.reply(args)
                if reply is DROP:
                    return
                if reply is SILENT:
                    continue
                for piece in [reply] if isinstance(reply, bytes) else reply:
                    connection.sendall(piece)
                if isinstance(reply, Cut):
                    return
        except (OSError, ValueError):
            return
        finally:
            try:
                connection.shutdown(socket.SHUT_RDWR)  # the reader holds the socket open
            except OSError:
                pass
            connection.close()

    def names(self):
        return [call[0].decode() for call in self.calls]


class Meddler:
    """Passes bytes on to a real server. Before it passes on what contains `mark` for the nth time (1 is the first), it
    calls act(), and closes both sides if that returns DROP. meddler.marks counts how often it has seen the mark.

    A client sends what belongs to one step at once, so a mark is never split, as long as it comes early in a step."""

    def __init__(self, port, mark, act, nth=1):
        self.target, self.mark, self.act, self.nth, self.marks = port, mark, act, nth, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        try:
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self.copy, args=(client, server), daemon=True).start()
                threading.Thread(target=Proxy.copy, args=(server, client, None), daemon=True).start()
        except OSError:
            return

    def copy(self, client, server):
        try:
            while True:
                data = client.recv(1 << 20)
                if not data:
                    break
                if self.mark in data:
                    self.marks += 1
                    if self.marks == self.nth and self.act() is DROP:
                        break
                server.sendall(data)
        except OSError:
            pass
        for s in (client, server):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Proxy:
    """Passes bytes on to a real server, and closes both sides after `limit` bytes from the client."""

    def __init__(self, port, limit):
        self.target, self.limit = port, limit
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        try:
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self.copy, args=(client, server, self.limit), daemon=True).start()
                threading.Thread(target=self.copy, args=(server, client, None), daemon=True).start()
        except OSError:
            return

    @staticmethod
    def copy(source, target, limit):
        try:
            while limit is None or limit > 0:
                data = source.recv(65536 if limit is None else min(65536, limit))
                if not data:
                    break
                target.sendall(data)
                limit = None if limit is None else limit - len(data)
        except OSError:
            pass
        for s in (source, target):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
