"""Spack package of the checkout that it stands in (docs/howto/install.md)."""

from pathlib import Path

from spack.package import depends_on, license, variant, version  # noqa: A004 (Spack's own name)
from spack_repo.builtin.build_systems.python import PythonPackage

_CHECKOUT = Path(__file__).resolve().parents[4]


class Kiviat(PythonPackage):
    """Measures the MPI performance of a parallel computer, and reports how well it is balanced."""

    homepage = f"file://{_CHECKOUT}/README.md"
    git = f"file://{_CHECKOUT}"

    license("Apache-2.0")

    version("main", branch="main")

    variant("simulation", default=False, description="Simulated machines, by SimGrid")

    # Kiviat compiles its benchmarks at the first run, for the MPI that it finds then.
    depends_on("c", type=("build", "run"))
    depends_on("cxx", type=("build", "run"))
    depends_on("cmake@3.21:", type=("build", "run"))
    depends_on("ninja", type=("build", "run"))
    depends_on("mpi", type="run")
    depends_on("blas", type="run")
    depends_on("fftw@3", type="run")
    depends_on("simgrid+smpi", type="run", when="+simulation")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-numpy@1.26:", type="run")
    depends_on("py-duckdb@1:", type="run")
    depends_on("py-jinja2@3.1:", type="run")
    depends_on("py-argcomplete@3.1:", type="run")
