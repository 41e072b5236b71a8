"""Runs the jobs of a GitHub workflow and of a GitLab pipeline as these services do: every line of
the recipe by a real shell, with the variables that the service sets. What a `uses:` names is done by
copying; `apt-get` only checks that what it should install is a package."""
import itertools
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import yaml

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
cp {ROOT}/tools/merge-* {ROOT}/tools/bench {ROOT}/tools/setup.sh tools/
ln -sfn {ROOT}/build build
"""


@dataclass
class Outcome:
    """A job's exit status is that of the first line that failed; `log` is what all printed."""
    status: int = 0
    log: str = ""
    comment_status: int = 0
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

    def restore(self, key, path):
        kept = self.folder / "caches" / key
        if not kept.exists():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(kept, path, symlinks=True, dirs_exist_ok=True)
        return True

    def store(self, key, path):
        kept = self.folder / "caches" / key
        if path.exists() and not kept.exists():
            shutil.copytree(path, kept, symlinks=True)


def both(jobs):
    """Runs functions, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda job: job(), jobs))


class GitHub:
    """One run of a workflow file for the merge of a pull request or, without one, for main."""

    def __init__(self, machine, project, recipe, api):
        self.machine, self.project, self.api = machine, project, api
        self.workflow = yaml.safe_load(recipe.read_text())

    def run(self, commit, pull_request):
        """Outcomes by job, in the order of the file, each of all its matrix's jobs."""
        results = {}
        for name, job in self.workflow["jobs"].items():
            if any(one.status for one in results.get(job.get("needs"), [])):
                continue
            matrix = job.get("strategy", {}).get("matrix", {"": [None]})
            (key, values), = matrix.items()
            jobs = [lambda value=value: self.job(job, commit, pull_request, {
                f"matrix.{key}": value, "strategy.job-total": len(values)}) for value in values]
            results[name] = both(jobs)
        return results

    def job(self, job, commit, pull_request, context):
        outcome = Outcome(folder=self.machine.job_folder())
        outcome.folder.mkdir()
        context = {**context, "github.event_name": "pull_request" if pull_request else "push",
                   "github.token": "a-token", "vars.INSTR_BENCH_URL": str(ROOT)}
        files = outcome.folder.parent / f"{outcome.folder.name}-files"
        files.mkdir()
        variables = {
            "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(outcome.folder),
            "GITHUB_API_URL": self.api.url, "GITHUB_REPOSITORY": "team/project",
            "GITHUB_SHA": commit, "GITHUB_BASE_REF": "main" if pull_request else "",
            "GITHUB_REF_NAME": "7/merge" if pull_request else "main",
            "GITHUB_OUTPUT": str(files / "output"), "GITHUB_STEP_SUMMARY": str(files / "summary"),
            **self.texts(self.workflow.get("env", {}), context)}
        saved = []
        for step in job["steps"]:
            if not self.wanted(step.get("if", "success()"), outcome.status, context):
                continue
            if "uses" in step:
                saved += self.use(step, context, outcome, commit) or []
            else:
                self.script(step, context, variables, outcome, files)
        for key, path in saved if not outcome.status else []:
            self.machine.store(key, path)
        return outcome

    def script(self, step, context, variables, outcome, files):
        Path(variables["GITHUB_OUTPUT"]).write_text("")
        status, log = self.machine.shell(self.text(step["run"], context), outcome.folder,
                                         {**variables, **self.texts(step.get("env", {}), context)})
        outcome.log += log
        if step.get("continue-on-error"):
            outcome.comment_status = status
        else:
            outcome.status = outcome.status or status
        for line in (files / "output").read_text().splitlines():
            name, _, value = line.partition("=")
            context[f"steps.{step['id']}.outputs.{name}"] = value

    def use(self, step, context, outcome, commit):
        given = self.texts(step.get("with", {}), context)
        action = step["uses"].partition("@")[0]
        artifacts = self.machine.folder / "artifacts"
        path = outcome.folder / given.get("path", ".")
        if action == "actions/checkout":
            self.project.checkout(outcome.folder, commit)
        elif action in ("actions/cache", "actions/cache/restore"):
            hit = self.machine.restore(given["key"], path)
            context[f"steps.{step.get('id')}.outputs.cache-hit"] = str(hit).lower()
            return [(given["key"], path)] if action == "actions/cache" else []
        elif action == "actions/cache/save":
            self.machine.store(given["key"], path)
        elif action == "actions/upload-artifact":
            shutil.copytree(path, artifacts / given["name"])
        elif action == "actions/download-artifact":
            for one in artifacts.glob(given["pattern"]):
                shutil.copytree(one, path, dirs_exist_ok=True)
        else:
            raise RuntimeError(f"{step['uses']}: not known here")

    @staticmethod
    def text(text, context):
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: str(context[found[1]]), str(text))

    def texts(self, table, context):
        return {name: self.text(value, context) for name, value in table.items()}

    @staticmethod
    def wanted(condition, status, context):
        terms = condition.split(" && ")
        if status and "!cancelled()" not in terms:
            return False
        for term in terms:
            if compared := re.fullmatch(r"(\S+) (==|!=) '(.*)'", term):
                if (context[compared[1]] == compared[3]) != (compared[2] == "=="):
                    return False
            elif term not in ("!cancelled()", "success()"):
                raise RuntimeError(f"if: {term}: not known here")
        return True


