"""Handwritten digits with Spark: a random forest that the executors grow together."""

import os

from pyspark.ml.classification import RandomForestClassifier
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession
from sklearn.datasets import load_digits

TREES = int(os.environ.get("TREES", "40"))


def where(rows):
    """Runs in an executor: which one, and how many rows it was given."""
    yield os.environ["PADDLE_SPARK_HOST"], sum(1 for _ in rows)


def main():
    spark = SparkSession.builder.appName("digits").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    images, labels = load_digits(return_X_y=True)
    rows = [(float(label), Vectors.dense(image)) for image, label in zip(images, labels)]
    digits = spark.createDataFrame(rows, ["label", "features"]).repartition(8).cache()
    shares = digits.rdd.mapPartitions(where).reduceByKey(lambda one, other: one + other).collect()
    for host, count in sorted(shares):
        print(f"{host}: {count} digits", flush=True)

    train, test = digits.randomSplit([0.8, 0.2], seed=1)
    model = RandomForestClassifier(numTrees=TREES, maxDepth=8, seed=1).fit(train)
    accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(model.transform(test))
    print(f"{model.getNumTrees} trees over {train.count()} digits", flush=True)
    print(f"final test accuracy {accuracy:.4f} over {test.count()} digits", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
