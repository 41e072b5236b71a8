"""A Slurm cluster of one node, this machine, with its own munge: from Debian's packages slurmctld,
slurmd, slurm-client and munge. It needs root, as its daemons do, and ends with its `with` block or,
whatever happens, with the process that started it."""
import ctypes
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def children():
    """Process numbers of all below this one."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # gone meanwhile
        if fields[0] != "Z":
            parents[int(stat.parent.name)] = int(fields[1])
    found = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


class Slurm:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.daemons = []
        self.others = children()
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        # What a daemon leaves behind becomes a child of this process and is found again.
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.folder.mkdir(mode=0o755)
        name = socket.gethostname().partition(".")[0]
        key, munge = self.folder / "munge.key", self.folder / "munge"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        (self.folder / "slurm.conf").write_text(f"""ClusterName=recipes
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={munge}
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
MailProg=/bin/true
SchedulerParameters=batch_sched_delay=0,sched_interval=1
NodeName={name} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        try:
            self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}",
                       *(f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("pid", "seed", "log")))
            self.until("munge's socket", munge.exists)
            self.start("slurmctld", "-D")
            self.start("slurmd", "-D")
            self.until("an idle node", lambda: "idle" in self.run("sinfo", "--noheader", check=False))
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self, name, *arguments):
        with open(self.folder / f"{name}.out", "w") as log:
            self.daemons.append(subprocess.Popen(
                [name, *arguments], env=self.environment, stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGTERM)))

    def until(self, what, true, seconds=300):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end or any(one.poll() is not None for one in self.daemons):
                logs = "".join(f"{log.name}:\n{log.read_text()}" for log in self.folder.glob("*.out"))
                raise RuntimeError(f"Slurm: no {what}\n{logs}")
            time.sleep(0.1)

    def run(self, *command, check=True, cwd=None, env=None):
        done = subprocess.run(command, env={**self.environment, **(env or {})}, cwd=cwd, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
        return done.stdout.strip()

    def __exit__(self, *_):
        if len(self.daemons) == 3:
            self.run("scancel", "--user=root", check=False)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(120)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for process in children() - self.others:
            os.kill(process, signal.SIGKILL)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if not os.waitpid(-1, os.WNOHANG)[0]:
                    time.sleep(0.1)
            except ChildProcessError:
                break  # none is left
