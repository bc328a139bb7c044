# SPDX-License-Identifier: Apache-2.0
# Programs that call Apptainer, from PyPI: the same work once with Apptainer and once with a link to cybelectl.
# shellcheck disable=SC2016 # the texts are for other programs
load ../parts/suite.bash
load ../parts/serve.bash

# An image of one layer with busybox and bash, which Snakemake calls, in the registry on loopback.
serve_image() {
    local name
    umoci init --layout layout
    umoci new --image layout:1
    umoci unpack --image layout:1 bundle >/dev/null 2>&1
    mkdir -p bundle/rootfs/{bin,etc,tmp,var/tmp,proc,sys,dev,root,home,srv,mnt,usr/bin}
    cp /bin/busybox bundle/rootfs/bin/busybox
    for name in $(/bin/busybox --list); do [[ $name == busybox ]] || ln -sf busybox "bundle/rootfs/bin/$name"; done
    ln -s /bin/env bundle/rootfs/usr/bin/env
    cp /bin/bash-static bundle/rootfs/bin/bash
    touch bundle/rootfs/etc/{passwd,group,hosts,localtime,resolv.conf}
    umoci repack --refresh-bundle --image layout:1 bundle >/dev/null
    skopeo copy -q --dest-tls-verify=false oci:layout:1 "docker://127.0.0.1:$registry/demo/tools:1"
}

# Both programs by both names; Apptainer sees the working directory and /tmp.
write_programs() {
    local name
    mkdir theirs ours libexec
    cp "$CYBELECTL" ours/cybelectl
    cp "$(dirname "$CYBELECTL")/../libexec/cybelectl-http" libexec/
    for name in apptainer singularity; do
        ln -s cybelectl "ours/$name"
        printf '#!/bin/bash\nXDG_CACHE_HOME=%q exec %q rank "$@"\n' "${XDG_CACHE_HOME:-$HOME/.cache}" "$parts_dir/apptainer" >"theirs/$name"
        chmod +x "theirs/$name"
    done
}

setup_file() {
    enter_place
    export place
    "$parts_dir/apptainer" make >&2
    python3 -m venv venv
    venv/bin/pip -q install cwltool spython reframe-hpc snakemake
    write_programs
    folders=$(mktemp -d /tmp/cybelectl-callers.XXXXXX)
    export folders
}
setup() {
    cd "$place" || return
    rm -rf registry.in registry.port layout bundle
    serve registry docker-registry open "$place/registry"
    # shellcheck disable=SC2154 # serve sets it
    image=docker://127.0.0.1:$registry/demo/tools:1
    serve_image
}
teardown() { end_servers; }
teardown_file() {
    rm -rf "$folders"
    leave_place
}

# with_both NAME COMMAND…: in a folder of its own, with a home of its own, once with each; prints what ours wrote to `out`,
# which Apptainer's must equal.
with_both() {
    local name=$1 program
    shift
    for program in theirs ours; do
        mkdir -p "$folders/$program/$name/home"
        cp -r "$place/work/." "$folders/$program/$name/"
        (cd "$folders/$program/$name" && env PATH="$place/$program:$place/venv/bin:$PATH" HOME="$PWD/home" \
            XDG_CACHE_HOME="$PWD/home/.cache" TMPDIR=/tmp APPTAINER_NOHTTPS=1 SINGULARITY_NOHTTPS=1 no_proxy='*' \
            CYBELE_LIBEXEC="$place/libexec" "$@" >log 2>&1) || {
            cat "$folders/$program/$name/log"
            return 1
        }
    done
    diff "$folders/theirs/$name/out" "$folders/ours/$name/out"
    cat "$folders/ours/$name/out"
}

@test "cwltool --singularity" {
    rm -rf work && mkdir work
    printf '%s\n' 'cwlVersion: v1.2' 'class: CommandLineTool' 'baseCommand: [sh, -c]' 'requirements:' \
        "  DockerRequirement: {dockerPull: \"${image#docker://}\"}" 'inputs: {text: {type: File}}' \
        'arguments: ["tr a-z A-Z <$(inputs.text.path)"]' 'stdout: out' 'outputs: {result: {type: stdout}}' >work/tool.cwl
    echo 'some words' >work/in.txt
    run with_both cwltool cwltool --quiet --singularity tool.cwl --text in.txt
    assert_success
    assert_output 'SOME WORDS'
}

@test "Snakemake --software-deployment-method apptainer" {
    rm -rf work && mkdir work
    printf '%s\n' 'rule all:' '    input: "out"' 'rule make:' '    output: "out"' "    container: \"$image\"" \
        '    shell: "busybox | head -n 1 | cut -c1-7 >{output}; echo from snakemake >>{output}"' >work/Snakefile
    run with_both snakemake snakemake -q all --cores 1 --software-deployment-method apptainer
    assert_success
    assert_output $'BusyBox\nfrom snakemake'
}

