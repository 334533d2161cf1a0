#!/usr/bin/python3
"""kith push --replace removes and replaces only what belongs to it: forged, renamed and copied descriptions of shards,
and other programs that change keys between a check and what follows from it."""
import re

from fake import DROP, Meddler
from resp import Error
from server import ROOT, check, equal, main, test, wait_until
from tool import Tool

SET = "5e" * 16  # the number of a set that nobody has pushed


def address(server, key="k"):
    return f"redis://127.0.0.1:{server.port}/{key}"


def lines_of(c, key="k"):
    return c("GET", key).decode().splitlines()


def shards_of(c, key="k"):
    return lines_of(c, key)[4:]


def description(names, sets=SET):
    return "".join(f"{line}\n" for line in ["kith-shards 1", f"set {sets}", f"shards {len(names)}", "recipe 0", *names])


def everything(c):
    """All keys with their values, except those of the names given."""
    return {name: c("DUMP", name) for name in c("KEYS", "*")}


def prepare(t, c, server):
    """Lists, a filter file, and keys of other people."""
    t.keys("list", 0, 3000)
    t.keys("more", 1000, 6000)
    t("build", "-o", "f.kith", "list")
    c("SET", "precious", "value")
    c("HSET", "hash", "field", "value")
    c("BF.ADD", "filter", "item")
    t("push", "--shards", 2, "list", address(server, "other"))


def undone(condition):
    """A push that fails asks the server to remove its temporary keys, and does not wait for that."""
    wait_until(condition, about="the server has removed what a failed push has left")


def left(t):
    """The keys that the tool has said it leaves on the server."""
    return re.findall(r"left on the server: (.*?): ", t.err)