class GitLab:
    """One pipeline of a .gitlab-ci.yml for a merge request or, without one, for main."""

    def __init__(self, machine, project, recipe, api):
        self.machine, self.project, self.api = machine, project, api
        self.jobs = yaml.safe_load(recipe.read_text())
        self.stages = self.jobs.pop("stages", ["test"])

    def run(self, commit, base):
        """Outcomes by job. `base` is where the merge request's branch left main; None for main."""
        results = {}
        for stage in self.stages:
            for name, job in self.jobs.items():
                job = {**self.jobs.get(job.get("extends"), {}), **job}
                if name.startswith(".") or job.get("stage", "test") != stage:
                    continue
                count = job.get("parallel", 1)
                results[name] = both([lambda index=index: self.job(job, commit, base, index, count)
                                      for index in range(1, count + 1)])
            if any(one.status for outcomes in results.values() for one in outcomes):
                break
        return results

    def job(self, job, commit, base, index, count):
        outcome = Outcome(folder=self.machine.job_folder())
        self.project.checkout(outcome.folder, commit)
        variables = {
            "GITLAB_CI": "true", "CI_API_V4_URL": self.api.url, "CI_PROJECT_ID": "42",
            "CI_COMMIT_SHA": commit, "CI_DEFAULT_BRANCH": "main", "GITLAB_TOKEN": "a-token",
            "CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(count)}
        if base:
            variables |= {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "7",
                          "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
                          "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
        else:
            variables |= {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"}
        rule = next(rule for rule in job["rules"] if self.holds(rule["if"], variables))
        for name, value in (job.get("variables", {}) | rule.get("variables", {})).items():
            variables[name] = self.expanded(value, variables)
        caches = [(self.expanded(cache["key"], variables), outcome.folder / path,
                   cache.get("when", "on_success")) for cache in job["cache"] for path in cache["paths"]]
        for key, path, _ in caches:
            self.machine.restore(key, path)
        artifacts = self.machine.folder / "artifacts"
        shutil.copytree(artifacts, outcome.folder, dirs_exist_ok=True)
        outcome.status, outcome.log = self.machine.shell(
            "\n".join(job["before_script"] + job["script"]), outcome.folder, variables)
        outcome.comment_status, log = self.machine.shell(
            "\n".join(job.get("after_script", [])), outcome.folder, variables)
        outcome.log += log
        for key, path, when in caches:
            if when == "always" or not outcome.status:
                self.machine.store(key, path)
        for path in job.get("artifacts", {}).get("paths", []):
            if (outcome.folder / path).is_dir():
                shutil.copytree(outcome.folder / path, artifacts / path, dirs_exist_ok=True)
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
