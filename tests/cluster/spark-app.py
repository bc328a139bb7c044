# SPDX-License-Identifier: Apache-2.0
# app.py CODE [SECONDS]: says on which hosts its tasks ran and whether the job's secret can be seen in a
# list of processes; ends with CODE, after tasks of SECONDS.
import glob
import socket
import sys
import time

from pyspark.sql import SparkSession

session = SparkSession.builder.appName("app").getOrCreate()
context = session.sparkContext
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.2


def where(number):
    time.sleep(seconds)
    return socket.gethostname(), number


pairs = context.parallelize(range(8), 8).map(where).collect()
print("numbers", sorted(number for _, number in pairs))
print("hosts", *sorted({host for host, _ in pairs}))
secret = context.getConf().get("spark.authenticate.secret")
lines = []
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        with open(path, "rb") as file:
            lines.append(file.read().decode(errors="replace"))
    except OSError:
        pass
print("secret of", len(secret), "digits", "seen" if any(secret in line for line in lines) else "unseen")
sys.stdout.flush()
session.stop()
sys.exit(int(sys.argv[1]))
