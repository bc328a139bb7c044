# SPDX-License-Identifier: Apache-2.0
# Folders that repo2docker reads, from `init --from` to the output of a job: a package of R with its program, a Pipfile with its lock, and
# a setup.py. The packages of R in our table are those of the mirror's index. Six minutes, most of it the packages of R.
load ../parts/suite.bash

setup() { work_place; }
teardown() {
    [[ -z ${server:-} ]] || end_process "$server"
    leave_place
}

# ran FOLDER: builds it, runs its Job, and leaves what the program printed in `output`.
ran() {
    "$CYBELECTL" build "$1" "${@:2}" >&2
    "$CYBELECTL" submit "$1" --scheduler local --wait >&2
    output=$(cat "$1"/*.out)
}

@test "a package of R with its program runs, whatever the user's own library and .Rprofile hold" {
    mkdir -p heat/R
    printf 'Package: heatr\nVersion: 0.1\nTitle: Heat\nDescription: Heat.\nLicense: MIT\nDepends: R (>= 3.5)\nImports:\n    jsonlite (>= 1.7),\n    stats\n' >heat/DESCRIPTION
    echo 'export(twice)' >heat/NAMESPACE
    echo 'twice <- function(x) jsonlite::unbox(2 * x)' >heat/R/twice.R
    cat >heat/main.R <<'R'
library(heatr)
suppressPackageStartupMessages(require("Matrix"))
cat(jsonlite::toJSON(list(sum = sum(Matrix(1:4, 2)), twice = twice(21), words = commandArgs(trailingOnly = TRUE),
                          paths = length(.libPaths()), letter = "\u00e4")), "\n")
R
    printf '#!/bin/bash\n#SBATCH --ntasks=1\n#SBATCH --time=00:05:00\n#SBATCH --output=heat-%%j.out\nmodule load R\nRscript main.R fast 7\n' >heat/run.sh
    echo 'stop("the .Rprofile of the working directory was read")' >heat/.Rprofile
    "$CYBELECTL" init --from heat
    ran heat
    assert_output --partial '{"sum":[10],"twice":42,"words":["fast","7"],"paths":[3],"letter":["ä"]}'
}

@test "a program in R with Rmpi: two ranks" {
    mkdir ranks
    cat >ranks/main.R <<'R'
library(Rmpi)
cat(sprintf("rank %d of %d\n", mpi.comm.rank(0), mpi.comm.size(0)))
invisible(mpi.finalize())
R
    "$CYBELECTL" init --from ranks
    "$CYBELECTL" build ranks >&2
    "$CYBELECTL" submit ranks -n 2 --oversubscribe --allow-root --scheduler local --wait >&2
    run -0 sort ranks/*.out
    assert_output --partial $'rank 0 of 2\nrank 1 of 2'
}

@test "a Pipfile with its lock: the wheel of its checksum is installed, another one ends the build" {
    mkdir -p www/simple/tiny-module pipe
    python3 - <<'PYTHON'
import base64, hashlib, json, zipfile
name = "www/tiny_module-1.0-py3-none-any.whl"
files = {"tiny_module.py": "ANSWER = 42\n",
         "tiny_module-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny-module\nVersion: 1.0\n",
         "tiny_module-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
record = "".join(f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}\n"
                 for file, text in files.items())
files["tiny_module-1.0.dist-info/RECORD"] = record + "tiny_module-1.0.dist-info/RECORD,,\n"
with zipfile.ZipFile(name, "w") as wheel:
    for file, text in files.items():
        wheel.writestr(file, text)
digest = hashlib.sha256(open(name, "rb").read()).hexdigest()
with open("www/simple/tiny-module/index.html", "w") as page:
    page.write(f'<a href="../../tiny_module-1.0-py3-none-any.whl#sha256={digest}">tiny_module-1.0-py3-none-any.whl</a>\n')
lock = {"_meta": {"pipfile-spec": 6, "sources": []}, "develop": {},
        "default": {"tiny-module": {"hashes": ["sha256:" + "0" * 64, "sha256:" + digest], "version": "==1.0"}}}
with open("pipe/Pipfile.lock", "w") as file:
    json.dump(lock, file, indent=4)
PYTHON
    printf '[packages]\ntiny-module = "*"\n[dev-packages]\npytest = "*"\n' >pipe/Pipfile
    printf 'import tiny_module\nprint("answer", tiny_module.ANSWER)\n' >pipe/main.py
    python3 -u -m http.server --bind 127.0.0.1 --directory www 0 >server.log 2>&1 3>&- &
    server=$!
    wait_for 20 grep -q '^Serving HTTP' server.log
    index=http://127.0.0.1:$(sed -nE 's/.* port ([0-9]+) .*/\1/p' server.log)/simple
    "$CYBELECTL" init --from pipe
    ran pipe --pip-index "$index"
    assert_output --partial 'answer 42'
    sed -i -E 's/ --hash=sha256:[^0][0-9a-f]+//' pipe/pipe.yaml
    run ! "$CYBELECTL" build pipe -F --pip-index "$index"
    assert_output --partial 'THESE PACKAGES DO NOT MATCH THE HASHES'
}

@test "a setup.py: the packages of install_requires are in the image" {
    mkdir -p set/wave
    printf 'from setuptools import setup\nsetup(name="set", install_requires=[\n    "tqdm>=4",  # bar\n    "numpy",\n])\n' >set/setup.py
    printf 'import numpy\n\n\ndef total():\n    return int(numpy.arange(4).sum())\n' >set/wave/__init__.py
    printf 'import tqdm\nimport wave\nprint("total", wave.total())\n' >set/main.py
    "$CYBELECTL" init --from set
    ran set
    assert_output --partial 'total 6'
}

@test "each package of R in our table is in the mirror's index, in this version" {
    local file
    file=$(apt-get indextargets --format '$(FILENAME) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk '$2 == "bookworm" && $3 == "main" && !seen++ { print $1 }')
    [[ -n $file ]] || skip 'this machine is not Debian 12'
    /usr/lib/apt/apt-helper cat-file "$file" >Packages
    run -0 "${repo:?}/tests/docs/list-r-packages" --check Packages
}
