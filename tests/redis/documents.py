#!/usr/bin/python3
"""The documentation: the lines in the README work, and docs/redis.md has every command and every setting."""
import re
import subprocess

from server import ROOT, check, equal, find_program, main, test


def text_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


@test
def the_lines_in_the_readme_work(s):
    section = (ROOT / "README.md").read_text().split("\n## Redis and Valkey\n")[1].split("\n## ")[0]
    lines = re.search(r"```sh\n(.*?)```", section, re.S).group(1).splitlines()
    equal(len(lines), 3)
    check(re.fullmatch(r"redis-server --loadmodule \S+/kith\.so", lines[0]), lines[0])
    port, cli = str(s.server.port), find_program(s.kind, "cli")
    check(lines[1].startswith("redis-cli ") and "redis.Redis()" in lines[2] and lines[2].startswith("python3 "))
    added = lines[1].replace("redis-cli", f"{cli} -p {port}", 1)
    there = f'redis.Redis("127.0.0.1", port={port})'  # a bare system does not know "localhost"
    found = lines[2].replace("redis.Redis()", there).replace("python3", "/usr/bin/python3", 1)
    for line in (added, found):
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
        equal([done.returncode, done.stdout.strip()], [0, "1"], f"{line}: {done.stderr}")


@test
def every_command_is_described(s):
    c = s.connect()
    document = (ROOT / "docs" / "redis.md").read_text()
    commands = [text_of(name).upper() for name in c("COMMAND LIST FILTERBY MODULE kith")]
    check(len(commands) > 30, f"{commands}")
    for command in commands:
        check(f"`{command}" in document, f"docs/redis.md does not describe {command}")
    described = set(re.findall(r"`((?:BF|CF|KITH)\.[A-Z_]+)", document)) - {"BF.DEBUG", "CF.DEBUG"}
    equal(sorted(described - set(commands)), [], "commands that docs/redis.md describes and the module lacks")


@test
def every_setting_is_described_with_its_default(s):
    c = s.connect()
    document = (ROOT / "docs" / "redis.md").read_text()
    settings = c("CONFIG GET kith.*")
    settings = {text_of(name): text_of(value) for name, value in zip(settings[0::2], settings[1::2])}
    rows = dict(re.findall(r"^\| `(kith\.[a-z-]+)` \| ([^|]+?) \|", document, re.M))
    equal(sorted(rows), sorted(settings))
    for name, value in settings.items():
        default = rows[name].split(";")[0].strip("`")
        default = str(int(default[:-2]) << 20) if default.endswith("mb") else default
        same = float(default) == float(value) if re.fullmatch(r"[\d.]+", value) else default == value
        check(same, f"the default of {name} is {value}; docs/redis.md says {rows[name]}")


if __name__ == "__main__":
    main()
