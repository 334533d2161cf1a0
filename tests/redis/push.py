#!/usr/bin/python3
"""kith push, kith pull and kith query with a real server."""
import re
import signal
import subprocess

from fake import Proxy
from resp import Error
from server import ROOT, check, equal, main, test, wait_until
from tool import KITH, Tool

# Further filters, besides one of each kind with default options: a name and the options of `kith build`.
MORE = {"blocked_untrusted": ["-k", "blocked", "--untrusted"], "cuckoo_untrusted": ["-k", "cuckoo", "--untrusted"],
        "grown": ["--grow", "-n", "300"], "grown_delete": ["--grow", "--delete", "-n", "300"]}


def address(server, key="k"):
    return f"redis://127.0.0.1:{server.port}/{key}"


def names(c):
    return sorted(name.decode() for name in c("KEYS", "*"))


@test
def every_kind_comes_back_byte_for_byte(s):
    with Tool() as t:
        t.keys("list", 0, 4000)
        t.keys("queries", 2000, 12000)
        c = s.connect()
        filters = {kind: ["-k", kind] for kind in t.kinds()} | MORE
        for name, options in filters.items():
            t("build", "-o", "f.kith", *options, "--note", "a note", "list")
            t("push", "f.kith", address(s.server, name))
            t("pull", address(s.server, name), "-o", "copy.kith")
            equal(t.read("copy.kith"), t.read("f.kith"), name)
            equal(t("query", address(s.server, name), "queries"), t("query", "f.kith", "queries"), name)
            equal(c("TTL", name), -1, name)
        equal(names(c), sorted(filters))


@test
def a_file_of_many_chunks_comes_back(s):
    with Tool() as t:
        t.keys("list", 0, 1000)
        t("build", "-o", "f.kith", "-k", "bloom", "-n", "20M", "list")
        check(len(t.read("f.kith")) > 32 << 20)
        t("push", "f.kith", address(s.server))
        equal(t("pull", address(s.server)), t.read("f.kith"))
        equal(t("query", "-c", address(s.server), "list"), b"1000\n")


@test
def a_store_is_pushed_with_its_journal(s):
    with Tool() as t:
        t.keys("list", 0, 1000)
        t.keys("more", 1000, 1100)
        t("build", "--store", "-o", "f.kith", "-k", "bloom", "-n", "2000", "-p", "1e-9", "list")
        t("add", "f.kith", "more")
        t("push", "f.kith", address(s.server))
        equal(t("query", "-c", address(s.server), "list", "more"), b"1100\n")
        t("push", "--no-mmap", "f.kith", address(s.server, "read"))
        equal(t("pull", address(s.server, "read")), t("pull", address(s.server)), "--no-mmap")
        # its bytes alone would miss the keys of the journal, so the server refuses them
        c, data = s.connect(), t.read("f.kith")
        got = c("KITH.LOAD", "bytes", 0, len(data), data)
        check(isinstance(got, Error) and "store" in str(got), repr(got))
        equal(c("EXISTS", "bytes"), 0)
        for option in [], ["--no-mmap"]:
            t("pull", *option, address(s.server), "-o", "f.kith")
            equal(t("query", "-c", "f.kith", "list", "more"), b"1100\n")


@test
def queries_print_the_same_as_with_the_file(s):
    with Tool() as t:
        t.keys("list", 0, 4000)
        t.keys("queries", 3000, 6000)
        t("build", "-o", "f.kith", "list")
        t("push", "f.kith", address(s.server))
        for options in ([], ["-v"], ["-c"], ["-vc"], ["--mark"], ["-q"]):
            on_server = t("query", *options, address(s.server), "queries")
            equal(on_server, t("query", *options, "f.kith", "queries"), options)
        equal(t("query", "-c", "--json", address(s.server), "queries").split(b",")[1:],
              t("query", "-c", "--json", "f.kith", "queries").split(b",")[1:])
        equal(t("query", address(s.server), "--key", "key7", "no such key"), b"key7\n")
        t("query", "-q", address(s.server), "--key", "no such key", status=1)
        equal(t("query", address(s.server), stdin=b"", status=1), b"")
        # binary keys, and keys that are longer than a line of the protocol may be
        data = b"\0\r\n\xff" * 4 + b"x" * 16
        t.write("records", data)
        t("build", "-o", "fixed.kith", "--fixed", 16, "records")
        t("push", "fixed.kith", address(s.server, "fixed"))
        equal(t("query", "-c", address(s.server, "fixed"), "records"), b"2\n")
        t.write("long", b"y" * 3_000_000 + b"\n")
        t("build", "-o", "long.kith", "long")
        t("push", "long.kith", address(s.server, "long"))
        equal(t("query", "-c", address(s.server, "long"), "long"), b"1\n")


