# SPDX-License-Identifier: Apache-2.0
"""soybean_table FILE [ROWS]: a made-up table of tiles with 40 features and the yield, a value missing here and there.

Its shape is that of soybean-preprocess's table, which train takes as well."""
import sys

import numpy
import pandas

BANDS = ("B01", "B02", "B03", "B04", "B05", "B06", "B07", "B08", "B8A", "B09", "B11", "B12", "ndvi")
FEATURES = [f"s{scene}_{band}" for scene in (1, 2, 3) for band in BANDS] + ["rain"]


def make(rows):
    generator = numpy.random.default_rng(7)
    fertility = generator.uniform(0, 1, rows)
    columns = {"year": 2017 + numpy.arange(rows) % 3}
    for number, name in enumerate(FEATURES):
        slope = numpy.cos(number) * 0.3
        columns[name] = 0.2 + slope * fertility + generator.normal(0, 0.05, rows)
    rain = columns["rain"] = 300 + 120 * generator.uniform(0, 1, rows)
    step = (fertility > 0.6) * (rain > 350)
    columns["yield"] = 1.5 + 2 * fertility + 0.9 * step + generator.normal(0, 0.3, rows)
    table = pandas.DataFrame(columns)
    table.loc[generator.uniform(0, 1, rows) < 0.01, "s2_B08"] = numpy.nan
    return table


if __name__ == "__main__":
    make(int(sys.argv[2]) if len(sys.argv) > 2 else 10800).to_csv(sys.argv[1], index=False, float_format="%.6f")
