# SPDX-License-Identifier: Apache-2.0
"""wheat_data DIR [COUNT]: made-up pictures of wheat (RGB, PNG), their masks, and ears.csv with the true counts.

Each picture has a seed of its own: bright ellipses that do not touch, over a darker, noisy ground."""
import csv
import pathlib
import sys

import numpy
from PIL import Image

SIZE = 96
MOST_EARS = 8


def picture(number):
    """The picture, its mask and the number of its ears."""
    generator = numpy.random.default_rng([11, number])
    y, x = numpy.mgrid[0:SIZE, 0:SIZE]
    mask = numpy.zeros((SIZE, SIZE), bool)
    taken = numpy.zeros_like(mask)
    ears = 0
    for _ in range(int(generator.integers(1, MOST_EARS + 1))):
        cx, cy = generator.uniform(12, SIZE - 12, 2)
        long, wide, angle = generator.uniform(7, 11), generator.uniform(3, 5), generator.uniform(0, numpy.pi)
        u = (x - cx) * numpy.cos(angle) + (y - cy) * numpy.sin(angle)
        v = (y - cy) * numpy.cos(angle) - (x - cx) * numpy.sin(angle)
        around = (u / (long + 4)) ** 2 + (v / (wide + 4)) ** 2 < 1
        if (around & taken).any():
            continue
        mask |= (u / long) ** 2 + (v / wide) ** 2 < 1
        taken |= around
        ears += 1
    shade = generator.uniform(0.15, 0.35) + 0.1 * numpy.sin(x / 9 + generator.uniform(0, 6))
    colours = numpy.stack([shade * 0.8, shade, shade * 0.5], axis=-1)
    colours[mask] += generator.uniform(0.3, 0.5) * numpy.array([1.0, 0.85, 0.4])
    colours += generator.normal(0, 0.06, colours.shape)
    return (numpy.clip(colours, 0, 1) * 255).astype(numpy.uint8), mask, ears


def write(folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "ears.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["picture", "ears"])
        for number in range(count):
            colours, mask, ears = picture(number)
            Image.fromarray(colours).save(folder / f"{number:03}.png")
            Image.fromarray(mask.astype(numpy.uint8)).save(folder / f"{number:03}_mask.png")
            rows.writerow([f"{number:03}", ears])


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 138)
