#!/opt/venv/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""train TABLE [--rows N] [--model DIR]: several models of the yield in Spark; the best by its error on rows held back.

Without TABLE one is made. Under spark-submit the master is the one that is given there, else `local` with as many threads as
OMP_NUM_THREADS says. Last line: best=… rmse=… train=… test=… cores=…"""
import argparse
import os
import pathlib
import tempfile
import time

from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import (DecisionTreeRegressor, GBTRegressor, LinearRegression,
                                   RandomForestRegressor)
from pyspark.sql import SparkSession, functions

import soybean_table

NOT_FEATURES = {"year", "row", "column", "station", "yield", "revenue", "price"}
MODELS = {
    "linear": lambda: LinearRegression(labelCol="yield", maxIter=50, regParam=0.001),
    "tree": lambda: DecisionTreeRegressor(labelCol="yield", maxDepth=6, seed=1),
    "boosted": lambda: GBTRegressor(labelCol="yield", maxIter=10, maxDepth=4, seed=1),
    "forest": lambda: RandomForestRegressor(labelCol="yield", numTrees=10, maxDepth=6, seed=1),
}


def session():
    builder = SparkSession.builder.appName("soybean-train")
    if "SPARK_ENV_LOADED" not in os.environ and "PYSPARK_GATEWAY_PORT" not in os.environ:
        threads = os.environ.get("OMP_NUM_THREADS", "1").split(",")[0]
        builder = (builder.master(f"local[{threads}]").config("spark.driver.bindAddress", "127.0.0.1")
                   .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g"))
    spark = (builder.config("spark.ui.enabled", "false")
             .config("spark.ui.showConsoleProgress", "false")
             .config("spark.sql.shuffle.partitions", "4").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def load(spark, table):
    """Rows without gaps as vectors of features, in a fixed number of parts and a fixed order: what a tree
    learns depends on both, and must not on the number of cores."""
    frame = spark.read.csv(table.absolute().as_uri(), header=True, inferSchema=True).dropna()
    features = [name for name in frame.columns if name not in NOT_FEATURES]
    key = functions.xxhash64(*features)
    frame = VectorAssembler(inputCols=features, outputCol="features").transform(frame.withColumn("key", key))
    frame = frame.select("key", "features", "yield")
    frame = frame.repartition(2, "key").sortWithinPartitions("key").cache()
    kept = functions.abs(functions.col("key")) % 10 < 8
    return frame.where(kept), frame.where(~kept)


def train(spark, table, model_folder):
    rows, held_back = load(spark, table)
    counts = rows.count(), held_back.count()
    evaluator = RegressionEvaluator(labelCol="yield", metricName="rmse")
    errors, models = {}, {}
    for name, make in MODELS.items():
        begin = time.monotonic()
        models[name] = make().fit(rows)
        errors[name] = evaluator.evaluate(models[name].transform(held_back))
        print(f"{name}: rmse {errors[name]:.6f}, {time.monotonic() - begin:.1f} s", flush=True)
    best = min(errors, key=errors.get)
    if model_folder:
        models[best].write().overwrite().save(model_folder.absolute().as_uri())
    print(f"best={best} rmse={errors[best]:.6f} train={counts[0]} test={counts[1]} "
          f"cores={spark.sparkContext.defaultParallelism}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=pathlib.Path, nargs="?")
    parser.add_argument("--rows", type=int, default=10800, help="of the table that is made")
    parser.add_argument("--model", type=pathlib.Path, help="keep the best model there")
    options = parser.parse_args()
    spark = session()
    with tempfile.TemporaryDirectory(dir=os.environ.get("SPARK_LOCAL_DIRS")) as place:
        table = options.table
        if table is None:
            table = pathlib.Path(place) / "tiles.csv"
            soybean_table.make(options.rows).to_csv(table, index=False, float_format="%.6f")
        train(spark, table, options.model)
    spark.stop()


if __name__ == "__main__":
    main()
