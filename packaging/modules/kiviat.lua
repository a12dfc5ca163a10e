-- Lmod module of an installation in `root`, made by: python3 -m venv ROOT && ROOT/bin/pip install /path/to/clone
-- Copy it to MODULEPATH/kiviat/0.1.0.lua and set root. Load the site's compiler and MPI first: Kiviat builds its
-- benchmarks at the first run for the mpicxx on PATH.
help([[Measures the MPI performance of this machine and reports how well it is balanced. `kiviat run` begins.]])
whatis("Name: kiviat")
whatis("Version: 0.1.0")
whatis("Description: MPI benchmarks, models and reports for parallel computers")

local root = "/opt/kiviat"
local site = pathJoin(root, "site")

prepend_path("PATH", pathJoin(root, "bin"))
-- Benchmarks, plans and machines of the site: docs/howto/extend.md
if isDir(site) then
  prepend_path("KIVIAT_SITE", site)
end