@test "ReFrame's container platforms" {
    rm -rf work && mkdir work
    cat >work/check.py <<PYTHON
import reframe as rfm
import reframe.utility.sanity as sn


class Hello(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']

    @run_before('run')
    def set_container(self):
        self.container_platform.image = '$image'
        self.container_platform.command = "bash -c 'echo from reframe; ls -d /rfm_workdir'"

    @sanity_function
    def check(self):
        return sn.all([sn.assert_found(r'from reframe', self.stdout), sn.assert_found(r'/rfm_workdir', self.stdout)])


@rfm.simple_test
class ByApptainer(Hello):
    container_platform = 'Apptainer'


@rfm.simple_test
class BySingularity(Hello):
    container_platform = 'Singularity'
PYTHON
    cat >work/settings.py <<'PYTHON'
site_configuration = {
    'systems': [{'name': 'one', 'hostnames': ['.*'], 'partitions': [{
        'name': 'here', 'scheduler': 'local', 'launcher': 'local', 'environs': ['builtin'],
        'container_platforms': [{'type': 'Apptainer'}, {'type': 'Singularity'}]}]}],
    'environments': [{'name': 'builtin', 'cc': 'cc'}]}
PYTHON
    run with_both reframe bash -c 'reframe -C settings.py -c check.py -r --prefix=stage --nocolor >result; status=$?
        grep -oE "(PASSED|FAILED) .*Ran [0-9]+/[0-9]+" result | tr -d "]" | tr -s " " >out; exit $status'
    assert_success
    assert_output --partial 'Ran 2/2'
}

@test "spython: pull, execute, run, inspect and an instance" {
    rm -rf work && mkdir work
    cat >work/call.py <<PYTHON
from spython.main import Client


def lines(answer):
    """Without the lines that Apptainer writes to standard error."""
    text = answer if isinstance(answer, str) else "".join(answer)
    return [line for line in text.splitlines() if line and not line.startswith(("INFO", "WARNING"))]


Client.quiet = True
image = Client.pull("$image", name="tools.sif", force=True)
with open("out", "w") as out:
    print(Client.version(), file=out)
    print(lines(Client.execute("tools.sif", ["echo", "executed"])), file=out)
    print(Client.execute("tools.sif", ["sh", "-c", "exit 3"], return_result=True)["return_code"], file=out)
    print(sorted(Client.inspect("tools.sif")["attributes"].keys()), file=out)
    instance = Client.instance("tools.sif", name="called")
    print(lines(Client.execute(instance, ["echo", "in the instance"])), file=out)
    instance.stop()
PYTHON
    run with_both spython python call.py
    assert_success
    assert_line --partial executed
    assert_line --partial 'in the instance'
}

# As Nextflow writes it into .command.run, by both names; its program is not here. Its `noHttps` adds --nohttps, which `pull` of
# Apptainer 1.4.5 refuses ("unknown flag"): a site with a plain registry sets the variable, as with_both does.
@test "the command line that Nextflow generates: a pull, a task, its exit code, a task that is ended" {
    rm -rf work && mkdir work
    echo 'some words' >work/in.txt
    cat >work/.command.sh <<'TASK'
#!/bin/bash -ue
echo "$SAMPLE: $(tr a-z A-Z <in.txt) in ${PWD##*/}, $TMPDIR, ${HOME_WORD:-no word of the host}" >result.txt
cat result.txt
exit $CODE
TASK
    cat >work/run.sh <<SCRIPT
export NXF_TASK_WORKDIR=\$PWD TMP=/tmp TMPDIR=/tmp HOME_WORD=host
nxf_container_env() { printf 'export PATH="\$PWD/bin:\$PATH"; export SAMPLE="one" CODE="%s"' "\$1"; }
mkdir cache
for name in apptainer singularity; do
    (cd cache && bash -c "\$name pull --name \$name.img.pulling.1 $image > /dev/null" && mv \$name.img.pulling.1 \$name.img)
    prefix=\${name^^}ENV
    for code in 0 3; do
        (
            set +u
            env - PATH="\$PATH" "\${prefix}_TMP=\$TMP" "\${prefix}_TMPDIR=\$TMPDIR" "\${prefix}_NXF_TASK_WORKDIR=\$NXF_TASK_WORKDIR" \
                \$name exec --no-home --pid -B "\$NXF_TASK_WORKDIR" cache/\$name.img \
                /bin/bash -c "cd \$NXF_TASK_WORKDIR; eval \$(nxf_container_env \$code); /bin/bash -ue \$NXF_TASK_WORKDIR/.command.sh"
        ) >>out 2>>errors
        echo "\$name ended with \$?" >>out
    done
    env - PATH="\$PATH" \$name exec --no-home --pid -B "\$NXF_TASK_WORKDIR" cache/\$name.img \
        /bin/bash -c 'kill -TERM \$\$' >>out 2>>errors
    echo "\$name ended with \$?" >>out
done
ls cache >>out
SCRIPT
    run with_both nextflow bash run.sh
    assert_success
    run grep -hE '^(Error|FATAL)' "$folders"/*/nextflow/{log,errors}
    assert_failure
    run cat "$folders/ours/nextflow/out"
    assert_line 'one: SOME WORDS in nextflow, /tmp, no word of the host'
    assert_line 'apptainer ended with 0'
    assert_line 'singularity ended with 3'
    assert_line 'singularity ended with 143'
    assert_line 'apptainer.img'
}