@test
def a_forged_description_destroys_nothing(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        own = ["k:{eff9}:0of5", "k:{eff9}:0of6"]
        c("SET", own[0], "not a shard")
        names = [own[0], own[1], "precious", "hash", "filter", *shards_of(c, "other"), "other"]
        sets = [SET, lines_of(c, "other")[1][4:]]
        before = everything(c)
        for forged in (description(names, SET), description(names, " ".join(sets)), description(names[2:4], sets[1])):
            for push in (["f.kith"], ["--shards", 3, "list"]):
                c("SET", "k", forged)
                t("push", "--replace", *push, address(s.server))
                equal(sorted(left(t)), sorted(forged.splitlines()[4:]))
                after = everything(c)
                equal({name: after.get(name) for name in before}, before)
                equal(t("query", "-c", address(s.server), "list"), b"3000\n")
                equal(t("query", "-c", address(s.server, "other"), "list"), b"3000\n")
                t("push", "--replace", "f.kith", address(s.server))
                equal(sorted(everything(c)), sorted([*before, b"k"]))


@test
def a_shard_whose_value_was_replaced_stays(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        t("push", "--shards", 6, "list", address(s.server))
        shards = shards_of(c)
        c("SET", shards[0], "a string")
        c("DEL", shards[1])
        c("RPUSH", shards[1], "a list")
        c("COPY", "filter", shards[2], "REPLACE")
        c("COPY", shards_of(c, "other")[0], shards[3], "REPLACE")
        c("COPY", shards[5], shards[4], "REPLACE")  # of this set, but another shard
        before = everything(c)
        del before[b"k"], before[shards[5].encode()]
        t("push", "--replace", "f.kith", address(s.server))
        equal(sorted(left(t)), sorted(shards[:5]))
        after = everything(c)
        del after[b"k"]
        equal(after, before)


@test
def what_is_in_the_way_of_a_shard_is_named_and_stays(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        for replaced in (False, True):
            c("DEL", "k")
            if replaced:
                t("push", "--shards", 3, "list", address(s.server))
            for value, says in ((["SET", "string"], "another kind of value"), (["COPY"], "another filter"),
                                (["COPY", "other"], "one of another set")):
                name = "k:{8209}:1of3"
                c("COPY", name, "kept") if replaced else None
                if value[0] == "SET":
                    c("SET", name, value[1])
                else:
                    c("COPY", shards_of(c, "other")[0] if len(value) > 1 else "filter", name, "REPLACE")
                before = everything(c)
                t.fails("push", "--shards", 3, "--replace", "more", address(s.server), says=[name, says])
                equal(everything(c), before)
                c("DEL", name)
                c("RENAME", "kept", name) if replaced else None
        t("push", "--shards", 3, "--replace", "more", address(s.server))
        equal(t("query", "-c", address(s.server), "more"), b"5000\n")
        equal(t.err, "")


@test
def a_renamed_description_keeps_its_shards(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        t("push", "--shards", 3, "list", address(s.server))
        shards = shards_of(c)
        c("RENAME", "k", "renamed")
        # The name is free, but the shards under it are in use.
        for more in ([], ["--replace"]):
            t.fails("push", "--shards", 3, *more, "more", address(s.server), says=[shards[0], "one of another set"])
        t("push", "--shards", 4, "more", address(s.server))
        t("push", "--shards", 5, "--replace", "more", address(s.server))
        t("push", "--replace", "f.kith", address(s.server))
        equal(t("query", "-c", address(s.server, "renamed"), "list"), b"3000\n")
        equal(sum(name.startswith(b"k:") for name in everything(c)), 3)
        # When it is replaced, its old shards are named.
        before = {name: everything(c)[name.encode()] for name in shards}
        t("push", "--shards", 3, "--replace", "more", address(s.server, "renamed"))
        equal(left(t), shards)
        check("renamed or copied" in t.err, t.err)
        equal({name: everything(c)[name.encode()] for name in shards}, before)
        equal(t("query", "-c", address(s.server, "renamed"), "more"), b"5000\n")
        # Back under its own name it can be replaced.
        c("UNLINK", *shards)
        t("push", "--shards", 3, "list", address(s.server, "moved"))
        c("RENAME", "moved", "away")
        c("RENAME", "away", "moved")
        t("push", "--shards", 2, "--replace", "more", address(s.server, "moved"))
        equal((left(t), sum(name.startswith(b"moved:") for name in everything(c))), ([], 2))


@test
def a_copied_description_leaves_the_shards_to_the_original(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        t("push", "--shards", 3, "list", address(s.server))
        for push in (["f.kith"], ["--shards", 3, "more"], ["--shards", 2, "more"]):
            c("COPY", "k", "copy", "REPLACE")
            t("push", "--replace", *push, address(s.server, "copy"))
            equal(left(t), shards_of(c))
            equal(t("query", "-c", address(s.server), "list"), b"3000\n")
        # A foreign description in the place of k: the shards of k itself are not named in it, so they are in the way.
        c("COPY", "other", "k", "REPLACE")
        t.fails("push", "--shards", 3, "--replace", "more", address(s.server), says=["k:{eff9}:0of3", "another set"])
        equal(t("query", "-c", address(s.server, "other"), "list"), b"3000\n")


# ---- other programs that are faster ----

@test
def a_key_that_changes_after_the_check_is_not_replaced(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        for value in (["f.kith"], ["--shards", 3, "list"]):
            for push in (["f.kith"], ["--shards", 3, "more"], ["--shards", 2, "more"]):
                for name in c("KEYS", "k*"):
                    c("DEL", name)
                t("push", *value, address(s.server))
                before = everything(c)
                with Meddler(s.server.port, b"EXEC", lambda: c("SET", "k", "precious")) as meddler:
                    t.fails("push", "--replace", *push, address(meddler), says=["changed by another program"])
                equal(c("GET", "k"), b"precious")
                c("RESTORE", "k", 0, before[b"k"], "REPLACE")
                undone(lambda: everything(c) == before)
        # A key that did not exist.
        c("DEL", *c("KEYS", "k*"))
        for push, says in ((["--replace", "f.kith"], "changed by another program"), (["f.kith"], "exists"),
                           (["--replace", "--shards", 3, "list"], "changed by another program"),
                           (["--shards", 3, "list"], "exists")):
            with Meddler(s.server.port, b"EXEC", lambda: c("SET", "k", "precious")) as meddler:
                t.fails("push", *push, address(meddler), says=says)
            equal(c("GET", "k"), b"precious")
            undone(lambda: c("KEYS", "k?*") == [])
            c("DEL", "k")


@test
def a_shard_that_changes_after_the_check_is_neither_removed_nor_replaced(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        t("push", "--shards", 3, "list", address(s.server))
        shards = shards_of(c)
        with Meddler(s.server.port, b"KITH.UNLINK", lambda: c("SET", shards[0], "precious")) as meddler:
            t("push", "--replace", "f.kith", address(meddler))
            equal(meddler.marks, 3)
        equal((left(t), c("GET", shards[0])), ([shards[0]], b"precious"))
        equal(c("EXISTS", *shards), 1)
        for value in (["SET", shards[0], "precious"], ["COPY", "filter", shards[0], "REPLACE"]):
            c("DEL", "k", *shards)
            t("push", "--shards", 3, "list", address(s.server))
            with Meddler(s.server.port, b"KITH.UNLINK", lambda: c(*value)) as meddler:
                t.fails("push", "--replace", "--shards", 3, "more", address(meddler), says=[shards[0], "in the way"])
            check(c("TYPE", shards[0]) in ("string", "kithbloom"))
            check(value[0] == "COPY" or c("GET", shards[0]) == b"precious")
            undone(lambda: c("KEYS", "*kith-push-*") == [])


@test
def of_two_pushes_at_once_one_is_whole(s):
    with Tool() as t, Tool() as other:
        c = s.connect()
        prepare(t, c, s.server)
        other.keys("more", 1000, 6000)
        # `after` the description, the first, the second and the last shard of the slower push
        for mark, nth in ((b"kith-shards 1", 1), (b"KITH.UNLINK", 1), (b"KITH.UNLINK", 2), (b"KITH.UNLINK", 3),
                          (b"kith-shards 1", 2)):
            for number in (3, 4):
                for name in c("KEYS", "k*"):
                    c("DEL", name)
                t("push", "--shards", 3, "list", address(s.server))

                def faster():
                    other("push", "--replace", "--shards", number, "more", address(s.server))
                with Meddler(s.server.port, mark, faster, nth) as meddler:
                    t("push", "--replace", "--shards", 3, "list", address(meddler), status=None)
                    check(meddler.marks >= nth, f"{mark} was sent {meddler.marks} times")
                equal((t.status, "changed by another" in t.err or "in the way" in t.err), (2, True), t.err)
                equal(t("query", "-c", address(s.server), "more"), b"5000\n")
                equal(len(lines_of(c)[1].split()), 2, "one set")
                undone(lambda: c("KEYS", "*kith-push-*") == [])


@test
def the_next_push_repairs_what_a_broken_one_has_left(s):
    with Tool() as t:
        c = s.connect()
        prepare(t, c, s.server)
        t("push", "--shards", 3, "list", address(s.server))
        for number in (3, 4):
            for nth in (1, 2, 3):
                with Meddler(s.server.port, b"KITH.UNLINK", lambda: DROP, nth) as meddler:
                    t.fails("push", "--replace", "--shards", number, "list", address(meddler), says=str(meddler.port))
                # Old and new shards, each of them whole: nothing is missing.
                equal(t("query", "-c", address(s.server), "list"), b"3000\n")
            check(len(lines_of(c)[1].split()) == 5, lines_of(c)[1])
            t("push", "--replace", "--shards", number, "more", address(s.server))
            equal((left(t), t("query", "-c", address(s.server), "more")), ([], b"5000\n"))
            equal(sum(name.startswith(b"k:{") and b"push" not in name for name in everything(c)), number)
            equal(len(lines_of(c)[1].split()), 2)
            t("push", "--replace", "--shards", 3, "list", address(s.server))
        for _ in range(15):
            with Meddler(s.server.port, b"KITH.UNLINK", lambda: DROP) as meddler:
                t.fails("push", "--replace", "--shards", 3, "list", address(meddler), says=str(meddler.port))
        t.fails("push", "--replace", "--shards", 3, "list", address(s.server), says="the last 15 pushes broke off")
        equal(t("query", "-c", address(s.server), "list"), b"3000\n")


# ---- permissions ----

@test
def the_documented_permissions_are_enough(s):
    section = (ROOT / "docs/redis.md").read_text().split("**Permissions.**")[1].split("**Recipes.**")[0]
    rows = {row: set(re.findall(r"\+[a-z.|]+", text))
            for row, text in re.findall(r"\| `(kith \w+)` \| (.*?) \|", section)}
    shards = section.split("With shards, ")[1].split("\n\n")[0]
    sharded = {name: set(re.findall(r"\+[a-z.|]+", words)) for words, name in
               re.findall(r"((?:`\+[^`]*`[^`]*?)+)for\s`(kith \w+)`", shards)}
    equal((sorted(rows), sorted(sharded)), (["kith pull", "kith push", "kith query"], ["kith push", "kith query"]))
    guarded = s.start()
    c = guarded.connect()
    pattern = ["~k", "~k:*"]
    for name in ("push", "query"):
        allowed = rows[f"kith {name}"] | sharded[f"kith {name}"]
        got = c("ACL", "SETUSER", name, "reset", "on", ">x", *pattern, "-@all", *sorted(allowed))
        check(not isinstance(got, Error), got)
    word = {"REDISCLI_AUTH": "x"}
    with Tool() as t:
        t.keys("list", 0, 3000)
        t("build", "-o", "f.kith", "list")
        to = address(guarded).replace("127", "push@127", 1)
        for push in (["f.kith"], ["--replace", "f.kith"], ["--replace", "--shards", 3, "list"],
                     ["--replace", "--shards", 3, "list"], ["--replace", "--shards", 2, "list"]):
            t("push", *push, to, environment=word)
            equal((t.err, t("query", "-c", to.replace("push@", "query@"), "list", environment=word)), ("", b"3000\n"))
        t("push", "--replace", "f.kith", to, environment=word)
        equal((t.err, c("KEYS", "*")), ("", [b"k"]))
    # KITH.UNLINK instead of UNLINK and DEL of anything would be a lie if the user could simply delete.
    check("+unlink" not in rows["kith push"] | sharded["kith push"])


if __name__ == "__main__":
    main()
