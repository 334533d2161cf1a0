#!/usr/bin/env python3
"""Power cuts on a real file system: blocklog.py GUEST FOLDER [OPTION…] ext4|xfs

GUEST is the program blocklog_guest, FOLDER has a kernel for virtual machines (setup.sh).

A virtual machine writes stores and files to a disk, and QEMU's driver blklogwrites logs every write and flush of that
disk. A second machine restores the states that a power cut could have left: the disk at each flush, and with random
subsets of the writes between two flushes. It mounts each of them and checks that nothing that was acknowledged is
missing and that nothing is there in part (judge.c). File systems are mounted only inside the machines, so nothing needs
root.

QEMU translates the instructions of the guest (TCG) and does not use KVM, which is not available everywhere.

Exit status: 0 success, 1 something was found or could not be run, 77 QEMU or the kernel is missing.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

MIB = 1 << 20
SECTOR = 512
PART_AT = MIB  # where the partition of the file system begins
MIN_STATES = 1000
# What each planted fault of faults.c must be found as.
FAULTS = {
    "nothing_is_synced": "lost",
    "journals_are_not_synced": "lost",
    "folders_are_not_synced": "lost",
    "batches_are_not_held_back": "half",
    "files_are_written_in_place": "half",
}
# XFS needs 300 MB, unless it is told that this is only a test.
FILE_SYSTEMS = {
    "ext4": (16 * MIB, ["mkfs.ext4", "-q", "-F", "-b", "4096", "-J", "size=4", "-E",
                        "lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"]),
    "xfs": (32 * MIB, ["mkfs.xfs", "-q", "-f", "--unsupported"]),
}
MODULES = ["virtio_pci", "virtio_blk", "brd", "xfs"]


class Failure(Exception):
    pass


def skip(reason):
    print(f"shows: power cuts with a block log: NOT RUN: {reason}")
    sys.exit(77)


def find_tool(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


# ---- the guest's files ----


def cpio(files):
    """An archive in the format that the kernel unpacks, of (name, mode, bytes)."""
    archive = bytearray()

    def pad():
        archive.extend(bytes(-len(archive) % 4))

    for number, (name, mode, data) in enumerate(files + [("TRAILER!!!", 0, b"")]):
        encoded = name.encode() + b"\0"
        fields = [number + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
        archive.extend(b"070701" + b"".join(b"%08x" % field for field in fields))
        archive.extend(encoded)
        pad()
        archive.extend(data)
        pad()
    return bytes(archive)


def module_files(folder, parameters):
    """The modules of MODULES and those that they need, in the order in which they can be loaded."""
    paths = {path.name.split(".")[0].replace("-", "_"): path for path in folder.glob("**/*.ko*")}
    loaded = {}

    def load(name):
        path = paths.get(name)
        if name in loaded or path is None:  # not there: part of the kernel
            return
        data = path.read_bytes()
        if path.suffix == ".xz":
            import lzma
            data = lzma.decompress(data)
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in needs.group(1).decode().split(",") if needs else []:
            load(other.replace("-", "_"))
        loaded[name] = data

    for name in MODULES:
        load(name)
    files = []
    for number, (name, data) in enumerate(loaded.items()):
        files.append((f"modules/{number:02}.ko", 0o100644, data))
        files.append((f"modules/{number:02}.parameters", 0o100644, parameters.get(name, "").encode()))
    return files


def write_initramfs(path, guest, modules, part_bytes):
    parameters = {"brd": f"rd_nr=1 rd_size={part_bytes // 1024}"}
    folders = [(name, 0o040755, b"") for name in ("dev", "proc", "disk", "modules")]
    files = folders + module_files(modules, parameters) + [("init", 0o100755, guest.read_bytes())]
    path.write_bytes(cpio(files))


def make_file_system(path, name):
    part_bytes, command = FILE_SYSTEMS[name]
    with open(path, "wb") as file:
        file.truncate(part_bytes)
    tool = find_tool(command[0])
    if tool is None:
        skip(f"{command[0]} is missing")
    done = subprocess.run([tool, *command[1:], str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{command[0]}: {done.stderr.strip()}")
    return part_bytes


def make_disk(path, part, part_bytes):
    """A disk with two partitions: the file system, and the marks."""
    marks_at = PART_AT + part_bytes
    with open(path, "wb") as disk:
        entries = b""
        for begin, size in ((PART_AT, part_bytes), (marks_at, MIB)):
            sectors = (begin // SECTOR, size // SECTOR)
            entries += struct.pack("<B3sB3sII", 0, b"\xfe\xff\xff", 0x83, b"\xfe\xff\xff", *sectors)
        disk.write(bytes(446) + entries + bytes(32) + b"\x55\xaa")
        disk.seek(PART_AT)
        disk.write(part.read_bytes())
        disk.truncate(marks_at + MIB)


# ---- virtual machines ----


def run_machine(folder, name, kernel, drives, options, timeout):
    """Runs a machine until it turns itself off, and returns the lines that the guest has printed."""
    said, console = folder / f"{name}.said", folder / f"{name}.console"
    # On a busy machine, the kernel's check of its timer fails.
    words = ["console=ttyS0", "quiet", "panic=-1", "random.trust_cpu=on", "no_timer_check"]
    words += [f"kith.{key}={value}" for key, value in options.items()]
    command = [
        find_tool("qemu-system-x86_64"), "-machine", "pc", "-accel", "tcg", "-m", "384",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-serial", f"file:{console}", "-serial", f"file:{said}",
        "-kernel", str(kernel), "-initrd", str(folder / "initramfs"), "-append", " ".join(words), *drives,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failure(f"{name}: the machine did not end in {timeout} s\n{tail(said)}\n{tail(console)}") from None
    lines = [line.strip() for line in said.read_text(errors="replace").splitlines()] if said.exists() else []
    if done.returncode != 0 or not lines or lines[-1] != "guest: end":
        raise Failure(f"{name}: the machine failed\n{done.stderr}{tail(said)}\n{tail(console)}")
    return [line.removeprefix("guest: ") for line in lines[:-1]]


def tail(path):
    return "\n".join(path.read_text(errors="replace").splitlines()[-20:]) if path.exists() else ""


def write_log(folder, kernel, options):
    """Runs the writer. The log of its disk is in FOLDER/log."""
    (folder / "log").write_bytes(b"")
    # Only the guest's flushes count; the files of this machine need none.
    drives = []
    for node, file in (("disk", "disk"), ("log", "log")):
        drives += ["-blockdev", f"driver=file,node-name={node},filename={folder / file},cache.no-flush=on"]
    drives += ["-blockdev", f"driver=blklogwrites,node-name=logged,file=disk,log=log,log-sector-size={SECTOR}",
               "-device", "virtio-blk-pci,drive=logged"]
    lines = run_machine(folder, "write", kernel, drives, options | {"role": "write"}, 7200)
    return next(line for line in lines if line.startswith("acknowledged"))


def judge_log(folder, kernel, options, jobs):
    """Judges all states of the log on several machines. Returns what they have counted, and their findings."""
    drives = []
    for file in ("part", "log"):
        drives += ["-drive", f"if=virtio,format=raw,readonly=on,file={folder / file}"]

    def judge(job):
        return run_machine(folder, f"judge{job}", kernel, drives,
                           options | {"role": "judge", "job": job, "jobs": jobs}, 43200)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outputs = list(pool.map(judge, range(jobs)))
    counts, findings = {}, []
    for number, lines in enumerate(outputs):
        for line in lines:
            words = line.split()
            if words[0] == "judged" or (words[0] == "log" and number == 0):
                for word in words[1:]:
                    key, value = word.split("=")
                    counts[key] = counts.get(key, 0) + int(value)
            elif words[0] == "finding":
                findings.append(line)
    return counts, findings


class Bench:
    """A folder with everything that the machines of one file system need."""

    def __init__(self, arguments, folder):
        self.folder, self.kernel, self.jobs = folder, arguments.kernel / "vmlinuz", arguments.jobs
        self.file_system, self.seed = arguments.file_system, arguments.seed
        self.is_written = arguments.again is not None
        if self.is_written:
            self.part_bytes = (folder / "part").stat().st_size
        else:
            self.part_bytes = make_file_system(folder / "part", arguments.file_system)
        write_initramfs(folder / "initramfs", arguments.guest, arguments.kernel / "modules", self.part_bytes)

    def run(self, rounds, subsets, fault="none", findings=10**9):
        marks_at = PART_AT + self.part_bytes
        options = {"file_system": self.file_system, "fault": fault, "rounds": rounds, "part_at": PART_AT,
                   "part_bytes": self.part_bytes, "marks_at": marks_at, "job": 0, "jobs": 1, "subsets": subsets,
                   "seed": self.seed, "findings": findings}
        if self.is_written:
            acknowledged = "a log that was there"
        else:
            make_disk(self.folder / "disk", self.folder / "part", self.part_bytes)
            acknowledged = write_log(self.folder, self.kernel, options)
        counts, found = judge_log(self.folder, self.kernel, options, self.jobs)
        return acknowledged, counts, found


def run_sound(bench, arguments):
    acknowledged, counts, findings = bench.run(arguments.rounds, arguments.subsets)
    print(f"shows: block log, {arguments.file_system}: {acknowledged}; {counts['entries']} log entries, "
          f"{counts['writes']} writes, {counts['flushes']} flushes")
    print(f"shows: block log, {arguments.file_system}: {counts['states']} crash states "
          f"({counts['at_flush']} at a flush, {counts['subsets']} with some of the writes after one): "
          f"{counts['lost']} lost, {counts['half']} half, {counts['refused']} refused, "
          f"{counts['unmountable']} not mountable")
    for line in findings:
        print(line)
    if findings:
        raise Failure("a power cut can lose what was acknowledged, or leave it in part")
    if counts["states"] < arguments.min_states:
        raise Failure(f"only {counts['states']} crash states, fewer than {arguments.min_states}")


def run_faults(bench, arguments):
    for fault, result in FAULTS.items():
        _, counts, findings = bench.run(min(arguments.rounds, 2), 0, fault, findings=20)
        print(f"shows: block log, {arguments.file_system}: planted fault {fault}: {counts['states']} crash states, "
              f"{counts['lost']} lost, {counts['half']} half, {counts['refused']} refused")
        print("\n".join(findings[:3]))
        if counts[result] == 0:
            raise Failure(f"the planted fault {fault} was not found as {result}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guest", type=pathlib.Path)
    parser.add_argument("kernel", type=pathlib.Path, metavar="folder")
    parser.add_argument("file_system", choices=FILE_SYSTEMS)
    parser.add_argument("--faults", action="store_true", help="plant faults, which must be found")
    parser.add_argument("--rounds", type=int, default=12, help="stores that the guest writes (default: %(default)s)")
    parser.add_argument("--subsets", type=int, default=2, help="subsets per flush (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="for the subsets (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="machines that judge (default: %(default)s)")
    parser.add_argument("--min-states", type=int, default=MIN_STATES, help="fewer states fail (default: %(default)s)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep all files in this folder")
    parser.add_argument("--again", type=pathlib.Path, metavar="DIR", help="judge the log in this folder once more")
    return parser.parse_args()


def main():
    arguments = parse()
    if find_tool("qemu-system-x86_64") is None:
        skip("qemu-system-x86_64 is missing (Debian: qemu-system-x86)")
    if not (arguments.kernel / "vmlinuz").exists():
        skip(f"{arguments.kernel} has no kernel for the guest: run tests/blocklog/setup.sh {arguments.kernel}")
    folder = arguments.again or arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="kith-blocklog-"))
    folder.mkdir(exist_ok=True)
    is_kept = arguments.again or arguments.keep
    try:
        bench = Bench(arguments, folder)
        (run_faults if arguments.faults else run_sound)(bench, arguments)
    except Failure as failure:
        # The next run would have another log: the times of the guest's writes differ.
        is_kept = True
        print(f"FAILED: {failure}\nThe disk and its log are in {folder}")
        return 1
    finally:
        if not is_kept:
            shutil.rmtree(folder)
    return 0


sys.exit(main())
