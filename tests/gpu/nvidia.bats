# SPDX-License-Identifier: Apache-2.0
# A real NVIDIA GPU in containers and in jobs of the local scheduler: see README.md beside this file.
load ../parts/suite.bash

# files_of PROGRAM…: the programs, as they are found and where they lie, and the libraries that they load.
files_of() {
    local program
    for program in "$@"; do
        program=$(command -v "$program")
        printf '%s\n' "$program" "$(readlink -f "$program")"
        ldd "$program" 2>/dev/null | grep -oE '(=> )?/[^ ]+' | sed 's/^=> //'
    done | sort -u
}

# libraries_below FOLDER…: what the shared objects there load.
libraries_below() {
    find "$@" \( -path '*/lib-dynload/*.so' -o -name 'libtorch*.so' -o -name '_multiarray_umath*.so' \) -exec ldd {} + 2>/dev/null |
        grep -oE '=> /[^ ]+' | sed 's/^=> //'
}

setup_file() {
    enter_place
    export place
    python=${CYBELE_GPU_PYTHON:?}
    environment=$(dirname "$(dirname "$python")")
    plain=$("$python" -c 'import sys, os; print(os.path.realpath(sys.executable))')
    library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
    export python environment
    {
        printf '%s\n' 'Bootstrap: scratch' '%setup' \
            '    mkdir -p "$APPTAINER_ROOTFS/usr/bin" "$APPTAINER_ROOTFS/usr/lib" "$APPTAINER_ROOTFS/usr/lib64" "$APPTAINER_ROOTFS/etc"' \
            '    ln -s usr/bin usr/lib usr/lib64 "$APPTAINER_ROOTFS"' '%files'
        { files_of bash sh env ls cat sleep grep "$plain" && libraries_below "$library/lib-dynload" "$environment"; } |
            grep -v "^$environment/\|nvidia\|libcuda" | sort -u | sed 's|.*|    & &|'
        printf '%s\n' "    $library $library" '%environment' "    export PATH=$environment/bin:/usr/bin:/bin"
    } >torch.def
    "$CYBELECTL" build torch.def -o torch.sif >&2
    cp "$repo/tests/gpu/train.py" .
    cat >probe.py <<'PYTHON'
import torch
assert torch.cuda.is_available()
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
print(torch.cuda.get_device_name(), torch.__version__, bool((a @ a).isfinite().all()))
PYTHON
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# torch_job NAME GPUS SECONDS
torch_job() {
    printf '%s\n' 'kind: Job' "name: $1" 'image: torch.sif' "command: [train.py, '$3']" 'launch: torch' "binds: ['$environment', '$place']" \
        "resources: {cpus-per-task: 2, gpus-per-node: $2, memory-per-node: 8 GiB, time: 4 min}" >"$1.yaml"
}
gpus() { nvidia-smi -L | wc -l; }

@test "the image has no driver: without --nv no GPU is found" {
    run "$CYBELECTL" exec -B "$environment" torch.sif "$python" -c 'import torch; print(torch.cuda.is_available())'
    assert_success
    assert_line False
    run "$CYBELECTL" exec torch.sif nvidia-smi -L
    assert_failure
}

@test "--nv: nvidia-smi lists the GPUs of the host, and a product is computed" {
    run "$CYBELECTL" exec --nv torch.sif nvidia-smi -L
    assert_success
    assert_output "$(nvidia-smi -L)"
    run "$CYBELECTL" exec --nv -B "$environment" torch.sif "$python" "$place/probe.py"
    echo "$output"
    assert_success
    assert_output --partial "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)"
    assert_output --regexp 'True$'
}

@test "--nv with devices and a home of its own, with no variables of the host, and with root's rights" {
    local options
    for options in --contain --containall --cleanenv --fakeroot --writable-tmpfs '--contain --fakeroot'; do
        # shellcheck disable=SC2086 # several options
        run "$CYBELECTL" exec --nv $options -B "$environment,$place" torch.sif "$python" "$place/probe.py"
        echo "$options: $output"
        assert_success
    done
}

@test "as an ordinary user" {
    mkdir home
    chown 1234 home
    run setpriv --reuid 1234 --regid 1234 --clear-groups env HOME="$place/home" "$CYBELECTL" exec --nv --no-home -B "$environment,$place" torch.sif "$python" "$place/probe.py"
    echo "$output"
    assert_success
}

@test "by the name of Apptainer, by option and by variable" {
    mkdir programs
    "$CYBELECTL" install-as apptainer "$place/programs"
    run programs/apptainer exec --nv torch.sif nvidia-smi -L
    assert_success
    assert_output "$(nvidia-smi -L)"
    APPTAINER_NV=1 run programs/apptainer exec torch.sif nvidia-smi -L
    assert_success
    assert_output "$(nvidia-smi -L)"
}

@test "a device by its CDI name, with the driver's files as its file lists them" {
    mkdir -p cdi
    {
        printf '%s\n' 'cdiVersion: 0.6.0' 'kind: nvidia.com/gpu' 'devices:' '  - name: "0"' '    containerEdits:' '      deviceNodes:'
        printf '        - path: %s\n' /dev/nvidia0 /dev/nvidiactl /dev/nvidia-uvm
        printf '%s\n' 'containerEdits:' '  env: [LD_LIBRARY_PATH=/opt/driver]' '  mounts:'
        ldconfig -p | sed -nE 's/^\s*(lib(cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so\.1) \(libc6,x86-64\) => (.*)/\1 \3/p' | sort -u -k 1,1 | while read -r name file; do
            printf '    - {hostPath: %s, containerPath: /opt/driver/%s, options: [ro, bind]}\n' "$file" "$name"
        done
        printf '    - {hostPath: %s, containerPath: /usr/bin/nvidia-smi, options: [ro, bind]}\n' "$(command -v nvidia-smi)"
    } >cdi/nvidia.yaml
    run "$CYBELECTL" exec --contain --device nvidia.com/gpu=0 --cdi-dirs "$place/cdi" torch.sif env LD_LIBRARY_PATH=/opt/driver nvidia-smi -L
    assert_success
    assert_output "$(nvidia-smi -L | head -n 1)"
}

@test "a torch Job: each process has its GPU, NCCL sums over them, the loss falls" {
    torch_job trains "$(gpus)" 0
    run "$CYBELECTL" submit trains.yaml --scheduler local --wait
    echo "$output"
    assert_success
    cat trains-*
    assert_equal "$(cat trains-*.out | grep -cE "^rank [0-9]+ of $(gpus) on NVIDIA .*: loss [0-9.]+ -> [0-9.]+ threads=[1-9]")" "$(gpus)"
}

@test "a Job of more GPUs than there are is refused before it runs; two that need all run one after the other" {
    torch_job many "$(($(gpus) + 1))" 0
    run "$CYBELECTL" submit many.yaml --scheduler local --wait
    echo "$output"
    assert_failure
    assert_output --partial GPU
    torch_job first "$(gpus)" 8
    torch_job second "$(gpus)" 0
    local first second
    first=$("$CYBELECTL" submit first.yaml --scheduler local | tail -n 1 | grep -oE '[0-9]+$')
    second=$("$CYBELECTL" submit second.yaml --scheduler local | tail -n 1 | grep -oE '[0-9]+$')
    run "$CYBELECTL" job list
    echo "$output"
    assert_output --regexp ' second .* pending .* Resources'
    run "$CYBELECTL" job wait "$first" "$second"
    echo "$output"
    assert_success
}

@test "an openmp Job with a GPU: CUDA_VISIBLE_DEVICES names it, and the program finds exactly that one" {
    printf '%s\n' 'kind: Job' 'name: one' 'image: torch.sif' \
        "command: [$python, -c, 'import os, torch; print(os.environ[\"CUDA_VISIBLE_DEVICES\"], torch.cuda.device_count())']" 'launch: openmp' \
        "binds: ['$environment']" 'resources: {cpus-per-task: 2, gpus-per-node: 1, time: 4 min}' >one.yaml
    run "$CYBELECTL" submit one.yaml --scheduler local --wait
    echo "$output"
    assert_success
    cat one-*.out
    grep -qE '^[0-9]+ 1$' one-*.out
}

@test "the neuroblastoma Job with a GPU, by Keras and PyTorch: the blob is found" {
    KERAS_BACKEND=torch "$python" -c 'import keras' 2>/dev/null || skip "the Python of CYBELE_GPU_PYTHON has no Keras"
    printf '%s\n' 'kind: Job' 'name: neuroblastoma' 'image: torch.sif' "command: [$python, $catalogue/neuroblastoma/segment, --epochs, '10']" \
        'launch: openmp' "binds: ['$environment', '$catalogue']" 'environment: {KERAS_BACKEND: torch}' \
        'resources: {cpus-per-task: 2, gpus-per-node: 1, time: 4 min}' >neuroblastoma.yaml
    run "$CYBELECTL" submit neuroblastoma.yaml --scheduler local --wait
    echo "$output"
    assert_success
    cat neuroblastoma-*.out
    grep -qE '^dice=0\.[89][0-9]+ loss=0\.[01][0-9]+ train=64 test=16 device=gpu$' neuroblastoma-*.out
}

@test "limits of memory, CPUs and processes on this kernel's cgroups" {
    run "$CYBELECTL" exec --memory 300M torch.sif /usr/bin/env bash -c 'a=x; while ((${#a} < 500000000)); do a=$a$a; done; echo all'
    echo "$output"
    assert_failure
    refute_line all
    run "$CYBELECTL" exec --pids-limit 4 torch.sif bash -c 'for i in 1 2 3 4 5 6; do sleep 2 & done; wait'
    echo "$output"
    assert_output --regexp '[Rr]esource temporarily unavailable'
}

@test "the list of the host rules: nvliblist.conf names libraries, programs and files" {
    [[ ! -e /etc/apptainer/nvliblist.conf ]] || cp /etc/apptainer/nvliblist.conf kept
    mkdir -p /etc/apptainer
    echo '{}' >graphics.json
    printf '%s\n' '# of this test' nvidia-smi libcuda.so libnvidia-ml.so "$place/graphics.json" >/etc/apptainer/nvliblist.conf
    run "$CYBELECTL" exec --nv --no-mount cwd,tmp,home torch.sif bash -c "ls /.singularity.d/libs; cat $place/graphics.json; nvidia-smi -L"
    if [[ -e kept ]]; then cp kept /etc/apptainer/nvliblist.conf; else rm /etc/apptainer/nvliblist.conf && rmdir --ignore-fail-on-non-empty /etc/apptainer; fi
    echo "$output"
    assert_success
    assert_equal "$(grep -c '^lib' <<<"$output")" "$(grep -c '^lib\(cuda\|nvidia-ml\)\.so' <<<"$output")"
    assert_line '{}'
    assert_output --partial "$(nvidia-smi -L)"
}

@test "nothing is left on the GPUs" {
    assert_equal "$(nvidia-smi --query-compute-apps=pid --format=csv,noheader)" ''
}
