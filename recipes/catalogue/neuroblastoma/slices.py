# SPDX-License-Identifier: Apache-2.0
"""slices FILE [COUNT]: made-up slices of scans with one bright blob each, and the masks of the blobs (a .npz file)."""
import sys

import numpy

SIZE = 64


def make(count):
    y, x = numpy.mgrid[0:SIZE, 0:SIZE]
    images = numpy.zeros((count, SIZE, SIZE, 1), numpy.float32)
    masks = numpy.zeros_like(images)
    for number in range(count):
        generator = numpy.random.default_rng([13, number])
        cx, cy = generator.uniform(18, SIZE - 18, 2)
        radius = generator.uniform(6, 12)
        angle = numpy.arctan2(y - cy, x - cx)
        edge = radius * (1 + 0.2 * numpy.sin(3 * angle + generator.uniform(0, 6)))
        inside = numpy.hypot(x - cx, y - cy) < edge
        tissue = 0.3 + 0.1 * numpy.sin(x / 11 + generator.uniform(0, 6)) * numpy.cos(y / 13)
        images[number, ..., 0] = tissue + 0.35 * inside + generator.normal(0, 0.08, inside.shape)
        masks[number, ..., 0] = inside
    return images, masks


if __name__ == "__main__":
    made = make(int(sys.argv[2]) if len(sys.argv) > 2 else 80)
    numpy.savez_compressed(sys.argv[1], images=made[0], masks=made[1])
