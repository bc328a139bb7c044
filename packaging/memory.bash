# SPDX-License-Identifier: Apache-2.0
# Sourced by ./quickstart and ./test: how much memory there is, so that neither runs out of it on a small machine.

# available_memory ROOT: MiB: what the machine has available, at most what a control group of this process allows. ROOT is /.
available_memory() {
    local least limit
    least=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' "$1/proc/meminfo")
    while read -r limit; do
        [[ $limit == max ]] || ((limit / 1048576 >= least)) || least=$((limit / 1048576))
    done < <(group_limits "$1")
    printf '%d\n' "$least"
}

# group_limits ROOT: the limits of this process's control groups and of those above them (versions 2 and 1), in bytes.
group_limits() {
    local controllers path folder name
    while IFS=: read -r _ controllers path; do
        case ,$controllers, in
            ,,) folder=$1/sys/fs/cgroup name=memory.max ;;
            *,memory,*) folder=$1/sys/fs/cgroup/memory name=memory.limit_in_bytes ;;
            *) continue ;;
        esac
        path=${path%/}
        while
            cat "$folder$path/$name" 2>/dev/null || true
            [[ -n $path ]]
        do
            path=${path%/*}
        done
    done <"$1/proc/self/cgroup"
}

# compile_jobs MEMORY CORES: compilers at a time: one per core, and each needs up to 1000 MiB.
compile_jobs() {
    local jobs=$(($1 / 1000 < $2 ? $1 / 1000 : $2))
    printf '%d\n' $((jobs > 0 ? jobs : 1))
}
