# SPDX-License-Identifier: Apache-2.0
# app.py [kill|wait]: an all-reduce of ones over all processes; with `kill` rank 1 ends by KILL before it.
import os
import signal
import sys
import time

import torch
import torch.distributed as distributed

distributed.init_process_group("gloo")
rank = distributed.get_rank()
if "kill" in sys.argv and rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
ones = torch.ones(1)
distributed.all_reduce(ones)
print(
    f"rank {rank} of {distributed.get_world_size()} on {os.uname().nodename} sum {int(ones.item())}"
    f" threads {os.environ['OMP_NUM_THREADS']} {torch.get_num_threads()} port {os.environ['MASTER_PORT']}",
    flush=True,
)
if "wait" in sys.argv:
    time.sleep(15)
distributed.destroy_process_group()