@test
def the_recipe_of_the_filter_is_applied(s):
    with Tool() as t:
        t.write("list", b"Evil.com\nGOOD.org\n")
        t("build", "-o", "f.kith", "-i", "-p", "1e-9", "list")
        t("push", "f.kith", address(s.server))
        check("lower case" in t.err)
        equal(t("query", address(s.server), stdin=b"EVIL.COM\nother\n"), b"EVIL.COM\n")
        equal(s.connect()("KITH.MEXISTS", "k", "evil.com", "Evil.com"), [1, 0])
        t.fails("query", "--trim", address(s.server), stdin=b"a\n", says=["--trim", "k"])
        t("push", "--shards", 3, "-i", "-p", "1e-9", "list", address(s.server, "sharded"))
        equal(t("query", address(s.server, "sharded"), stdin=b"GOOD.ORG\nother\n"), b"GOOD.ORG\n")


@test
def an_existing_key_is_replaced_only_on_request(s):
    with Tool() as t:
        t.keys("list", 0, 1000)
        t.keys("more", 0, 2000)
        t("build", "-o", "a.kith", "list")
        t("build", "-o", "b.kith", "--delete", "more")
        c = s.connect()
        t("push", "a.kith", address(s.server))
        c("EXPIRE", "k", 1000)
        t.fails("push", "b.kith", address(s.server), says=["exists", "--replace"])
        equal(t("pull", address(s.server)), t.read("a.kith"))
        check(c("TTL", "k") > 900, "a refused push leaves the expiry of the key")
        t("push", "--replace", "b.kith", address(s.server))
        equal(t("pull", address(s.server)), t.read("b.kith"))
        equal((c("TTL", "k"), names(c)), (-1, ["k"]))
        c("SET", "text", "precious")
        t.fails("push", "--replace", "a.kith", address(s.server, "text"), says=["string", "does not replace"])
        equal(c("GET", "text"), b"precious")


@test
def keys_and_databases_of_any_name_work(s):
    with Tool() as t:
        t.keys("list", 0, 1000)
        t("build", "-o", "f.kith", "list")
        t("push", "f.kith", address(s.server, "3/a%20b%00%7Bx%7D/%25"))
        c = s.connect()
        equal(c("KEYS", "*"), [])
        c("SELECT", 3)
        equal(c("KEYS", "*"), [b"a b\0{x}/%"])
        equal(t("query", "-c", address(s.server, "3/a%20b%00%7Bx%7D/%25"), "list"), b"1000\n")


@test
def a_server_without_the_module_is_named(s):
    plain = s.start(module=None)
    with Tool() as t:
        t.keys("list", 0, 1000)
        t("build", "-o", "f.kith", "list")
        t.fails("push", "f.kith", address(plain), says=["load the module kith.so", "KITH.LOAD"])
        t.fails("push", "--shards", 2, "list", address(plain), says=["load the module kith.so"])
        t.fails("pull", address(plain), "-o", "x", says="no such key")
        t.fails("query", address(plain), "list", says="no such key")
        c = plain.connect()
        c("RPUSH", "k", "x")
        t.fails("pull", address(plain), "-o", "x", says=["list", "not a filter"])
        t.fails("query", address(plain), "list", says=["list", "not a filter"])
        t.fails("query", address(plain).replace("redis:", "redis+cluster:"), "list", says="not part of a cluster")
        equal(names(c), ["k"])


