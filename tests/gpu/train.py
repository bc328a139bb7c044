# SPDX-License-Identifier: Apache-2.0
"""train.py [SECONDS]: a small network learns on the GPU that this process is given, for at least SECONDS.

Its gradients are summed over all processes by NCCL. Last line:
rank R of N on DEVICE of VISIBLE: loss A -> B threads=T"""
import os
import sys
import time

import torch
import torch.distributed as distributed
from torch import nn

distributed.init_process_group("nccl")
rank, world = distributed.get_rank(), distributed.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(5)
network = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1)).cuda()
network = nn.parallel.DistributedDataParallel(network)
optimizer = torch.optim.Adam(network.parameters(), 1e-2)
pictures = torch.rand(64, 1, 64, 64, device="cuda")
wanted = (pictures > 0.5).float()
losses = []
begin = time.monotonic()
while len(losses) < 50 or time.monotonic() - begin < float(sys.argv[1] if len(sys.argv) > 1 else 0):
    loss = nn.functional.binary_cross_entropy_with_logits(network(pictures), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"rank {rank} of {world} on {torch.cuda.get_device_name()} of {os.environ.get('CUDA_VISIBLE_DEVICES')}: "
      f"loss {losses[0]:.3f} -> {losses[-1]:.3f} threads={os.environ['OMP_NUM_THREADS']}", flush=True)
assert losses[-1] < losses[0] / 2
distributed.destroy_process_group()
