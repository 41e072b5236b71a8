"""Runs the jobs of a GitHub workflow and of a GitLab pipeline as these services do: every line of
the recipe by a real shell, with the variables that the service sets. Actions named by `uses:` are emulated by
copying; `apt-get` only checks that its arguments are packages."""
import itertools
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from . import comments, project

ROOT = Path(__file__).resolve().parent.parent.parent

APT_GET = """#!/usr/bin/env bash
[ "$1" = install ] || exit 0
for package; do
  case $package in
    install | -*) ;;
    *) apt-cache show "$package" >/dev/null || exit 100 ;;
  esac
done
"""

# A clone of the product gets what is built here, as a CI's cache would bring it.
POST_CHECKOUT = f"""#!/usr/bin/env bash
[ -e worker/wire.h ] || exit 0
cp {ROOT}/tools/merge-* {ROOT}/tools/nightly {ROOT}/tools/bench {ROOT}/tools/setup.sh tools/
ln -sfn {ROOT}/build build
"""


@dataclass
class Outcome:
    """A job's exit status is that of the first line that failed; `log` is what all printed."""
    status: int = 0
    log: str = ""
    folder: Path = None


@dataclass
class Machine:
    """What jobs share: a folder for their files, the caches and the artifacts of their service."""
    folder: Path
    numbers: itertools.count = field(default_factory=itertools.count)

    def __post_init__(self):
        for name in ("bin", "template/hooks", "caches", "artifacts"):
            (self.folder / name).mkdir(parents=True)
        for path, text in (("bin/apt-get", APT_GET), ("template/hooks/post-checkout", POST_CHECKOUT)):
            (self.folder / path).write_text(text)
            (self.folder / path).chmod(0o755)
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "instr_bench"
        self.environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "INSTR_BENCH_CACHE": os.environ.get("INSTR_BENCH_CACHE", str(cache)),
            "TORCH_DIR": os.environ.get("TORCH_DIR", "/usr"),
            "GIT_TEMPLATE_DIR": str(self.folder / "template"),
            "INSTR_BENCH_URL": str(ROOT),
            "INSTR_BENCH_REVISION": project.git(ROOT, "rev-parse", "HEAD"),
            "CI": "true",
        }

    def job_folder(self):
        return self.folder / f"job-{next(self.numbers)}"

    def shell(self, text, folder, environment):
        home = f"{folder}-home"  # a container has its own
        os.makedirs(home, exist_ok=True)
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
                              cwd=folder, env={**self.environment, "HOME": home, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True)
        return done.returncode, done.stdout

    def own(self, variables):
        """A job's variables, but with this machine's cache: what is compiled lasts."""
        return {**variables, "INSTR_BENCH_CACHE": self.environment["INSTR_BENCH_CACHE"]}

    def restore(self, key, path, prefix=None):
        """Of that key or, if there is none, the newest that begins so."""
        kept = self.folder / "caches" / key
        if not kept.exists() and prefix:
            begun = [one for one in kept.parent.iterdir() if one.name.startswith(prefix)]
            kept = max(begun, key=lambda one: one.stat().st_ctime_ns, default=kept)
        if not kept.exists():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(kept, path, symlinks=True, dirs_exist_ok=True)
        return kept.name == key

    def store(self, key, path, replace=False):
        kept = self.folder / "caches" / key
        if replace and path.exists():
            shutil.rmtree(kept, ignore_errors=True)
        if path.exists() and not kept.exists():
            shutil.copytree(path, kept, symlinks=True)