@test
def passwords_open_a_guarded_server(s):
    guarded = s.start()
    c = guarded.connect()
    c("ACL", "SETUSER", "ann", "on", ">sesame", "~k*", "+@all")
    c("CONFIG", "SET", "requirepass", "mellon")
    with Tool() as t:
        t.keys("list", 0, 1000)
        t("build", "-o", "f.kith", "list")
        t.fails("push", "f.kith", address(guarded), says=["wants a password", "--password-file"])
        t("push", "f.kith", address(guarded), environment={"REDISCLI_AUTH": "mellon"})
        t.write("secret", b"sesame\n")
        ann = address(guarded).replace("127", "ann@127", 1)
        equal(t("pull", ann, "--password-file", "secret"), t.read("f.kith"))
        # Rules for names that begin with the key cover the temporary key as well.
        t("push", "--replace", "f.kith", ann, "--password-file", "secret")
        t("push", "f.kith", ann + "2", "--password-file", "secret")
        t.fails("push", "f.kith", ann.replace("/k", "/other"), "--password-file", "secret", says="NOPERM")
    c("CONFIG", "SET", "requirepass", "")  # so that the harness can stop it


@test
def a_broken_push_leaves_only_a_key_that_expires(s):
    with Tool() as t:
        t.keys("list", 0, 1000)
        t("build", "-o", "f.kith", "-k", "bloom", "-n", "8M", "list")
        with Proxy(s.server.port, 9 << 20) as proxy:
            t.fails("push", "f.kith", f"redis://127.0.0.1:{proxy.port}/k", says=["KITH.LOAD", f":{proxy.port}"])
        c = s.connect()
        left = names(c)
        check(len(left) == 1 and left[0].startswith("k:kith-push-"), left)
        check(3500 < c("TTL", left[0]) <= 3600)
        # The half-loaded key is no obstacle to the next push, and never looks like a filter.
        t("push", "f.kith", address(s.server))
        t.fails("query", address(s.server, left[0]), "list", says=left[0])


@test
def an_interrupted_push_removes_its_key(s):
    with Tool() as t:
        t.keys("list", 0, 1000)
        t("build", "-o", "f.kith", "-k", "bloom", "-n", "100M", "list")
        c = s.connect()
        push = [KITH, "push", "f.kith", address(s.server)]
        for _ in range(10):  # on a busy machine a push can end before this process sees that it has begun
            c("FLUSHALL")
            process = subprocess.Popen(push, cwd=t.folder, stderr=subprocess.PIPE)
            wait_until(lambda: names(c), about="the push has begun")
            process.send_signal(signal.SIGTERM)
            process.communicate()
            if names(c) != ["k"]:
                break
        check(process.returncode != 0)

        def removed_or_expires():
            """It is removed at once, unless the signal came in the middle of a chunk: then it expires."""
            left = names(c)
            check("k" not in left and len(left) <= 1, left)
            return not left or c("TTL", left[0]) > 0
        wait_until(removed_or_expires, about="the server has read what the push sent")


# ---- shards ----

def shard_names(c, key="k"):
    return [name for name in names(c) if name != key]


@test
def shards_find_every_key(s):
    with Tool() as t:
        t.keys("list", 0, 20000)
        t.keys("others", 20000, 40000)
        c = s.connect()
        t("push", "--shards", 7, "-p", "0.1%", "list", address(s.server))
        equal(t("query", "-c", address(s.server), "list"), b"20000\n")
        # 20,000 lookups at a rate of 0.1%: more than 60 would be 9 standard deviations above the mean
        check(int(t("query", "-c", address(s.server), "others", status=None)) <= 60)
        found = shard_names(c)
        equal(len(found), 7)
        check(all(f":{i}of7" in " ".join(found) for i in range(7)))
        lines = c("GET", "k").decode().splitlines()
        check(re.fullmatch("set [0-9a-f]{32}", lines[1]), lines[1])
        equal(lines[:1] + lines[2:4], ["kith-shards 1", "shards 7", "recipe 0"])
        equal(sorted(lines[4:]), found)
        # Every shard has its own secret key, and about its share of the keys.
        secrets = set()
        for name in lines[4:]:
            data = t("pull", address(s.server, name.replace("{", "%7B").replace("}", "%7D")))
            t.write("shard.kith", data)
            secrets.add(data[48:64])
            check(data[32:34] == b"\1\0", "the hash is SipHash")
            count = int.from_bytes(data[80:88], "little")
            check(2857 - 300 < count < 2857 + 300, count)
        equal(len(secrets), 7)
        t.fails("pull", address(s.server), "-o", "x", says=["7 shards", lines[4]])


