// SPDX-License-Identifier: Apache-2.0
// Scripts that start one program: which become a launch with a kind.
#include "schedulers/reading/convert.hpp"
#include "schedulers/reading/explain.hpp"

#include <array>
#include <string>

#include <doctest/doctest.h>

namespace cybele::schedulers {

TEST_CASE("what a script runs becomes launch, image and command") {
    struct Row {
        const char* body;
        const char* yaml; ///< a part of the Job
    };
    constexpr std::array kRows{
        Row{"module load openmpi/4.1\nmpirun -np 4 ./a.out x\n",
            "command: [\"./a.out\", \"x\"]\n"
            "launch: {kind: mpi, launcher: mpirun, binding: none, threads: own}\n"},
        Row{"srun --mpi=pmix apptainer exec -B /a:/b i.sif p\n",
            "image: \"i.sif\"\ncommand: [\"p\"]\nlaunch: {kind: mpi, launcher: srun, "
            "pmi: default, threads: own, options: [\"--mpi=pmix\"]}\n"},
        Row{"srun --mpi=pmix apptainer exec -B /a:/b i.sif p\n", "binds: [\"/a:/b\"]\n"},
        Row{"module load a openmpi\nexport A='b c'\nmpirun -n 4 ./p\n",
            "modules: [\"a\", \"openmpi\"]\nenvironment:\n  A: \"b c\"\n"},
        Row{"echo at $(date)\nsrun ./p '$HOME' \"a b\"\n",
            "command: [\"./p\", \"$HOME\", \"a b\"]\n"},
        Row{"echo at $(date)\nsrun ./p\n", "setup: |\n  echo at $(date)\n"},
        Row{"cd \"$SLURM_SUBMIT_DIR\"\nset -e\nsrun ./p\n", "command: [\"./p\"]\n"},
        // What is not understood to its last word stays as it is.
        Row{"srun --mpi=pmix_v4 ./p\n", "options: [\"--mpi=pmix_v4\"]}\n"},
        // A container with options of its own is started like any other program.
        Row{"srun apptainer exec --cleanenv i.sif p\n",
            "command: [\"apptainer\", \"exec\", \"--cleanenv\", \"i.sif\", \"p\"]\n"},
        Row{"srun apptainer exec i.sif p > log\n", "launch: batch\n"},
        Row{"srun ./p < in\n", "launch: batch\n"},
        Row{"srun ./p *.dat\n", "launch: batch\n"},
        Row{"srun ./p &\nwait\n", "launch: batch\n"},
        Row{"mpirun -np 2 ./p\n", "launch: batch\n"},
        Row{"mpirun ./p\n", "launch: batch\n"},
        Row{"export OMP_NUM_THREADS=8\nsrun ./p\n", "launch: batch\n"},
        Row{"export PATH=/x\nsrun ./p\n", "launch: batch\n"},
        Row{"if true; then module load a; fi\nsrun ./p\n",
            "setup: |\n  if true; then module load a; fi\n"},
        Row{"srun ./p\n", "launch: {kind: mpi, launcher: srun, pmi: default, threads: own}\n"},
        Row{"srun -n $SLURM_NTASKS --cpu-bind=cores -u ./p\n",
            "threads: own, options: [\"--cpu-bind=cores\", \"-u\"]}\n"},
        Row{"B=/data\nsrun $B/p \"${B}\"/x --of=$B\n",
            "command: [\"/data/p\", \"/data/x\", \"--of=/data\"]\n"},
        // A value that only the run knows is handed over by the set-up, under another name.
        Row{"B=/data\nsource s.sh\nsrun $B/p\n",
            "setup: |\n  B=/data\n  source s.sh\n  export script_B=\"$B\"\n"},
        Row{"if true; then\nB=/data\nfi\nsrun $B/p\n",
            "script: |\n  B=$script_B\n  unset script_B\n  exec $B/p\n"},
        Row{"B='/a b'\nsrun $B/p\n", "launch: batch\n"},
        Row{"B+=/data\nsrun $B/p\n", "launch: batch\n"},
        Row{"set -u\nsrun ./p ${B}\n", "setup: |\n  set -u\n  export script_B=\"$B\"\n"},
        Row{"srun ./p $name\n", "setup: |\n  export script_name=\"$name\"\n"},
        Row{"srun ./p $RANDOM\n", "launch: batch\n"},
        Row{"srun ./p $CUDA_VISIBLE_DEVICES\n", "launch: batch\n"},
        Row{"srun ./p $(hostname)\n", "launch: batch\n"},
        // The launch starts in the directory that the script has entered.
        Row{"mkdir a\ncd a\nsrun ./p\n",
            "setup: |\n  mkdir a\n  cd a\n  export script_PWD=\"$PWD\"\n"},
        Row{"cd a\nsrun ./p 'x y'\n",
            "script: |\n  cd -- \"$script_PWD\" || exit\n  unset script_PWD\n"
            "  exec ./p 'x y'\n"},
        Row{"cd a || exit 1\nsrun ./p\n", "setup: |\n  cd a || exit 1\n"},
        Row{"srun ./p\nexit\n", "command: [\"./p\"]\n"},
        Row{"srun ./p\nexit $?\n", "command: [\"./p\"]\n"},
        Row{"srun ./p\nexit 0\n", "launch: batch\n"},
        Row{"export UCX_TLS=tcp\nsrun ./p\n", "setup: |\n  export UCX_TLS=tcp\n"},
        Row{"export SLURM_CPU_BIND=none\nsrun ./p\n", "launch: batch\n"},
        Row{"srun ./p &>log\n", "launch: batch\n"},
        Row{"workdir=/data\nsrun $workdir/p\n", "command: [\"/data/p\"]\n"},
        Row{"declare -r workdir=/data\nsrun $workdir/p\n", "launch: batch\n"}, // ours, too
        Row{"mkdir -p out\nexport OUT=$PWD/out\nsrun ./p\n",
            "setup: |\n  mkdir -p out\n  export OUT=$PWD/out\n"},
        Row{"export PYTHONPATH=/x\nsrun --mpi=pmix apptainer exec i.sif p\n", "launch: batch\n"},
        Row{"for i in 1 2; do\nsrun ./p\ndone\n", "launch: batch\n"},
        // Each process reads words with variables that are the same there.
        Row{"srun $HOME/bin/p -o \"$USER.$SLURM_JOB_ID\" 'a b'\n",
            "script: |\n  exec $HOME/bin/p -o \"$USER.$SLURM_JOB_ID\" 'a b'\n"},
        Row{"srun $HOME/bin/p\n",
            "launch: {kind: mpi, launcher: srun, pmi: default, threads: own}\n"},
        Row{"D=/data\nsrun ./p $D/$USER\n", "script: |\n  D=/data\n  exec ./p $D/$USER\n"},
        Row{"export OUT=$(pwd)\nsrun ./p $OUT/x\n", "script: |\n  exec ./p $OUT/x\n"},
        Row{"OUT=$(pwd)\nsrun ./p $OUT/x\n", "export script_OUT=\"$OUT\"\n"},
        Row{"srun ./p $SLURM_PROCID $HOME\n", "launch: batch\n"}, // another in each process
        Row{"srun $HOME/$P\n", "launch: batch\n"},
        Row{"srun $HOME/bin/torchrun x.py\n", "launch: batch\n"},
        Row{"srun --chdir=$HOME ./p\n", "launch: batch\n"},
        Row{"srun apptainer exec i.sif $HOME/p\n", // of the host, as in the script
            "script: |\n  exec apptainer exec i.sif $HOME/p\n"},
        Row{"MPI=/opt/openmpi\nmpirun -np 4 $HOME/p\n", "script: |\n  exec $HOME/p\n"},
        Row{"source /opt/openmpi/env\nmpirun -np 4 ~/p\n", "script: |\n  exec ~/p\n"},
        Row{"export SRUN_CPUS_PER_TASK=1\nsrun ./p\n", "setup: |\n  export SRUN_CPUS_PER_TASK=1\n"},
        Row{"export SRUN_CPUS_PER_TASK=2\nsrun ./p\n", "launch: batch\n"},
        Row{"lscpu | grep Model | sort\nsrun ./p\n", "setup: |\n  lscpu | grep Model | sort\n"},
        Row{"srun ./p | tee log\n", "launch: batch\n"},
        Row{"#SBATCH -c 2\nsrun ./p\n", // names no threads, and gets none
            "launch: {kind: mpi, launcher: srun, pmi: default, threads: own}\n"},
        Row{"#SBATCH -c 2\nexport OMP_NUM_THREADS=2\nsrun ./p\n",
            "launch: {kind: mpi, launcher: srun, pmi: default, threads: 2}\n"},
        Row{"srun ./p $1\n", "launch: batch\n"},
        Row{"srun -o log ./p\n", "launch: batch\n"},
        Row{"srun ./p\necho done\n", "launch: batch\n"}, // its code is the job's
        Row{"source s.sh\nmodule load a\nsrun ./p\n", "setup: |\n  source s.sh\n  module load a\n"},
        Row{"./p\n", "launch: {kind: serial, exact: true, threads: own}\n"},
        Row{"./p\n", "resources:\n  nodes: 1\n  tasks: 4\n"},
        Row{"srun ./p\nsrun ./q\n", "launch: batch\n"},
        Row{"./p $HOME\n", "script: |\n  ./p $HOME\n"},
        // Modules read MODULEPATH, and may set what the script sets before them.
        Row{"export A=b\nmodule load a\nsrun ./p\n", "setup: |\n  export A=b\n  module load a\n"},
        // Set-up stops where the script does.
        Row{"set -e\nmkdir out\nsrun ./p\n", "setup: |\n  set -e\n  mkdir out\n"},
        Row{"set -e\nmodule load a\nsrun ./p\n", "modules: [\"a\"]\n"},
        // Options of mpirun that place no rank are handed on; one of hydra's has its own.
        Row{"module load openmpi\nmpirun ./p\n", "{kind: mpi, launcher: mpirun, binding: none"},
        Row{"module load openmpi\nmpirun -n 4 --mca btl ^openib -x A ./p\n",
            "options: [\"--mca\", \"btl\", \"^openib\", \"-x\", \"A\"]}\n"},
        Row{"module load openmpi\nmpirun -n 4 --mca rmaps_base_oversubscribe 1 ./p\n",
            "launch: batch\n"},
        Row{"module load mpich/4\nmpirun -np 4 ./p\n",
            "launch: {kind: mpi, launcher: hydra, binding: none, threads: own}\n"},
        Row{"module load intel-oneapi-mpi\nmpirun ./p\n", "{kind: mpi, launcher: hydra"},
        Row{"mpiexec.hydra --PPN=4 -genv A b --genv C=d -l ./p x\n",
            "options: [\"-genv\", \"A\", \"b\", \"--genv\", \"C=d\", \"-l\"]}\n"},
        Row{"mpiexec.hydra -ppn 4 -genv A b ./p x\n", "command: [\"./p\", \"x\"]\n"},
        Row{"module load mpich\nmpirun -n 4 -bind-to core ./p\n", "launch: batch\n"},
        Row{"module load mpich\nmpirun -n 4 -ppn 2 ./p\n", "launch: batch\n"},
        Row{"module load mpich openmpi\nmpirun -n 4 ./p\n", "launch: batch\n"},
        Row{"module load oneapi\nmpirun -n 4 ./p\n", "launch: batch\n"},
        Row{"module load cray-mpich\nmpirun -n 4 ./p\n", "launch: batch\n"},
        Row{"srun --container-image=a.sqsh --no-container-mount-home ./p\n",
            "options: [\"--container-image=a.sqsh\", \"--no-container-mount-home\"]}\n"},
        Row{"srun -W 0 ./p\n", "options: [\"-W0\"]}\n"},
        Row{"#SBATCH -c 2\nmodule load openmpi\nmpirun ./p\n", "launch: batch\n"}, // its slots?
        Row{"./a && ./b\n", "script: |\n  ./a && ./b\n"}};
    for (const Row& row : kRows) {
        CAPTURE(row.body);
        const auto explanation =
            explain_script(std::string("#!/bin/bash\n#SBATCH -N 1 -n 4\n") + row.body, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        CHECK_MESSAGE(conversion->yaml.find(row.yaml) != std::string::npos, conversion->yaml);
    }
    const auto secret = explain_script("#!/bin/bash\n#SBATCH -n 1 x\nexport API_KEY=abc\n./p\n",
                                       "s.sh"); // of a typed launch, too
    const auto told = convert_script(*secret, "s");
    REQUIRE(told.has_value());
    CHECK(told->yaml.find("launch: batch") == std::string::npos);
    REQUIRE(told->notes.size() == 1);
    CHECK(told->notes[0].text == "API_KEY");
    REQUIRE(told->left.size() == 1);
    CHECK(told->left[0].text == "x");
    const auto nothing = explain_script("#!/bin/bash\n#SBATCH -n 4\n", "s.sh");
    CHECK(convert_script(*nothing, "s").error().code() == ErrorCode::kInput);
}

TEST_CASE(
    "binds of a container are the Job's where a Job can have them, else words of its program") {
    const auto yaml_of = [](const std::string& binds) {
        const auto explanation = explain_script(
            "#!/bin/bash\n#SBATCH -N 1 -n 4\nsrun apptainer exec -B " + binds + " i.sif p\n",
            "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        return conversion->yaml;
    };
    for (const char* binds : {"/a", "/a:/b", "/a:/b:ro", "/a,/b:/c,/d:/e:ro"}) {
        const std::string yaml = yaml_of(binds);
        CAPTURE(yaml);
        CHECK(yaml.find("image: \"i.sif\"\ncommand: [\"p\"]\n") != std::string::npos);
        std::string list = "binds: [\"" + std::string(binds);
        for (auto at = list.find(','); at != list.npos; at = list.find(',', at + 4)) {
            list.replace(at, 1, "\", \"");
        }
        CHECK(yaml.find(list + "\"]\n") != std::string::npos);
    }
    for (const char* binds :
         {"a", "a:/b", "/a:b", "/a:/b:rw", "/a,b", "/a,,/b", ",/a", "/a:/b:/c"}) {
        const std::string yaml = yaml_of(binds);
        CAPTURE(yaml);
        CHECK(yaml.find("binds:") == std::string::npos);
        CHECK(yaml.find(std::string("\"-B\", \"") + binds + "\", \"i.sif\", \"p\"]") !=
              std::string::npos);
    }
}

TEST_CASE("one program of the host becomes a serial launch") {
    struct Row {
        const char* script;
        const char* yaml; ///< a part of the Job
    };
    constexpr std::array kRows{
        Row{"#!/bin/bash\n#SBATCH -n 1\npython x.py 3\n",
            "command: [\"python\", \"x.py\", \"3\"]\nlaunch: {kind: serial, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH -c 4\nnextflow run x\n", "{kind: serial, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH -c 4\nexport OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK\n./x\n",
            "launch: {kind: serial, threads: 4}\n"},
        Row{"#!/bin/bash\n#SBATCH -a 0-3\npython x.py --row=$SLURM_ARRAY_TASK_ID\n",
            "command: [\"python\", \"x.py\", \"--row=@{index}\"]\n"},
        Row{"#!/bin/bash\n#SBATCH -a 0-3\npython x.py\n", "stdout: \"slurm-%j_%a.out\"\n"},
        // What depends on the run, or comes after the program, stays in its shell.
        Row{"#!/bin/bash -l\n#SBATCH -n 1\n\ncd data\npython x.py \"$SCRATCH\" > log\necho $?\n",
            "launch: {kind: serial, threads: own}\nshell: [\"bash\", \"-l\"]\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n\ncd data\npython x.py \"$SCRATCH\" > log\necho $?\n",
            "shell: \"bash\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\ncd data\n# that is all\npython x.py $A\necho $?\n",
            "script: |\n  cd data\n  # that is all\n  python x.py $A\n  echo $?\n"},
        Row{"#!/bin/bash\n#SBATCH -c 2\nexport MKL_NUM_THREADS=$N\n./x\n", "threads: own}\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=1\n./x\n",
            "script: |\n  cd # as qsub starts a script\n  ./x\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=1\ncd $PBS_O_WORKDIR\n./x\n",
            "command: [\"./x\"]\nlaunch: {kind: serial, threads: own}\n"},
        Row{"#!/bin/bash -ex\n#SBATCH -n 1\n./x\n", "shell: [\"bash\", \"-ex\"]\n"},
        Row{"#!/bin/zsh\n#SBATCH -n 1\n./x\n",
            "launch: {kind: serial, threads: own}\nshell: \"/bin/zsh\"\n"},
        Row{"#!/bin/bash -i\n#SBATCH -n 1\n./x\n", "launch: batch\n"},
        Row{"#!/bin/bash -l\n#SBATCH -N 1 -n 2\nmodule load a\nsrun ./x\n",
            "  fi\n  module load a\n"},
        Row{"#!/bin/bash -e\n#SBATCH -N 1 -n 2\nmkdir a\nsrun ./x\n",
            "setup: |\n  set -e\n  mkdir a\n"},
        Row{"#!/bin/bash -x\n#SBATCH -N 1 -n 2\nsrun ./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x &> log\n", "script: |\n  ./x &> log\n"},
        Row{"#!/bin/sh\n#SBATCH -n 1\n./x &> log\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\nA=(a b)\n./x \"${A[@]}\"\n", "  A=(a b)\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n(./x)\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1 --export=ALL\n./x $A\n",
            "launch: {kind: serial, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1 --ntasks-per-node=1\n./x $A\n",
            "launch: {kind: serial, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH --gpus=a100:1 -c 2\n./x $A\n",
            "launch: {kind: serial, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH --gpus=a100:1\n./x $A\n", "exact: true"}, // DefCpuPerGPU counts
        Row{"#!/bin/bash\n#SBATCH --gpus=a100:2\n./x $A\n", "exact: true"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x & ./y\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x; ./y\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\n./x $A\n",
            "launch: {kind: serial, exact: true, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\ntime srun ./x $A\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\nnumactl -i all /opt/mpi/bin/mpirun ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\n$RUN ./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\napptainer exec i.sif mpirun.openmpi ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\nmpirun.actual -n 4 ./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\nsh -c 'srun ./x'\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\nenv srun ./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\npython x.py 'mpirun ./x' $A\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\npython x.py 'cd a; /opt/bin/srun ./x' $A\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\npython x.py 'cd a; ./x srun.log' $A\n",
            "launch: {kind: serial, exact: true, threads: own}\n"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=8:mem=4gb\n#PBS -j oe\n./x\n",
            "resources:\n  cpus-per-task: 8\n  memory-per-node: 4096 MiB\n  nodes: 1\n"},
        Row{"#!/bin/bash\n#PBS -l select=2:ncpus=8:mpiprocs=4:ngpus=2\n./x\n",
            "  cpus-per-task: 2\n  gpus-per-node: 2\n  nodes: 2\n  tasks-per-node: 4\n"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=8:mem=4gb:host=a\n#PBS -j oe\n./x\n",
            "exact: true"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=8:mem=4gb:host=a\n#PBS -j oe\n./x\n",
            "    - \"-l select=1:ncpus=8:mem=4gb:host=a\"\n    - \"-j oe\"\n"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=8:mem=500kb\n./x\n", "mem=500kb\"\n"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=8:mpiprocs=3\n./x\n", "mpiprocs=3\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n#SBATCH -N 1\n#SBATCH --ntasks-per-node=12\n./x $A\n",
            "exact: true"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n##SBATCH -p x\n./x $A\n",
            "script: |\n  ##SBATCH -p x\n  ./x $A\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x 2>&1 | tee log\n", "script: |\n  ./x 2>&1 | tee log\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x | ./y\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x $1\n", "shell: \"bash\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x $0\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n#SBATCH --output=a.%N\n./x $A\n", "- \"--output=a.%N\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n#SBATCH --export=NONE\n./x $A\n", "exact: true"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n#SBATCH --cpus-per-gpu=2\n./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=6\n./x\n", "cpus-per-task: 6\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\ntrap 'x' USR1\n./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\nf() { ./x; }\nf\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\nmpirun -np 4 ./x $A\n", "launch: batch\n"},
        // A script in a script: its threads are its own, and with several tasks it may start them.
        Row{"#!/bin/bash\n#SBATCH -c 4\nbash run.sh $A\n",
            "launch: {kind: serial, threads: own}\nshell: \"bash\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./run.sh $A\n", "script: |\n  ./run.sh $A\n"},
        Row{"#!/bin/bash\n#SBATCH -n 4\n./run.sh $A\n", "launch: batch\n"},
        // GPUs of the job may be those of several nodes; chunks of OpenPBS may share one.
        Row{"#!/bin/bash\n#SBATCH -G 8\n./x\n", "exact: true"},
        Row{"#!/bin/bash\n#SBATCH -G 1 -c 2\n./x\n", "command: [\"./x\"]\n"},
        Row{"#!/bin/bash\n#SBATCH -G 1\n./x\n", "exact: true"},
        Row{"#!/bin/bash\n#SBATCH -G 8 -N 1 -c 2\n./x\n", "command: [\"./x\"]\n"},
        Row{"#!/bin/bash\n#PBS -l select=2:ncpus=2:mpiprocs=2\ncd $PBS_O_WORKDIR\n"
            "mpirun -np 4 ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=2:mpiprocs=2\ncd $PBS_O_WORKDIR\n"
            "module load openmpi\nmpirun -np 2 ./x\n",
            "kind: mpi"},
        // The file of hosts is the one that a launch of ours names itself.
        Row{"#!/bin/bash\n#PBS -l nodes=2:ppn=2\n#PBS -p 100\ncd $PBS_O_WORKDIR\n"
            "module load openmpi\nmpirun -np 4 -machinefile \"$PBS_NODEFILE\" ./x\n",
            "command: [\"./x\"]\nlaunch: {kind: mpi, launcher: mpirun, threads: own}\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=2:ppn=2\n#PBS -p 100\ncd $PBS_O_WORKDIR\n"
            "mpirun -np 4 --hostfile ${PBS_NODEFILE} ./x\n",
            "    - \"-p 100\"\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=2:ppn=2\ncd $PBS_O_WORKDIR\n"
            "mpirun -np 4 ./x -hostfile $PBS_NODEFILE\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=2:ppn=2\ncd $PBS_O_WORKDIR\nPBS_NODEFILE=$(ls a)\n"
            "mpirun -np 4 -hostfile $PBS_NODEFILE ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=2:ppn=2\ncd $PBS_O_WORKDIR\n"
            "mpirun -np 4 -hostfile ${PBS_NODEFILE}.new ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -N 1 -n 4\nmpirun -np 4 -hostfile $PBS_NODEFILE ./x\n",
            "launch: batch\n"},
        // sbatch adds up mail types; OpenPBS takes the first of a resource, TORQUE the last.
        Row{"#!/bin/bash\n#SBATCH --mail-type=FAIL\n#SBATCH --mail-type=END,FAIL\n"
            "#SBATCH --mail-user=a@b.example\n./x\n",
            "on: [fail, end]}"},
        Row{"#!/bin/bash\n#SBATCH --mail-type=FAIL\n#SBATCH --mail-type=TIME_LIMIT\n./x\n",
            "    - \"--mail-type=FAIL\"\n    - \"--mail-type=TIME_LIMIT\"\n"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=1\n#PBS -l walltime=1:00:00\n"
            "#PBS -l walltime=2:00:00\n./x\n",
            "  time: 1 h\n"},
        Row{"#!/bin/bash\n#PBS -l walltime=1:00:00\n#PBS -l walltime=2:00:00\n./x\n",
            "  time: 2 h\n"},
        // A job without a name is named after its script, where that shows.
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=1\n./x\n", "job-name: \"s.sh\"\n"},
        Row{"#!/bin/bash\n#SBATCH -o %x.out\n./x\n", "job-name: \"s.sh\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\n./x &\n./y $SLURM_JOB_NAME\n", "job-name: \"s.sh\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x\n", "job-name: \"s.sh\"\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n#DW jobdw capacity=2GB\n./x\n", "launch: batch\n"},
        Row{"#!/bin/tcsh\n#SBATCH -n 1\n./x\n", "launch: batch\n"},
        // GPUs that no field has, and may be those of several nodes.
        Row{"#!/bin/bash\n#SBATCH --gpus=0\n./x\n", "launch: {kind: serial, exact: true"},
        Row{"#!/bin/bash\n#SBATCH --gpus=4\n#SBATCH --gpus-per-node=2\n./x\n",
            "launch: {kind: serial, exact: true"},
        // Numbers that the script reads, and leaves to the batch system.
        Row{"#!/bin/bash\n#SBATCH -c 2\n./x $SLURM_NTASKS\n", "exact: true"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x ${SLURM_CPUS_PER_TASK:-4}\n", "exact: true"},
        Row{"#!/bin/bash\n#PBS -q a\n./x\n", "exact: true"},
        // Outputs of a folder that may be missing are left to the batch system.
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=2\n#PBS -o d/a.o\n#PBS -j oe\n./x $A\n",
            "exact: true"},
        Row{"#!/bin/bash\n#PBS -l nodes=2:ppn=2\n#PBS -o d/a.o\n#PBS -e a.e\n"
            "cd $PBS_O_WORKDIR\nmpirun ./x\n",
            "launch: batch"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=2\n#PBS -o a.o\n#PBS -e a.e\n./x $A\n",
            "launch: {kind: serial, threads: own}"},
        Row{"#!/bin/bash\n#SBATCH -N 1 --exclusive\nsrun --ntasks-per-node=8 ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=2 --exclusive\nsrun ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=2 -c 4 --exclusive\nsrun ./x\n",
            "kind: mpi"},
        // What starts processes sets their threads itself.
        Row{"#!/bin/bash\n#SBATCH -c 16\ntorchrun --nproc_per_node=4 t.py\n", "threads: own"},
        // mpirun has the options of the MPI that is loaded.
        Row{"#!/bin/bash\n#SBATCH -N 1 -n 4\nmodule load mpich/4.1\nmpiexec -n 4 ./x\n",
            "launch: {kind: mpi, launcher: hydra"},
        Row{"#!/bin/bash\n#SBATCH -N 1 -n 4\nmodule load openmpi/1.6\nmpirun -n 4 ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -N 1 -n 4\nmodule load openmpi impi\nmpirun -n 4 ./x\n",
            "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -N 1 -n 4\nmpirun -n 4 ./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -N 1 -n 4\nmpirun -n 4 apptainer exec i.sif x\n", "kind: mpi"},
        Row{"#!/bin/bash\n#SBATCH -N 1 -n 4\nml mpich\nmpirun -n 4 apptainer exec i.sif x\n",
            "command: [\"apptainer\", \"exec\", \"i.sif\", \"x\"]\n"},
        // A program of the host, in the shell that read the set-up; a container would not see it.
        Row{"#!/bin/bash\n#SBATCH -n 1\nconda activate a\nsource b\npython x.py 3\n",
            "command: [\"python\", \"x.py\", \"3\"]\nlaunch: {kind: serial, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\nsource b\nfunction_of_b 3\n", "script: |\n  source b\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\nsource b\napptainer exec i.sif x\n", "script: |\n"},
        Row{"#!/bin/bash\n#SBATCH -n 8\nml a/1\npython x.py\n",
            "command: [\"python\", \"x.py\"]\nlaunch: {kind: serial, exact: true, threads: own}\n"},
        Row{"#!/bin/bash\n#SBATCH --gpus=2\npython x.py\n",
            "command: [\"python\", \"x.py\"]\nlaunch: {kind: serial, exact: true, threads: own}\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=8\ncd $PBS_O_WORKDIR\n. b\npython x.py\n",
            "command: [\"python\", \"x.py\"]\nlaunch: {kind: serial, threads: own}\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=8\ncd $PBS_O_WORKDIR\n. b\npython x.py\n",
            "  cpus-per-task: 8\n"},
        Row{"#!/bin/bash\n#SBATCH -n 8 --signal=B:INT@60\n. b\npython x.py\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 8\n./run.sh\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 8\nenv srun ./x\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 2\napptainer exec i.sif x\n", "script: |\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1 --gres=gpu:\npython x.py\n", "--gres=gpu:"},
        // Where the script starts.
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=1\n#PBS -d /s/me\n./x $A\n",
            "workdir: \"/s/me\"\nscript: |\n  ./x $A\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=1,wd\n./x $A\n", "script: |\n  ./x $A\n"},
        Row{"#!/bin/bash\n#PBS -l select=1:ncpus=1\n#PBS -W sandbox=PRIVATE\n./x $A\n",
            "setup: cd \"$PBS_JOBDIR\""},
        Row{"#!/bin/bash\n#SBATCH -n 1 -D /s/me\ncd $SLURM_SUBMIT_DIR\n./x\n",
            "script: |\n  cd $SLURM_SUBMIT_DIR\n  ./x\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1\n./x $name\n", "kind: serial"},
        Row{"#!/bin/bash\n#SBATCH -n 1\nname=a\n./x $name $A\n", "kind: serial"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=1\n#PBS -v A=b,name=c\n./x\n", "kind: serial"},
        // A signal that is not passed on, and text before a comment.
        Row{"#!/bin/bash\n#SBATCH -n 1 -t 10 --signal=B:INT@60\n./x $A\n", "launch: batch\n"},
        Row{"#!/bin/bash\n#SBATCH -n 1 -p gpu# x\n./x\n", "queue: \"gpu\"\n"},
        Row{"#!/bin/bash\n#PBS -l nodes=1:ppn=1\n#PBS -W x=\\\"A:B\\\"\n./x\n",
            "-W x='\\\"A:B\\\"'"},
        Row{"#!/bin/bash\n#SBATCH -n 1 -d singleton\n./x\n", "job-name: \"s.sh\"\n"}};
    for (const Row& row : kRows) {
        CAPTURE(row.script);
        const auto explanation = explain_script(row.script, "s.sh");
        const auto conversion = convert_script(*explanation, "s");
        REQUIRE(conversion.has_value());
        CHECK_MESSAGE(conversion->yaml.find(row.yaml) != std::string::npos, conversion->yaml);
    }
}

} // namespace cybele::schedulers
