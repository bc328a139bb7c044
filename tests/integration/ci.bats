# SPDX-License-Identifier: Apache-2.0
# The CI snippets of templates/ci run on a project of 30 Recipes, as the services would run their commands.
load ../parts/suite.bash

setup_file() {
    enter_place
    export place
    make_project
    make_archive
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

# A repository with 30 Recipes, 6 Jobs and 2 Sites, and what they generate.
make_project() {
    local i
    mkdir -p project/{recipes,jobs,sites}
    for i in $(seq 1 30); do
        printf '%s\n' 'kind: Recipe' "name: tool-$i" 'base: debian:12' 'packages: {needs: [ca-certificates]}' \
            "steps: [\"echo $i >/etc/tool\"]" 'run: [cat, /etc/tool]' >"project/recipes/tool-$i.yaml"
    done
    sed -i 's/^base:.*/base: {image: "docker:\/\/debian:12"}/' project/recipes/tool-30.yaml
    # Sources beside the Recipe, and a definition file of one's own.
    mkdir project/src
    echo data >project/src/data
    echo 'files: [{from: ../src/data, to: /etc/data}]' >>project/recipes/tool-29.yaml
    printf 'Bootstrap: docker\nFrom: debian:12\n\n%%post\n    true\n' >project/own.def
    for i in $(seq 1 6); do
        printf '%s\n' 'kind: Job' "name: run-$i" "image: {recipe: ../recipes/tool-$i.yaml}" 'command: [cat, /etc/tool]' \
            'workdir: /home/eve' 'resources: {time: 5 min}' 'kubernetes: {namespace: crops}' \
            >"project/jobs/run-$i.yaml"
    done
    printf '%s\n' 'kind: Site' 'name: hall-a' 'scheduler: torque' 'kubernetes: {bridge: torque-operator}' >project/sites/hall-a.yaml
    printf '%s\n' 'kind: Site' 'name: hall-b' 'scheduler: slurm' 'kubernetes: {bridge: wlm-operator}' >project/sites/hall-b.yaml
    "$CYBELECTL" generate project >/dev/null 2>&1
    cp "$repo/templates/ci/pre-commit.yaml" project/.pre-commit-config.yaml
    git -C project init -q -b main
    git -C project config user.name tester
    git -C project config user.email tester@example.org
    git -C project add .
    git -C project commit -qm start
}

# The release's shape: one folder with bin/ in it.
make_archive() {
    mkdir -p release/cybelectl-1/bin
    cp "$CYBELECTL" release/cybelectl-1/bin/
    tar -cJf archive.tar.xz -C release cybelectl-1
    rm -r release
}

# steps FILE: the commands of a snippet, each ended by a NUL.
steps() {
    python3 - "$1" <<'END'
import sys, yaml
text = yaml.safe_load(open(sys.argv[1]))
if "jobs" in text:
    found = [step["run"] for job in text["jobs"].values() for step in job["steps"] if "run" in step]
else:
    found = ["\n".join(text["cybelectl"]["before_script"] + text["cybelectl"]["script"])]
sys.stdout.write("\0".join(found) + "\0")
END
}

# as_service SNIPPET REPOSITORY: a fresh clone, and each step by `bash -e` as the services do; PATH is carried from
# step to step by GITHUB_PATH.
as_service() {
    local snippet=$1 step
    rm -rf clone runner
    mkdir runner
    git clone -q "$2" clone
    : >runner/path
    while IFS= read -r -d '' step; do
        (
            cd clone || exit
            PATH=$(paste -sd: ../runner/path):/usr/local/bin:/usr/bin:/bin
            export PATH CI=true CYBELECTL_URL="file://$place/archive.tar.xz" GITHUB_PATH=$place/runner/path \
                RUNNER_TEMP=$place/runner
            CYBELECTL_SHA256=$(sha256sum "$place/archive.tar.xz" | cut -d ' ' -f 1)
            export CYBELECTL_SHA256
            bash -eo pipefail -c "$step"
        ) || return
    done < <(steps "$snippet")
}

@test "the project generates 30 definition files, 12 scripts and 12 objects" {
    assert_equal "$(find project/generated -name '*.def' | wc -l)" 30
    assert_equal "$(find project/generated -name '*.sh' | wc -l)" 12
    assert_equal "$(find project/generated -name '*.yaml' | wc -l)" 12
    run "$CYBELECTL" kube check project/generated/*.yaml
    assert_success
    refute_output --partial 'error['
}

@test "GitHub's and GitLab's commands pass where everything is as generated" {
    for snippet in github gitlab; do
        run as_service "$repo/templates/ci/$snippet.yml" project
        assert_success
        assert_line '54 files: as generated'
        assert_line './recipes/tool-1.yaml: no problems found'
        assert_line './jobs/run-6.yaml for ./sites/hall-b.yaml: no errors, 1 warning' # its folder is the cluster's
        if [[ $snippet == github ]]; then
            run -0 jq -r .version runner/sarif/{generated,recipes,jobs,definitions}.sarif
            assert_output "$(printf '2.1.0\n%.0s' {1..4})"
        fi
    done
}

@test "they pass for a project of Recipes alone" {
    git clone -q project images
    rm -rf images/jobs images/sites
    "$CYBELECTL" generate images -q
    git -C images add .
    git -C images -c user.name=t -c user.email=t@example.org commit -qm images
    for snippet in github gitlab; do
        run as_service "$repo/templates/ci/$snippet.yml" images
        assert_success
        assert_line '30 files: as generated'
        assert_line '.: Recipes and no Jobs'
    done
    rm -rf images
}

@test "they check Locks, Recipes and Jobs, where the generated files would still fit" {
    git clone -q project locked
    cp /bin/busybox .
    printf '%s\n' 'Bootstrap: scratch' '%files' "$PWD/busybox /bin/sh" >base.def
    "$CYBELECTL" build base.def -o locked/recipes/base.sif -q
    printf '%s\n' 'kind: Recipe' 'name: tool-31' 'base: {image: base.sif}' >locked/recipes/tool-31.yaml
    "$CYBELECTL" recipe lock locked/recipes/tool-31.yaml -q
    "$CYBELECTL" generate locked -q
    git -C locked add .
    git -C locked -c user.name=t -c user.email=t@example.org commit -qm locked
    for snippet in github gitlab; do
        run as_service "$repo/templates/ci/$snippet.yml" locked
        assert_success
        assert_line 'recipes/tool-31.lock.yaml: fits the Recipe'
    done
    sed -i 's/debian:12/debian:99/' locked/recipes/tool-1.yaml
    git -C locked -c user.name=t -c user.email=t@example.org commit -qam recipe
    run as_service "$repo/templates/ci/gitlab.yml" locked
    assert_failure 3
    assert_line "error: no distribution 'debian:99'"
    git -C locked -c user.name=t -c user.email=t@example.org revert -n HEAD
    sed -i 's/time: 5 min/time: 5 moments/' locked/jobs/run-1.yaml
    git -C locked -c user.name=t -c user.email=t@example.org commit -qam job
    run as_service "$repo/templates/ci/gitlab.yml" locked
    assert_failure 3
    assert_line --partial 'jobs/run-1.yaml:6:'
    rm -rf locked
}

@test "they fail with a diff where a source was changed without its files" {
    git clone -q project stale
    sed -i 's/time: 5 min/time: 6 min/' stale/jobs/run-1.yaml
    git -C stale -c user.name=t -c user.email=t@example.org commit -qam change
    for snippet in github gitlab; do
        run as_service "$repo/templates/ci/$snippet.yml" stale
        assert_failure 3
        assert_line '-#PBS -l walltime=00:05:00'
        assert_line '+#PBS -l walltime=00:06:00'
        assert_line --partial 'error: 4 of 54 files are stale'
    done
    rm -rf stale
}

@test "an archive with another digest is not run" {
    cp archive.tar.xz kept
    printf x >>archive.tar.xz
    sed 's/sha256sum --check/{ sed s,^....,0000,; } | &/' "$repo/templates/ci/gitlab.yml" >other.yml
    run as_service "$place/other.yml" project
    mv kept archive.tar.xz
    assert_failure
    refute_line --partial 'as generated'
}

@test "the pre-commit hooks pass, and stop a commit that forgets its files" {
    cd project
    PATH=$(dirname "$CYBELECTL"):$PATH HOME=$place run pre-commit run --all-files
    assert_success
    assert_output --regexp 'generated files are up to date\.+Passed'
    assert_output --regexp 'objects for bridges\.+Passed'
    assert_output --regexp 'Recipes are valid\.+Passed'
    assert_output --regexp 'Jobs are valid, for each Site\.+Passed'
    assert_output --regexp 'Locks fit their Recipes\.+Passed'
    assert_output --regexp 'definition files that were written by hand\.+Passed'
    PATH=$(dirname "$CYBELECTL"):$PATH HOME=$place pre-commit install >/dev/null
    sed -i 's/time: 5 min/time: 7 min/' jobs/run-2.yaml
    git add .
    PATH=$(dirname "$CYBELECTL"):$PATH HOME=$place run git commit -qm forgotten
    assert_failure
    assert_output --partial '+#PBS -l walltime=00:07:00'
    PATH=$(dirname "$CYBELECTL"):$PATH "$CYBELECTL" generate -q 2>/dev/null
    git add .
    PATH=$(dirname "$CYBELECTL"):$PATH HOME=$place run git commit -qm whole
    assert_success
}