@test
def the_description_of_shards_is_that_of_the_documentation(s):
    block = (ROOT / "docs/redis.md").read_text().split("```\nkith-shards", 1)[1].split("```", 1)[0]
    with Tool() as t:
        t("push", "--shards", 3, address(s.server, "denied"), stdin=b"x\n")
        said, block = s.connect()("GET", "denied").decode(), "kith-shards" + block
        number = re.compile("^set [0-9a-f]{32}$", re.M)
        check(number.search(said) and number.search(block), block)
        equal(number.sub("set", said), number.sub("set", block))


@test
def shards_read_lists_as_build_does(s):
    with Tool() as t:
        t.write("a.csv", b"id,name\n1,Ann\n2,Bob\n")
        t.write("b.csv", b"id,name\n3,Cid\n1,Ann\n")
        t("push", "--shards", 2, "-p", "1e-9", "--csv", "--field", 2, "-i", "a.csv", "b.csv", address(s.server))
        equal(t("query", address(s.server), stdin=b"ann\nBOB\ncid\ndan\n"), b"ann\nBOB\ncid\n")
        t("push", "--shards", 2, "--delete", "-n", "1000", address(s.server, "in"), stdin=b"x\ny\n")
        c = s.connect()
        equal(str(c("TYPE", c("GET", "in").decode().splitlines()[4])), "kithcucko")
        t("push", "--shards", 64, "-p", "1e-9", address(s.server, "few"), stdin=b"x\ny\n")
        equal(t("query", address(s.server, "few"), stdin=b"x\nq\ny\n"), b"x\ny\n")
        t.keys("many", 0, 99)
        t.fails("push", "--shards", 2, "-n", 10, "many", address(s.server, "small"), says=["-n", "shard"])
        t.fails("push", "--shards", 2, "missing", address(s.server, "small"), says=["missing", "no such file"])
        equal(s.connect()("EXISTS", "small"), 0)


@test
def another_number_of_shards_replaces_the_old_ones(s):
    with Tool() as t:
        t.keys("list", 0, 3000)
        t.keys("more", 0, 5000)
        c = s.connect()
        t("push", "--shards", 5, "list", address(s.server))
        t.fails("push", "--shards", 3, "more", address(s.server), says=["exists", "--replace"])
        equal(len(shard_names(c)), 5)
        t("push", "--shards", 3, "--replace", "more", address(s.server))
        equal(len(shard_names(c)), 3)
        equal(t("query", "-c", address(s.server), "more"), b"5000\n")
        t("push", "--shards", 3, "--replace", "list", address(s.server))
        equal((len(shard_names(c)), t("query", "-c", address(s.server), "list")), (3, b"3000\n"))
        check(all(c("TTL", name) == -1 for name in names(c)))
        t("build", "-o", "f.kith", "list")
        t("push", "--replace", "f.kith", address(s.server))
        equal(names(c), ["k"])
        t("push", "--shards", 2, "--replace", "list", address(s.server))
        equal((len(shard_names(c)), t("query", "-c", address(s.server), "list")), (2, b"3000\n"))


@test
def a_missing_shard_is_an_error(s):
    with Tool() as t:
        t.keys("list", 0, 3000)
        t("push", "--shards", 4, "list", address(s.server))
        c = s.connect()
        lost = shard_names(c)[2]
        c("DEL", lost)
        t.fails("query", address(s.server), "list", says=["missing", lost])


# ---- examples ----

@test
def the_examples_of_the_manual_work(s):
    with Tool() as t:
        t.write("passwords.txt", b"".join(b"pass%d\n" % i for i in range(5000)) + b"letmein\n")
        t.write("candidates.txt", b"letmein\ncorrect horse\npass7\n")
        t("build", "-o", "denied.kith", "passwords.txt")
        t("build", "-o", "denied6.kith", "-p", "1e-6", "passwords.txt")
        ran = 0
        for name in ("push", "pull"):
            for line in t("help", "--examples", name).decode().splitlines():
                if line.startswith("kith "):
                    t(*line.replace("localhost", f"127.0.0.1:{s.server.port}").split()[1:])
                    ran += 1
        check(ran >= 6, f"only {ran} examples")


if __name__ == "__main__":
    main()
