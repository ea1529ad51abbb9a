# lit tests: command lines with the output they must give: the tool (test/tool), the kernel IR and its passes (test/Dialect,
# test/Transforms, test/CodeGen), the graph IR (test/Graph). Run: make test, or
#   lit -v test                 (after `make build`; GLIA_BUILD=build-asan picks another build folder)
import os
import shutil

import lit.formats

config.name = "glia"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".test", ".gasm", ".nisa", ".mlir"]
config.excludes = ["Inputs", "corpus", "litmus", "mutants"]  # programs and graphs that other tests read

source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(source, os.environ.get("GLIA_BUILD", "build"))
config.test_source_root = os.path.join(source, "test")
config.test_exec_root = os.path.join(build, "lit")

config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), "/usr/lib/llvm-22/bin", os.environ["PATH"]])
config.environment["GLIA_CACHE"] = "off"  # kernels that earlier runs kept are not what is tested
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%examples", os.path.join(source, "examples")))
config.substitutions.append(("%targets", os.path.join(source, "targets")))
if os.path.exists(os.path.join(build, "bin", "glia-opt")):
    config.available_features.add("compiler")
else:
    config.excludes += ["Dialect", "Transforms", "CodeGen", "Graph"]
config.substitutions.append(("%python", os.path.join(source, ".venv", "bin", "python")))
config.available_features.add("python" if shutil.which(os.path.join(source, ".venv/bin/python")) else "no-python")
