# SPDX-License-Identifier: Apache-2.0
# Loaded by the suites of `cybelectl bridge` whose accounts are reached by ssh: the sshd of the head node, with a key of each account.
# shellcheck disable=SC2154 # place and parts_dir are of suite.bash

# start_sshd [OPTION…]: an sshd in the network of the head node, keys of root and guest that it accepts, and `ways/ssh`: ssh itself,
# in that network, with these options.
start_sshd() {
    local one
    mkdir ways keys authorized
    for one in root guest; do ssh-keygen -q -t ed25519 -N '' -C '' -f "keys/$one"; done
    chmod 755 . authorized
    for one in root guest; do cp "keys/$one.pub" "authorized/$one"; done
    printf '%s\n' 'Port 22' 'ListenAddress 127.0.0.1' "HostKey $place/slurm/ssh/host" "AuthorizedKeysFile $place/authorized/%u" \
        'StrictModes no' 'UsePAM no' 'PermitRootLogin yes' 'PasswordAuthentication no' 'PidFile none' \
        "SetEnv SLURM_CONF=$place/slurm/slurm.conf" >sshd.conf
    # The login root may become guest by sudo, and nobody else.
    printf '%s\n' 'Defaults env_keep += "SLURM_CONF"' 'root ALL=(guest) NOPASSWD: /usr/bin/sh -s, /bin/sh -s' >sudoers
    chmod 440 sudoers
    slurm sh -c "mount --bind '$place/sudoers' /etc/sudoers && mkdir -p /run/sshd && exec /usr/sbin/sshd -D -f '$place/sshd.conf' -E '$place/sshd.log'" >sshd.out 2>&1 3>&- &
    echo $! >sshd.process
    printf '127.0.0.1 %s\n' "$(cut -d' ' -f1,2 slurm/ssh/host.pub)" >known
    printf '%s\n' '#!/bin/bash' "[[ \$* != *guest@* ]] || echo guest >>'$place/logins'" \
        "exec '$parts_dir/slurm' net '$place' /usr/bin/ssh -F none $* -o UserKnownHostsFile='$place/known' \"\$@\"" >ways/ssh
    chmod +x ways/ssh
    PATH=$place/ways:$PATH wait_for 20 answers
}
stop_sshd() { kill "$(cat "$place/sshd.process")" || true; }
answers() { ssh -i keys/root root@127.0.0.1 squeue; }
