// SPDX-License-Identifier: Apache-2.0
#include "schedulers/reading/launcher_options.hpp"

#include "support/find.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace cybele::schedulers {
namespace {

using enum Starter;

// srun(1) of Slurm 22.05 and 24.11, with the options of the plugin pyxis; mpirun(1) of Open MPI 4.1
// and 5.0; the options of MPICH 4.3's mpiexec and of Intel MPI 2021, which read any number of
// dashes and any capitals alike; the action flags of Apptainer 1.4 and SingularityCE 4.
constexpr StarterOption kStarterOptions[] = {
    {kSrun, "--accel-bind", 1},
    {kSrun, "--account -A", 1},
    {kSrun, "--acctg-freq", 1},
    {kSrun, "--async", 0},
    {kSrun, "--bbf", 1},
    {kSrun, "--bcast", 0},
    {kSrun, "--bcast-exclude", 1},
    {kSrun, "--begin -b", 1},
    {kSrun, "--bb", 1},
    {kSrun, "--consolidate-segments", 0},
    {kSrun, "--cluster-constraint", 1},
    {kSrun, "--chdir -D", 1},
    {kSrun, "--clusters -M", 1},
    {kSrun, "--cluster", 1},
    {kSrun, "--comment", 1},
    {kSrun, "--compress", 0},
    {kSrun, "--constraint -C", 1},
    {kSrun, "--container", 1},
    {kSrun, "--container-id", 1},
    {kSrun, "--runtime", 1},
    {kSrun, "--context", 1},
    {kSrun, "--contiguous", 0},
    {kSrun, "--core-spec -S", 1},
    {kSrun, "--cores-per-socket", 1},
    {kSrun, "--cpu-bind", 1},
    {kSrun, "--cpu_bind", 1},
    {kSrun, "--cpu-freq", 1},
    {kSrun, "--cpus-per-gpu", 1},
    {kSrun, "--cpus-per-task -c", 1},
    {kSrun, "--deadline", 1},
    {kSrun, "--debugger-test", 0},
    {kSrun, "--delay-boot", 1},
    {kSrun, "--dependency -d", 1},
    {kSrun, "--disable-status -X", 0},
    {kSrun, "--distribution -m", 1},
    {kSrun, "--epilog", 1},
    {kSrun, "--error -e", 1},
    {kSrun, "--exclude -x", 1},
    {kSrun, "--exclusive", 0},
    {kSrun, "--exact", 0},
    {kSrun, "--export", 1},
    {kSrun, "--external-launcher", 0},
    {kSrun, "--extra", 1},
    {kSrun, "--extra-node-info -B", 1},
    {kSrun, "--gpu-bind", 1},
    {kSrun, "--tres-bind", 1},
    {kSrun, "--gpu-freq", 1},
    {kSrun, "--gpus -G", 1},
    {kSrun, "--gpus-per-node", 1},
    {kSrun, "--gpus-per-socket", 1},
    {kSrun, "--gpus-per-task", 1},
    {kSrun, "--treewidth", 1},
    {kSrun, "--tres-per-task", 1},
    {kSrun, "--gres", 1},
    {kSrun, "--gres-flags", 1},
    {kSrun, "--help -h", 0},
    {kSrun, "--hint", 1},
    {kSrun, "--hold -H", 0},
    {kSrun, "--ignore-signals", 1},
    {kSrun, "--immediate -I", 0},
    {kSrun, "--input -i", 1},
    {kSrun, "--interactive", 0},
    {kSrun, "--jobid", 1},
    {kSrun, "--job-name -J", 1},
    {kSrun, "--kill-on-bad-exit -K", 0},
    {kSrun, "--label -l", 0},
    {kSrun, "--licenses -L", 1},
    {kSrun, "--mail-type", 1},
    {kSrun, "--mail-user", 1},
    {kSrun, "--threads -T", 1},
    {kSrun, "--mcs-label", 1},
    {kSrun, "--oom-kill-step", 0},
    {kSrun, "--mem", 1},
    {kSrun, "--mem-bind", 1},
    {kSrun, "--mem-per-cpu", 1},
    {kSrun, "--mem-per-gpu", 1},
    {kSrun, "--mem-update", 1},
    {kSrun, "--mincpus", 1},
    {kSrun, "--mpi", 1},
    {kSrun, "--msg-timeout", 1},
    {kSrun, "--multi-prog", 0},
    {kSrun, "--network", 1},
    {kSrun, "--nice", 0},
    {kSrun, "--no-allocate -Z", 0},
    {kSrun, "--no-kill -k", 0},
    {kSrun, "--nodefile -F", 1},
    {kSrun, "--nodelist -w", 1},
    {kSrun, "--nodes -N", 1},
    {kSrun, "--ntasks -n", 1},
    {kSrun, "--ntasks-per-core", 1},
    {kSrun, "--ntasks-per-node", 1},
    {kSrun, "--ntasks-per-socket", 1},
    {kSrun, "--ntasks-per-tres", 1},
    {kSrun, "--ntasks-per-gpu", 1},
    {kSrun, "--open-mode", 1},
    {kSrun, "--output -o", 1},
    {kSrun, "--overcommit -O", 0},
    {kSrun, "--overlap", 0},
    {kSrun, "--oversubscribe -s", 0},
    {kSrun, "--pack-group", 1},
    {kSrun, "--het-group", 1},
    {kSrun, "--parsable", 0},
    {kSrun, "--partition -p", 1},
    {kSrun, "--power", 1},
    {kSrun, "--prefer", 1},
    {kSrun, "--preserve-env -E", 0},
    {kSrun, "--priority", 1},
    {kSrun, "--profile", 1},
    {kSrun, "--prolog", 1},
    {kSrun, "--propagate", 0},
    {kSrun, "--pty", 0},
    {kSrun, "--qos -q", 1},
    {kSrun, "--quiet -Q", 0},
    {kSrun, "--quit-on-interrupt", 0},
    {kSrun, "--reboot", 0},
    {kSrun, "--relative -r", 1},
    {kSrun, "--reservation", 1},
    {kSrun, "--resources", 1},
    {kSrun, "--resv-ports", 0},
    {kSrun, "--segment", 1},
    {kSrun, "--send-libs", 0},
    {kSrun, "--signal", 1},
    {kSrun, "--slurmd-debug", 1},
    {kSrun, "--sockets-per-node", 1},
    {kSrun, "--spread-job", 0},
    {kSrun, "--spread-segments", 0},
    {kSrun, "--stepmgr", 0},
    {kSrun, "--switches", 1},
    {kSrun, "--task-epilog", 1},
    {kSrun, "--task-prolog", 1},
    {kSrun, "--tasks-per-node", 1},
    {kSrun, "--test-only", 0},
    {kSrun, "--thread-spec", 1},
    {kSrun, "--threads-per-core", 1},
    {kSrun, "--time -t", 1},
    {kSrun, "--time-min", 1},
    {kSrun, "--tmp", 1},
    {kSrun, "--unbuffered -u", 0},
    {kSrun, "--use-min-nodes", 0},
    {kSrun, "--usage", 0},
    {kSrun, "--verbose -v", 0},
    {kSrun, "--version -V", 0},
    {kSrun, "--wait -W", 1},
    {kSrun, "--wait-for-children", 0},
    {kSrun, "--wckey", 1},
    {kSrun, "--whole", 0},
    {kSrun, "--x11", 0},
    {kSrun,
     "--container-image --container-mounts --container-workdir --container-name --container-save "
     "--container-env",
     1},
    {kSrun,
     "--container-mount-home --no-container-mount-home --container-remap-root "
     "--no-container-remap-root --container-entrypoint --no-container-entrypoint "
     "--container-entrypoint-log --container-writable --container-readonly",
     0},
    {kOpenMpi, "-np -n --np --n -c", 1},
    {kOpenMpi, "-N --npernode -npernode --npersocket -npersocket", 1},
    {kOpenMpi, "--map-by -map-by --rank-by -rank-by --bind-to -bind-to --ppr -ppr", 1},
    {kOpenMpi,
     "--hostfile -hostfile --machinefile -machinefile --default-hostfile -default-hostfile",
     1},
    {kOpenMpi, "--host -host -H", 1},
    {kOpenMpi, "-x", 1},
    {kOpenMpi, "--mca -mca --gmca -gmca --prtemca --pmixmca", 2},
    {kOpenMpi, "--am -am --tune -tune", 1},
    {kOpenMpi, "--wdir -wdir --wd -wd", 1},
    {kOpenMpi, "--path -path --prefix -prefix", 1},
    {kOpenMpi, "--output-filename -output-filename --output", 1},
    {kOpenMpi,
     "--timeout -timeout --report-uri -report-uri --report-pid -report-pid --stdin -stdin --xterm "
     "-xterm --report-events -report-events --xml-file -xml-file",
     1},
    {kOpenMpi,
     "--rankfile -rankfile -rf --cpu-list --cpu-set -cpu-set -slot-list --slot-list "
     "--cpus-per-proc -cpus-per-proc --cpus-per-rank -cpus-per-rank -cpu-list --cartofile -cf",
     1},
    {kOpenMpi,
     "--personality -personality --max-restarts -max-restarts --dvm-hosts --app --debugger "
     "-debugger --hnp -hnp --launch-agent -launch-agent --max-vm-size -max-vm-size --ompi-server "
     "-ompi-server --preload-files",
     1},
    {kOpenMpi,
     "--allow-run-as-root --oversubscribe -oversubscribe --nooversubscribe --report-bindings "
     "-report-bindings --display-map -display-map --display-allocation --tag-output -tag-output "
     "--timestamp-output --use-hwthread-cpus --bynode -bynode --byslot -byslot --bycore --by-node "
     "--pernode -pernode --nolocal -nolocal --quiet -q --verbose -v --version -V --help -h "
     "--do-not-launch --display-devel-map --bind-to-core -bind-to-core --bind-to-socket "
     "--bind-to-none --bysocket --noprefix --preload-binary -s --continuous --get-stack-traces "
     "--novm --merge-stderr-to-stdout --debug-daemons --leave-session-attached --display "
     "-allow-run-as-root -bind-to-socket -bycore -continuous -d -debug --debug -debug-devel "
     "--debug-devel -debug-daemons -debug-daemons-file --debug-daemons-file -disable-recovery "
     "--disable-recovery -display-allocation -display-devel-allocation --display-devel-allocation "
     "-display-devel-map -display-diffable-map --display-diffable-map -display-topo "
     "--display-topo -do-not-launch -do-not-resolve --do-not-resolve -enable-instant-on-support "
     "--enable-instant-on-support -enable-recovery --enable-recovery -fwd-mpirun-port "
     "--fwd-mpirun-port -get-stack-traces -index-argv-by-rank --index-argv-by-rank "
     "-leave-session-attached -merge-stderr-to-stdout -nooversubscribe -novm -output-proctable "
     "--output-proctable -report-child-jobs-separately --report-child-jobs-separately "
     "-report-state-on-timeout --report-state-on-timeout -set-cwd-to-session-dir "
     "--set-cwd-to-session-dir -show-progress --show-progress -timestamp-output -tv --tv "
     "-use-hwthread-cpus -use-regexp --use-regexp -xml --xml",
     0},
    {kHydra, "n np", 1},
    {kHydra, "ppn perhost grr", 1},
    {kHydra, "f hostfile machinefile", 1},
    {kHydra, "host hosts hostlist machine machines machinelist hosts-group", 1},
    {kHydra, "genv env", 2},
    {kHydra, "genvlist genvexcl envlist envexcl", 1},
    {kHydra, "genvall genvnone envall envnone", 0},
    {kHydra,
     "prepend-rank l ordered-output print-rank-map print-all-exitcodes verbose v debug info "
     "version help h profile prepend-timestamp prot",
     0},
    {kHydra,
     "disable-auto-cleanup dac enable-auto-cleanup cleanup disable-hostname-propagation "
     "enable-hostname-propagation enable-x disable-x hybrid-hosts pmi-port pmi-noaggregate "
     "skip-launch-node nolocal rr silent-abort noconf ilp64 aps mps gdb idb tv",
     0},
    {kHydra, "bind-to map-by membind binding topolib rankmap order-nodes cpu-bind", 1},
    {kHydra,
     "launcher launcher-exec bootstrap bootstrap-exec bootstrap-exec-args rmk iface demux "
     "nameserver localhost usize branch-count pmi-connect pmi-aggregate tmpdir",
     1},
    {kHydra, "gpus-per-proc g gpu-subdevs-per-proc", 1},
    {kHydra, "prepend-pattern outfile-pattern errfile-pattern outfile errfile output-from s", 1},
    {kHydra, "wdir gwdir path configfile file", 1},
    {kHydra, "gtool gtoolfile gdba gdb-args tune", 1},
    {kHydra, "pmi_args", 4},
    {kContainer, "--bind -B --mount --fusemount --data", 1},
    {kContainer, "--env --env-file", 1},
    {kContainer, "--home -H --pwd --cwd --workdir -W --scratch -S --overlay -o --app", 1},
    {kContainer,
     "--network --network-args --dns --hostname --security --add-caps --drop-caps --apply-cgroups "
     "--blkio-weight --cpus --cpu-shares --cpuset-cpus --cpuset-mems --memory --memory-reservation "
     "--memory-swap --pids-limit --oom-score-adj --device --cdi-dirs --pem-path --ulimit --nvmlib "
     "--shm-size --authfile --docker-host --netns-path --containlibs --docker-username "
     "--docker-password --tmpdir --blkio-weight-device --shell -s --dmtcp-launch --dmtcp-restart "
     "--runscript-timeout",
     1},
    {kContainer,
     "--nv --rocm --nvccli --intel-hpu --cleanenv -e --contain -c --containall -C --no-home "
     "--no-init --no-nv --no-rocm --no-privs --keep-privs --allow-setuid --fakeroot -f --userns -u "
     "--pid -p --ipc -i --net -n --uts --writable -w --writable-tmpfs --compat --no-compat "
     "--no-eval --no-umask --no-https --nohttps --disable-cache --no-cgroups --oci --no-oci "
     "--sharens --passphrase --no-pid --docker-login --unsquash --ignore-subuid "
     "--ignore-fakeroot-command --underlay --tmp-sandbox --no-tmp-sandbox --sparse --vm --syos "
     "--silent --quiet -q --debug -d --verbose -v --proot --ignore-userns --oom-kill-disable "
     "--boot "
     "--compat32",
     0},
    {kContainer, "--no-mount --no-env", 1},
};

bool is_listed_name(std::string_view names, std::string_view option) {
    while (!names.empty()) {
        const auto name = names.substr(0, names.find(' '));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        if (name == option) {
            return true;
        }
    }
    return false;
}

/// What the starter makes of an option: hydra reads any number of dashes and any capitals.
std::string name_in_table(Starter starter, std::string_view option) {
    return starter == kHydra ? text::lowered(option.substr(
                                   std::min(option.find_first_not_of('-'), option.size())))
                             : std::string(option);
}

/// Which MPIs the lines of a script name, in modules and paths.
struct NamedMpi {
    bool is_open_mpi = false;
    bool is_hydra = false; ///< MPICH, MVAPICH, Intel MPI
    bool is_other = false;
    bool has_oneapi = false; ///< which may bring Intel MPI
};

NamedMpi mpi_named_in(const BatchScript& script) {
    constexpr std::array<std::string_view, 4> kOpenMpiNames{"openmpi", "open-mpi", "ompi_", "hpcx"};
    constexpr std::array<std::string_view, 10> kHydraNames{"mpich",
                                                           "mvapich",
                                                           "impi",
                                                           "i_mpi",
                                                           "intelmpi",
                                                           "intel-mpi",
                                                           "intel/mpi",
                                                           "oneapi-mpi",
                                                           "mpiexec.hydra",
                                                           "mpirun.hydra"};
    constexpr std::array<std::string_view, 5> kOtherNames{
        "cray", "platform", "spectrum", "openmpi/1.", "openmpi-1."};
    NamedMpi named;
    for (const std::string& line : script.lines) {
        if (line.starts_with('#')) {
            continue;
        }
        const std::string small = text::lowered(line);
        const auto has = [&](std::string_view word) {
            return small.find(word) != std::string::npos;
        };
        const auto begins_word = [&](std::string_view word) {
            const auto at = small.find(word);
            return at != std::string::npos &&
                   (at == 0 || std::isalpha(static_cast<unsigned char>(small[at - 1])) == 0);
        };
        named.is_open_mpi = named.is_open_mpi || std::ranges::any_of(kOpenMpiNames, has);
        named.is_hydra = named.is_hydra || std::ranges::any_of(kHydraNames, begins_word);
        named.has_oneapi = named.has_oneapi || has("oneapi");
        named.is_other = named.is_other || std::ranges::any_of(kOtherNames, has);
    }
    return named;
}

} // namespace

const StarterOption* find_starter_option(Starter starter, std::string_view option) {
    const std::string name = name_in_table(starter, option);
    return find_row(kStarterOptions, [&](const StarterOption& row) {
        return row.starter == starter && is_listed_name(row.names, name);
    });
}

bool is_option_named(Starter starter, std::string_view option, std::string_view names) {
    return is_listed_name(names, name_in_table(starter, option));
}

bool may_be_open_mpi(const BatchScript& script, bool has_image) {
    const NamedMpi named = mpi_named_in(script);
    return !named.is_other && !named.is_hydra && !named.has_oneapi &&
           (named.is_open_mpi || has_image);
}

bool is_of_hydra(const BatchScript& script) {
    const NamedMpi named = mpi_named_in(script);
    return named.is_hydra && !named.is_other && !named.is_open_mpi;
}

} // namespace cybele::schedulers
