#!/usr/bin/python3
"""The module as `cmake --install` puts it into a folder. KITH_CMAKE and KITH_BUILD say what to install."""
import os
import pathlib
import subprocess
import tempfile

from server import check, expect, main, test


@test
def the_installed_module_loads(s):
    with tempfile.TemporaryDirectory(prefix="kith-installed-") as prefix:
        os.chmod(prefix, 0o755)
        subprocess.run([os.environ["KITH_CMAKE"], "--install", os.environ["KITH_BUILD"], "--prefix", prefix],
                       check=True, stdout=subprocess.DEVNULL)
        modules = list(pathlib.Path(prefix).glob("lib*/**/kith/kith.so"))
        check(len(modules) == 1, f"installed modules: {modules}")
        c = s.start(module=modules[0]).connect()
        expect(c, "BF.ADD b x", 1)
        expect(c, "BF.EXISTS b x", 1)


if __name__ == "__main__":
    main()
