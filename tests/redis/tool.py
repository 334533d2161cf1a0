"""Runs the command line tool in the tests of kith push, kith pull and kith query."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from server import check

KITH = os.environ.get("KITH_TOOL", "kith")


class Tool:
    """Runs kith in a temporary folder."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kith-tool-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def __call__(self, *args, stdin=b"", environment=None, status=0):
        """Returns stdout. Fails unless the exit status is as given; None accepts any."""
        env = {k: v for k, v in os.environ.items() if k not in ("REDISCLI_AUTH", "LD_PRELOAD")}
        env.update(environment or {}, TMPDIR=str(self.folder), LC_ALL="C")
        done = subprocess.run([KITH, *map(str, args)], input=stdin, capture_output=True, cwd=self.folder, env=env,
                              timeout=120)
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.decode(errors="replace")
        check(status is None or done.returncode == status,
              f"kith {' '.join(map(str, args))}\n  status {done.returncode}, not {status}\n  {self.err}")
        return self.out

    def peak(self, *args):
        """Runs kith and returns the most memory that it had, in bytes. Its exit status and stderr are in self. What
        Python itself has, about 20 MB, is the least that the system reports."""
        with open(self.path("peak.err"), "wb") as err:
            started = subprocess.Popen([KITH, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=err, cwd=self.folder, env={**os.environ, "TMPDIR": str(self.folder)})
            _, status, usage = os.wait4(started.pid, 0)
            started.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.err = self.path("peak.err").read_text(errors="replace")
        return usage.ru_maxrss * 1024

    def fails(self, *args, says=(), **more):
        """The command fails with one line on stderr that contains all words of `says`."""
        self(*args, status=2, **more)
        check(self.err.count("\n") == 1 and self.err.startswith("kith "), f"not one line of kith: {self.err!r}")
        for words in [says] if isinstance(says, str) else says:
            check(words in self.err, f"the error does not say {words!r}:\n  {self.err}")

    def kinds(self, *words):
        """The kinds of filters that support every word, such as "add", and none that is written as "-add"."""
        kinds = {kind["kind"]: kind["can"].split() for kind in json.loads(self("kinds", "--json"))["kinds"]}
        found = [kind for kind, can in kinds.items()
                 if all(word[1:] not in can if word.startswith("-") else word in can for word in words)]
        check(found, f"there is no kind that supports {' '.join(words)}")
        return found

    def path(self, name):
        return self.folder / name

    def write(self, name, data):
        self.path(name).write_bytes(data)
        return name

    def read(self, name):
        return self.path(name).read_bytes()

    def keys(self, name, first, last):
        return self.write(name, b"".join(b"key%d\n" % i for i in range(first, last)))

    def left_over(self):
        """Temporary files of a save."""
        return [p.name for p in self.folder.iterdir() if p.name.startswith(".")]