def both(jobs):
    """Runs functions, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda job: job(), jobs))


def upload(path, artifact):
    """A file or folder, if it is there; in the place of an older one."""
    if path.is_dir():
        shutil.copytree(path, artifact, symlinks=True, dirs_exist_ok=True)
    elif path.exists():
        artifact.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, artifact / path.name, follow_symlinks=False)


class GitHub:
    """One run of a workflow file for an event: the merge of a pull request, a merge queue's, a push
    to main, or its schedule."""

    def __init__(self, machine, project, recipe, api):
        self.machine, self.project, self.api = machine, project, api
        self.workflow = yaml.safe_load(recipe.read_text())

    def run(self, commit, event, base=""):
        """Outcomes by job, in the order of the file, each of all its matrix's jobs. `base`: of a merge
        queue."""
        on = self.workflow[True]  # YAML's `on`
        if event not in on:
            raise RuntimeError(f"nothing runs on {event}")
        is_pull = event == "pull_request"
        shared = {"github.event_name": event, "github.sha": commit, "github.repository": "team/project",
                  "github.event.merge_group.base_sha": base,
                  "github.run_id": str(next(self.machine.numbers)),
                  "github.event.pull_request.number": "7" if is_pull else "",
                  "github.event.pull_request.head.repo.full_name": "team/project" if is_pull else "",
                  "vars.INSTR_BENCH_URL": str(ROOT),
                  "vars.INSTR_BENCH_REVISION": self.machine.environment["INSTR_BENCH_REVISION"]}
        environment = self.texts(self.workflow.get("env", {}), shared)
        shared |= {f"env.{name}": value for name, value in environment.items()}
        self.text(self.workflow["concurrency"]["group"], shared)  # names what there is
        results = {}
        for name, job in self.workflow["jobs"].items():
            needs = job.get("needs", [])
            failed = any(one.status for need in ([needs] if isinstance(needs, str) else needs)
                         for one in results.get(need, [Outcome(1)]))
            if not self.is_selected(job.get("if", "success()"), failed, shared):
                continue
            matrix = job.get("strategy", {}).get("matrix", {"": [None]})
            (key, values), = matrix.items()
            jobs = [lambda value=value: self.job(job, environment, {
                **shared, f"matrix.{key}": value, "strategy.job-total": len(values)}) for value in values]
            results[name] = both(jobs)
        return results

    def job(self, job, environment, context):
        outcome = Outcome(folder=self.machine.job_folder())
        outcome.folder.mkdir()
        files = outcome.folder.parent / f"{outcome.folder.name}-files"
        files.mkdir()
        permissions = job.get("permissions", self.workflow["permissions"])
        may_comment = "write" in (permissions.get("pull-requests"), permissions.get("issues"))
        context = {**context, "github.token": comments.TOKEN if may_comment else "one that can read"}
        is_pull = context["github.event_name"] == "pull_request"
        variables = {
            "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(outcome.folder),
            "GITHUB_API_URL": self.api.url, "GITHUB_REPOSITORY": context["github.repository"],
            "GITHUB_SERVER_URL": "https://github.example", "GITHUB_RUN_ID": "99",
            "GITHUB_SHA": context["github.sha"], "GITHUB_BASE_REF": "main" if is_pull else "",
            "GITHUB_REF_NAME": "7/merge" if is_pull else "main",
            "GITHUB_OUTPUT": str(files / "output"), "GITHUB_STEP_SUMMARY": str(files / "summary"),
            **environment}
        saved = []
        for step in job["steps"]:
            if not self.is_selected(step.get("if", "success()"), outcome.status, context):
                continue
            if "uses" in step:
                saved += self.use(step, context, outcome) or []
            else:
                self.script(step, context, variables, outcome, files)
        for key, path in saved if not outcome.status else []:
            self.machine.store(key, path)
        return outcome

    def script(self, step, context, variables, outcome, files):
        Path(variables["GITHUB_OUTPUT"]).write_text("")
        variables = {**variables, **self.texts(step.get("env", {}), context)}
        variables = {name: self.inside(value, outcome) for name, value in variables.items()}
        status, log = self.machine.shell(self.inside(self.text(step["run"], context), outcome),
                                         outcome.folder, self.machine.own(variables))
        outcome.log += log
        outcome.status = outcome.status or status
        for line in (files / "output").read_text().splitlines():
            name, _, value = line.partition("=")
            context[f"steps.{step['id']}.outputs.{name}"] = value

    def use(self, step, context, outcome):
        given = self.texts(step.get("with", {}), context)
        action = step["uses"].partition("@")[0]
        artifacts = self.machine.folder / "artifacts"
        path = outcome.folder / self.inside(given.get("path", "."), outcome)
        if action == "actions/checkout":
            self.project.checkout(outcome.folder, context["github.sha"])
        elif action in ("actions/cache", "actions/cache/restore"):
            hit = self.machine.restore(given["key"], path, given.get("restore-keys"))
            context[f"steps.{step.get('id')}.outputs.cache-hit"] = str(hit).lower()
            return [(given["key"], path)] if action == "actions/cache" else []
        elif action == "actions/cache/save":
            self.machine.store(given["key"], path)
        elif action in ("actions/upload-artifact", "actions/upload-pages-artifact"):
            upload(path, artifacts / given.get("name", "github-pages"))
        elif action == "actions/deploy-pages":
            shutil.copytree(artifacts / "github-pages", self.machine.folder / "site", dirs_exist_ok=True)
        elif action == "actions/download-artifact":
            found = list(artifacts.glob(given.get("pattern", given.get("name"))))
            for one in found:
                shutil.copytree(one, path, symlinks=True, dirs_exist_ok=True)
            if not found and not step.get("continue-on-error"):
                outcome.status = 1
        else:
            raise RuntimeError(f"{step['uses']}: not known here")

    @staticmethod
    def inside(text, outcome):
        """The container's /root is this job's home."""
        return str(text).replace("/root/", f"{outcome.folder}-home/")

    @staticmethod
    def text(text, context):
        def value(found):
            return next((str(context[term]) for term in found[1].split(" || ") if context[term]), "")
        return re.sub(r"\$\{\{ (.*?) \}\}", value, str(text))

    def texts(self, table, context):
        return {name: self.text(value, context) for name, value in table.items()}

    @staticmethod
    def is_selected(condition, failed, context):
        terms = condition.split(" && ")
        if failed and "!cancelled()" not in terms:
            return False
        for term in terms:
            if compared := re.fullmatch(r"(\S+) (==|!=) (\S+)", term):
                right = compared[3].strip("'") if compared[3][0] == "'" else context[compared[3]]
                if (context[compared[1]] == right) != (compared[2] == "=="):
                    return False
            elif term not in ("!cancelled()", "success()"):
                raise RuntimeError(f"if: {term}: not known here")
        return True


class GitLab:
    """One pipeline of a .gitlab-ci.yml for a merge request or, without one, for main: for a push, or
    another `source`."""

    def __init__(self, machine, project, recipe, api):
        self.machine, self.project, self.api = machine, project, api
        self.jobs = yaml.safe_load(recipe.read_text())
        self.stages = self.jobs.pop("stages", ["test"])

    def run(self, commit, base, source="push"):
        """Outcomes by job. `base` is where the merge request's branch left main; None for main."""
        results = {}
        failed = False
        for stage in (*self.stages, ".post"):
            for name, job in self.jobs.items():
                job = {**self.jobs.get(job.get("extends"), {}), **job}
                if name.startswith(".") or job.get("stage", "test") != stage:
                    continue
                variables = self.variables(commit, base, source)
                rule = next((rule for rule in job["rules"] if self.holds(rule["if"], variables)), None)
                if rule is None or (failed and rule.get("when") != "always"):
                    continue
                count = job.get("parallel", 1)
                needed = [one for one in job.get("needs", results) if one in results]
                results[name] = both([lambda index=index: self.job(name, job, rule, needed, {
                    **variables, "CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(count)})
                    for index in range(1, count + 1)])
            failed = any(one.status for outcomes in results.values() for one in outcomes)
        return results

    def variables(self, commit, base, source):
        variables = {
            "GITLAB_CI": "true", "CI_API_V4_URL": self.api.url, "CI_PROJECT_ID": "42",
            "CI_COMMIT_SHA": commit, "CI_DEFAULT_BRANCH": "main",
            "CI_PIPELINE_URL": "https://gitlab.example/team/project/-/pipelines/99"}
        if not base:
            return variables | {"CI_PIPELINE_SOURCE": source, "CI_COMMIT_BRANCH": "main"}
        return variables | {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "7",
                            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
                            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}

    def job(self, name, job, rule, needed, variables):
        outcome = Outcome(folder=self.machine.job_folder())
        self.project.checkout(outcome.folder, variables["CI_COMMIT_SHA"])
        variables = {**self.machine.environment, **variables, "CI_PROJECT_DIR": str(outcome.folder)}
        if job.get("environment", {}).get("name") == "instr_bench-comment":
            variables["GITLAB_TOKEN"] = comments.TOKEN  # which is for that environment alone
        for one, value in (job.get("variables", {}) | rule.get("variables", {})).items():
            variables[one] = self.expanded(value, variables)
        caches = [(self.expanded(cache["key"], variables), outcome.folder / path,
                   cache.get("when", "on_success")) for cache in job["cache"] for path in cache["paths"]]
        for key, path, _ in caches:
            self.machine.restore(key, path)
        artifacts = self.machine.folder / "artifacts"
        for one in needed:
            if (artifacts / one).exists():
                shutil.copytree(artifacts / one, outcome.folder, symlinks=True, dirs_exist_ok=True)
        outcome.status, outcome.log = self.machine.shell(
            "\n".join(job.get("before_script", []) + job["script"]), outcome.folder,
            self.machine.own(variables))
        for key, path, when in caches:
            if when == "always" or not outcome.status:
                self.machine.store(key, path, replace=True)
        kept = job.get("artifacts", {})
        for path in kept.get("paths", []) if not outcome.status or kept.get("when") == "always" else []:
            upload(outcome.folder / path, artifacts / name / (path if path != "report.md" else ""))
        return outcome

    @staticmethod
    def expanded(text, variables):
        return re.sub(r"\$(\w+)", lambda found: variables.get(found[1], ""), str(text))

    @staticmethod
    def holds(condition, variables):
        left, _, right = condition.partition(" == ")
        value = variables.get(left[1:], "")
        if not right:
            return bool(value)
        return value == (variables.get(right[1:], "") if right.startswith("$") else right.strip('"'))
