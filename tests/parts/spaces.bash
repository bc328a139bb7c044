# SPDX-License-Identifier: Apache-2.0
# Sourced by the parts that are machines of their own made of namespaces: a head node below one process, nodes below it, each with
# its own network, processes, host name and mounts. Everything ends with that process.
# shellcheck disable=SC2154 # parts_dir is of part.bash; net and spaces are of the part

# write_ssh STATE OWNER LINE…: keys of the nodes' sshd and of their users' ssh below STATE; LINEs are further settings of sshd.
write_ssh() {
    local ssh=$1/ssh owner=$2
    shift 2
    mkdir -p "$ssh"
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$ssh/host"
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$ssh/user"
    cp "$ssh/user.pub" "$ssh/authorized"
    [[ -z $owner ]] || chown "$owner" "$ssh/user"
    printf '%s\n' 'Port 22' "HostKey $ssh/host" "AuthorizedKeysFile $ssh/authorized" 'StrictModes no' 'UsePAM no' \
        'PermitRootLogin yes' 'PasswordAuthentication no' 'PidFile none' 'MaxStartups 100' "$@" >"$ssh/sshd"
    printf '%s\n' 'Host *' "  IdentityFile $ssh/user" '  StrictHostKeyChecking no' '  UserKnownHostsFile /dev/null' \
        '  LogLevel ERROR' '  IdentitiesOnly yes' >"$ssh/client"
}

# start_sshd STATE NAME: on a node.
start_sshd() {
    mkdir -p /run/sshd
    /usr/sbin/sshd -D -f "$1/ssh/sshd" -E "$1/log/sshd-$2" &
}

# join_switch NAME STATE: on a node: its host name, and its address from STATE/hosts.
join_switch() {
    hostname "$1"
    ip link set lo up
    wait_for 5 ip link show eth0
    ip addr add "$(awk -v n="$1" '$2 == n { print $1 }' "$2/hosts")/24" dev eth0
    ip link set eth0 up
}

# start_switch: on the head node.
start_switch() {
    ip link set lo up
    ip link add switch type bridge
    ip addr add "$net.1/24" dev switch
    ip link set switch up
}

# start_node NAME PROGRAM ARGUMENT…: in namespaces of its own, plugged into the switch: PROGRAM runs as its first process.
start_node() {
    local name=$1 pid
    shift
    # The interface is made before the node's process starts, and handed to it.
    unshare --net --mount --uts --pid --fork --kill-child --mount-proc "$@" &
    pid=$!
    wait_for 5 has_other_network "$pid"
    ip link add "to-$name" type veth peer name eth0 netns "$pid"
    ip link set "to-$name" master switch up
}

has_other_network() {
    [[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]
}

# launch_head STATE PROGRAM ARGUMENT…: PROGRAM is the first process of the head node; the id of its parent goes to STATE/pid.
launch_head() {
    local state=$1
    shift
    setsid unshare --net --mount --uts --ipc --pid --fork --kill-child --mount-proc "$@" >"$state/log/head" 2>&1 </dev/null &
    echo $! >"$state/pid"
}

# end_with_owner OWNER PID STATE: when OWNER is gone, however it ended, PID is killed, and with it all below.
end_with_owner() {
    setsid python3 -c '
import os, select, shutil, signal, sys
owner, head = int(sys.argv[1]), int(sys.argv[2])
head_fd = os.pidfd_open(head)
poll = select.poll()
poll.register(head_fd, select.POLLIN)
try:
    poll.register(os.pidfd_open(owner), select.POLLIN)
    ended = {fd for fd, _ in poll.poll()}
except ProcessLookupError:  # the owner is gone already
    ended = set()
if head_fd not in ended:
    signal.pidfd_send_signal(head_fd, signal.SIGKILL)
    shutil.rmtree(sys.argv[3], ignore_errors=True)
' "$@" >/dev/null 2>&1 </dev/null &
}

children_of() {
    cat "/proc/$1/task/$1/children"
}

# in_spaces STATE COMMAND…: in those namespaces of the head that are in `spaces`: those of the child of the process in STATE/pid.
in_spaces() {
    local head
    head=$(children_of "$(cat "$1/pid")")
    shift
    nsenter --target "${head%% *}" "${spaces[@]}" -- "$@"
}

# stop_head STATE: ends everything, and removes STATE.
stop_head() {
    local pid first
    [[ -e $1 ]] || return 0
    if [[ -e $1/pid ]]; then
        pid=$(cat "$1/pid")
        # unshare ignores TERM; killed, it takes the first process of its namespace along, and that all.
        if grep -qs -- --head "/proc/$pid/cmdline"; then
            first=$(children_of "$pid")
            kill -KILL "$pid"
            wait_for 10 is_gone "$pid" && wait_for 10 is_gone "${first%% *}"
        fi
    fi
    rm -rf --one-file-system "$1"
}
