# SPDX-License-Identifier: Apache-2.0
# The catalogue's large Recipes: each is built (its %test runs then), its job is submitted as it stands, and its program is
# held against itself: other numbers of ranks or threads give the same result. Half an hour and more, 3 GB for the images.
load ../parts/suite.bash

recipes=(soybean-preprocess soybean-train wheat-ear neuroblastoma horovod)

setup_file() {
    enter_place
    export place
    local name image
    local -a variant
    for name in "${recipes[@]}"; do
        variant=()
        [[ $name != neuroblastoma ]] || variant=(neuroblastoma-cpu)
        image=$("$parts_dir/catalogue" make "$name" "${variant[@]}") && ln -s "$image" "$(image_of "$name")"
        cp "$catalogue/$name/job.yaml" "$name.yaml"
    done
}
setup() { cd "$place" || return; }
teardown_file() { leave_place; }

image_of() {
    local name=${1/%neuroblastoma/neuroblastoma-cpu}
    printf '%s.sif\n' "$name"
}

# job NAME: submits the catalogue's job; what it wrote is in $output.
job() {
    run -0 "$CYBELECTL" submit "$1.yaml" --scheduler local --wait
    run cat "$1"-*.out
}

# last_line: of $output, which is what the programs say.
last_line() { printf '%s\n' "${lines[-1]}"; }

# value KEY: of a last line `key=value …`.
value() { last_line | tr ' ' '\n' | sed -n "s/^$1=//p"; }

@test "soybean-preprocess: the job of the catalogue makes the table" {
    job soybean-preprocess
    assert_equal "$(value rows) $(value columns) $(value ranks)" '10800 48 3'
    assert_equal "$(wc -l <tiles.csv)" 10801
    assert_equal "$(head -n 1 tiles.csv | tr ',' '\n' | tail -n 3 | tr '\n' ' ')" 'price yield revenue '
    assert_equal "$(sha256sum <tiles.csv | cut -d' ' -f1)" "$(value sha256)"
    assert_file_exists tiles.xlsx
    run -0 "$CYBELECTL" exec soybean-preprocess.sif python3 -c 'import pandas; print(len(pandas.read_excel("tiles.xlsx")))'
    assert_output 500
}

@test "soybean-preprocess: the table is the same for 1, 2, 3 and 6 ranks" {
    local ranks
    for ranks in 1 2 3 6; do
        write_job "ranks-$ranks" "command: [preprocess, --generate, --size, '48', --data, data-$ranks, --output, $ranks.csv]" \
            'launch: {kind: mpi, oversubscribe: true, allow-root: true}' "resources: {tasks-per-node: $ranks}"
        sed -i 's/hello-mpi.sif/soybean-preprocess.sif/' "ranks-$ranks.yaml"
        run -0 "$CYBELECTL" submit "ranks-$ranks.yaml" --scheduler local --wait
        cmp 1.csv "$ranks.csv"
    done
    for ranks in 2 3 6; do
        (cd data-1 && sha256sum -- *.tif *.csv) | (cd "data-$ranks" && sha256sum --quiet -c -)
    done
}

@test "soybean-train: the job of the catalogue finds the best of four models" {
    job soybean-train
    assert_equal "$(printf '%s\n' "${lines[@]}" | grep -cE '^(linear|tree|boosted|forest): rmse 0\.[0-9]{6}')" 4
    assert_equal "$(value cores)" 2
    local best least
    least=$(printf '%s\n' "${lines[@]}" | sed -nE 's/^([a-z]+): rmse ([0-9.]+),.*/\2 \1/p' | sort | head -n 1)
    best="$(value rmse) $(value best)"
    assert_equal "$best" "$least"
    assert_dir_exists model/metadata
}

@test "soybean-train: errors are the same on one core, and another table can be given" {
    run -0 "$CYBELECTL" exec --env OMP_NUM_THREADS=1 soybean-train.sif train --rows 1000
    local one
    one="$(value best) $(value rmse)"
    assert_equal "$(value cores)" 1
    run -0 "$CYBELECTL" exec soybean-train.sif /usr/bin/python3 /opt/bin/soybean_table.py table.csv 1000
    assert_equal "$(wc -l <table.csv)" 1001
    run -0 "$CYBELECTL" exec --env OMP_NUM_THREADS=2 soybean-train.sif train table.csv
    assert_equal "$(value best) $(value rmse)" "$one"
}

@test "soybean-train: spark-submit's master is the one that counts" {
    run -0 "$CYBELECTL" exec --env OMP_NUM_THREADS=2 soybean-train.sif spark-submit --master 'local[1]' /opt/bin/train.py --rows 300
    assert_equal "$(value cores)" 1
}

@test "wheat-ear: the job of the catalogue counts the ears, within one of twenty" {
    job wheat-ear
    local counted true
    counted=$(value counted) true=$(value true)
    ((true > 30))
    ((20 * (counted > true ? counted - true : true - counted) <= true))
    assert_file_exists wheat.pth
}

@test "wheat-ear: pictures that were written out count alike on one thread" {
    run -0 "$CYBELECTL" exec wheat-ear.sif python3 /opt/bin/wheat_data.py pictures 40
    assert_equal "$(find pictures -name '*.png' | wc -l)" 80
    run -0 "$CYBELECTL" exec --env OMP_NUM_THREADS=1 wheat-ear.sif wheat --data pictures --model one.pth
    local counted
    counted=$(value counted)
    assert_equal "$(value threads)" 1
    run -0 "$CYBELECTL" exec --env OMP_NUM_THREADS=1 wheat-ear.sif wheat --pictures 40 --model two.pth
    assert_equal "$(value counted)" "$counted"
}

@test "neuroblastoma: the job of the catalogue marks the blobs" {
    job neuroblastoma
    assert_equal "$(value device)" cpu
    assert [ "$(value dice | tr -d .)" -gt 08500 ]
}

@test "neuroblastoma: slices that were written out give the same" {
    run -0 "$CYBELECTL" exec neuroblastoma-cpu.sif /opt/venv/bin/python3 /opt/bin/slices.py slices.npz 32
    run -0 "$CYBELECTL" exec --env OMP_NUM_THREADS=1 neuroblastoma-cpu.sif segment --data slices.npz --epochs 2
    local read
    read=$(last_line)
    run -0 "$CYBELECTL" exec --env OMP_NUM_THREADS=1 neuroblastoma-cpu.sif segment --slices 32 --epochs 2 --model m.keras
    assert_equal "$(last_line)" "$read"
    assert_file_exists m.keras
}

@test "horovod: the loss is the same for 1, 2 and 4 ranks" {
    local ranks
    job horovod
    assert_equal "$(value size)" 2
    for ranks in 1 2 4; do
        write_job "horovod-$ranks" 'command: [linear]' 'launch: {kind: mpi, oversubscribe: true, allow-root: true}' \
            "resources: {tasks-per-node: $ranks}"
        sed -i 's/hello-mpi.sif/horovod.sif/' "horovod-$ranks.yaml"
        run -0 "$CYBELECTL" submit "horovod-$ranks.yaml" --scheduler local --wait
        run cat "horovod-$ranks"-*.out
        assert_equal "$(value size)" "$ranks"
        value loss >>losses
    done
    assert_equal "$(sort -u losses | wc -l)" 1
}

@test "wheat-ear: the pip that brought fastai stays behind" {
    run -127 "$CYBELECTL" exec wheat-ear.sif sh -c 'command -v pip3 pip'
}
