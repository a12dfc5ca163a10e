"""ReFrame tests whose references are Kiviat's verdicts instead of numbers that somebody typed.

    reframe -C SITE.py -c packaging/reframe/kiviat_check.py -r -S baseline=/path/to/a/run

The test runs a plan and compares the run with a baseline, a run of the same plan, case by case. It fails if
something is worse (the chance of any false alarm in the comparison is below 5 %) and is skipped if the
comparison has no verdict or is incomplete. Without a baseline it checks that every case ran and that its
payload was right before and after the timed part. ReFrame's own reports have the value of each case as a
performance variable.
"""

import json
import shlex
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable


class KiviatBase(rfm.RunOnlyRegressionTest):
    """A plan, or benchmarks, on `ranks` ranks; sites derive their tests from it.

    `kiviat` is the command, `baseline` a run to compare with, `options` are further words of `kiviat run`;
    changes up to `threshold_percent` do not matter.
    """

    kiviat = variable(str, value="kiviat")
    plan = variable(str, value="quick")
    ranks = variable(str, value="2")
    options = variable(str, value="")
    baseline = variable(str, value="")
    threshold_percent = variable(float, value=2.0)

    valid_systems = ["*"]  # noqa: RUF012 (ReFrame declares so)
    valid_prog_environs = ["*"]  # noqa: RUF012
    local = True  # Kiviat starts its ranks itself, or submits a job with options such as "--on slurm"

    @run_before("run")
    def measure(self):
        """Run the plan, export its results, and compare them with the baseline."""
        self.executable = self.kiviat
        self.executable_opts = [
            *("run", self.plan, "-n", self.ranks, self.options, "-o", "runs", "--quiet"),
            *(">run.txt", "2>errors.txt"),
        ]
        run = '"$(tail -n 1 run.txt)"'
        self.postrun_cmds = [f"{self.kiviat} export {run} -o results.json 2>>errors.txt"]
        if self.baseline:
            compare = f"{self.kiviat} compare {shlex.quote(self.baseline)} {run} --format json"
            threshold = f"--threshold {self.threshold_percent:g}"
            self.postrun_cmds.append(f"{compare} {threshold} >verdict.json 2>>errors.txt")
        self.keep_files = ["*.txt", "*.json"]

    @sanity_function
    def judged(self):
        """Fail if a case failed or something is worse than in the baseline; skip without a verdict."""
        errors = (Path(self.stagedir) / "errors.txt").read_text()
        if not self._read("results.json"):
            return sn.assert_true(False, f"no results: {errors.strip() or 'errors.txt is empty'}")
        failed = sn.extractall(r"^(?:failed|crashed|timeout): .*", "errors.txt")
        every_case_ran = sn.assert_eq(sn.count(failed), 0, f"a case failed: {errors.strip()}")
        return sn.all([every_case_ran, self._is_not_worse()]) if self.baseline else every_case_ran

    def _is_not_worse(self):
        found = self._read("verdict.json")
        if not found:
            return sn.assert_true(False, f"{self.baseline} cannot be compared with; errors.txt says why")
        notes = sorted({case["note"] for case in found["cases"] if case["note"]})
        no_answer = found["verdict"] in ("no verdict", "incomplete")
        self.skip_if(no_answer, f"{found['verdict']}: {'; '.join(notes)}")
        worse = [
            f"{case['case']} has {case['ratio']:.3f} times the baseline's {case['metric']}"
            for case in found["cases"]
            if case["survives"] and case["verdict"] == "worse"
        ]
        said = "; ".join(worse[:3]) or "several cases together, none by itself"
        return sn.assert_ne(found["verdict"], "worse", f"worse than {self.baseline}: {said}")

    @run_before("performance")
    def values(self):
        """Make a performance variable of each case's time, or of its first metric."""
        rows = {}
        for row in self._read("results.json"):
            if row["case"] not in rows or row["metric"] == "time":
                rows[row["case"]] = row
        self.perf_variables = {
            f"{case} {row['metric']}": sn.make_performance_function(sn.defer(row["median"]), row["unit"])
            for case, row in rows.items()
        }

    def _read(self, name):
        """Return the contents of a JSON file of the run; an empty list if the command before it failed."""
        path = Path(self.stagedir) / name
        return json.loads(path.read_text()) if path.exists() and path.stat().st_size else []


@rfm.simple_test
class KiviatCheck(KiviatBase):
    """Run the quick plan; `-S baseline=RUN` compares, `-S plan=NAME` and `-S ranks=N` change it."""
