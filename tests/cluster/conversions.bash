# SPDX-License-Identifier: Apache-2.0
# Loaded by suites that run scripts as people write them, before and after `job convert`: what both leave is compared.
# shellcheck disable=SC2034,SC2154 # count is read there; repo is of suite.bash

# words_of SCRIPT: its arguments.
words_of() { [[ $1 != *arguments* ]] || printf '%s\0' 'a b' "it's" '*'; }

# shown FOLDER: what the job left there, without our own lines and those in which srun says that a step waits for the one before.
shown() {
    (cd "$1" && for file in $(find . -maxdepth 1 -type f ! -name script.sh ! -name job.yaml ! -name job.sh ! -name app.sif | sort); do
        echo "== $file"
        grep -v '^cybelectl: \|^srun: \(Job .* step creation temporarily disabled\|Step created\)' "$file" || :
    done)
}

# prepare NAME SIDE: a folder with the script.
prepare() {
    mkdir -p "$1/$2"
    cp "$repo/tests/cases/wild/runs/$1.sh" "$1/$2/script.sh"
    [[ $1 != two-containers ]] || ln -f hello-mpi.sif "$1/$2/app.sif"
}

# run_both NAME: its script, and the one of its Job, at the same time; NAME/codes has their exit codes.
run_both() {
    local name=$1 code_before=0 code_after=0
    local -a words
    mapfile -d '' -t words < <(words_of "$name")
    prepare "$name" before
    prepare "$name" after
    (cd "$name/before" && slurm sbatch --wait --partition=batch script.sh "${words[@]}") &
    (
        cd "$name/after"
        "$CYBELECTL" job convert script.sh -o job.yaml
        "$CYBELECTL" job render job.yaml --scheduler slurm -o job.sh -- "${words[@]}"
        slurm sbatch --wait --partition=batch job.sh
    ) || code_after=$?
    wait "$!" || code_before=$?
    echo "$code_before $code_after" >"$name/codes"
}

# scripts_run_the_same [WITHOUT]: on Slurm, all but those whose text has a match of the pattern. Sets count.
scripts_run_the_same() {
    local file name codes
    local -a names=() both=()
    for file in "$repo"/tests/cases/wild/runs/*.sh; do
        [[ -z ${1:-} ]] || ! grep -q "$1" "$file" || continue
        names+=("$(basename "$file" .sh)")
        run_both "${names[-1]}" 3>&- &
        both+=("$!")
    done
    wait "${both[@]}" || return
    for name in "${names[@]}"; do
        read -r -a codes <"$name/codes"
        echo "$name: ${codes[*]}"
        [ "${codes[0]}" -eq "${codes[1]}" ] || return
        diff <(shown "$name/before") <(shown "$name/after") || return
        shown "$name/before" | grep -q . || return
    done
    count=${#names[@]}
}
