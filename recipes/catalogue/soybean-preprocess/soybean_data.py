# SPDX-License-Identifier: Apache-2.0
"""Made-up data of soybean fields: each item from a seed of its own, so that any rank may make it."""
import numpy
import pandas
from osgeo import gdal, osr

gdal.UseExceptions()

YEARS = (2017, 2018, 2019)
SCENES = (1, 2, 3)
# Band of a scene and its resolution in metres.
BANDS = {"B01": 60, "B02": 10, "B03": 10, "B04": 10, "B05": 20, "B06": 20,
         "B07": 20, "B08": 10, "B8A": 20, "B09": 60, "B11": 20, "B12": 20}
WEST, NORTH, PIXEL = 500000.0, 5000000.0, 10.0
STATIONS = {"north": (0.25, 0.2), "south": (0.7, 0.85), "west": (0.1, 0.6), "east": (0.9, 0.4)}
SEASON = (4, 5, 6, 7, 8, 9)


def random(*what):
    """Numbers that depend on what they are for, and on nothing else."""
    return numpy.random.default_rng([int(number) for number in what])


def surface(x, y, *what):
    """A smooth surface between 0 and 1 over the unit square."""
    generator = random(1, *what)
    total = numpy.zeros_like(x)
    for _ in range(4):
        u, v, phase = generator.uniform(1, 7, 3)
        total += numpy.cos(u * x + v * y + phase)
    return 0.5 + total / 8


def fertility(x, y, year):
    return 0.7 * surface(x, y, 0) + 0.3 * surface(x, y, year)


def scene_file(data, year, scene, band):
    return data / f"{year}-{scene}-{band}.tif"


def write_scene(data, year, scene, size):
    """The bands of a scene of size × size pixels of 10 m, each at its own resolution."""
    place = osr.SpatialReference()
    place.ImportFromEPSG(32633)
    for number, (band, resolution) in enumerate(BANDS.items()):
        count = max(size * int(PIXEL) // resolution, 1)
        axis = (numpy.arange(count) + 0.5) / count
        x, y = numpy.meshgrid(axis, axis)
        green = fertility(x, y, year) * (0.5 + 0.2 * scene)
        level = 0.08 + 0.35 * green if band in ("B07", "B08", "B8A") else 0.25 - 0.15 * green
        level = level + 0.02 * surface(x, y, year, scene, number)
        level += random(2, year, scene, number).normal(0, 0.004, level.shape)
        values = numpy.clip(level * 10000, 1, 10000).astype(numpy.int16)
        raster = gdal.GetDriverByName("GTiff").Create(
            str(scene_file(data, year, scene, band)), count, count, 1, gdal.GDT_Int16)
        raster.SetGeoTransform((WEST, resolution, 0, NORTH, 0, -resolution))
        raster.SetProjection(place.ExportToWkt())
        raster.GetRasterBand(1).WriteArray(values)
        raster = None  # closes the file


def points_file(data, year):
    return data / f"yield-{year}.csv"


def write_points(data, year, size):
    """What a harvester saw: noisy, 2 % without a value, 1 % far off."""
    count = max(size * size // 8, 200)
    generator = random(3, year)
    x, y = generator.uniform(0, 1, (2, count))
    yields = 1.8 + 2.4 * fertility(x, y, year) + generator.normal(0, 0.15, count)
    what = generator.uniform(0, 1, count)
    yields[what < 0.02] = numpy.nan
    yields[what > 0.99] *= 3
    metres = size * PIXEL
    pandas.DataFrame({"x": WEST + x * metres, "y": NORTH - y * metres, "yield": yields}).to_csv(
        points_file(data, year), index=False, float_format="%.4f")


def write_tables(data, size):
    """Weather of the stations (a work book with a sheet a year) and prices by month."""
    metres = size * PIXEL
    with pandas.ExcelWriter(data / "stations.xlsx", engine="openpyxl") as book:
        for year in YEARS:
            rows = []
            for number, (station, (x, y)) in enumerate(STATIONS.items()):
                generator = random(4, year, number)
                for month in SEASON:
                    rows.append((station, WEST + x * metres, NORTH - y * metres, month,
                                 round(generator.gamma(4, 15), 1), round(generator.normal(19, 2), 2)))
            pandas.DataFrame(rows, columns=["station", "x", "y", "month", "rain", "temperature"]).to_excel(
                book, sheet_name=str(year), index=False)
    rows = [(year, month, round(360 + 20 * random(5, year, month).normal(), 2)) for year in YEARS for month in SEASON]
    pandas.DataFrame(rows, columns=["year", "month", "price"]).to_csv(data / "prices.csv", index=False)
