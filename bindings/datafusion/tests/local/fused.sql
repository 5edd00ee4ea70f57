-- The planner computes calls with numbers.
CREATE FUNCTION third(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def third(x) x / 3';

EXPLAIN SELECT third(12) + 1 AS five;
--> +---------------+----------------------------------+
--> | plan_type     | plan                             |
--> +---------------+----------------------------------+
--> | logical_plan  | Projection: Float64(5) AS five   |
--> |               |   EmptyRelation: rows=1          |
--> | physical_plan | ProjectionExec: expr=[5 as five] |
--> |               |   PlaceholderRowExec             |
--> |               |                                  |
--> +---------------+----------------------------------+

-- Arithmetic around calls is one function; the same without.
CREATE FUNCTION payment(sum DOUBLE, rate DOUBLE, n DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def payment(sum rate n) if rate == 0 then sum / n else sum * rate / (1 - (1 + rate) ^ -n)';

CREATE FUNCTION half(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def half(x) x / 2';

CREATE TABLE loans AS VALUES (1000.0, 0.12, 1.0, 1), (250.5, 0.0, NULL, 2), (8000.0, 0.03, 10.0, 3);

EXPLAIN SELECT payment(column1, column2 / 12, 12 * column3) * 2 - half(column1) AS twice FROM loans;
--> +---------------+--------------------------------------------------------------------------------------------------------------------------------------------+
--> | plan_type     | plan                                                                                                                                       |
--> +---------------+--------------------------------------------------------------------------------------------------------------------------------------------+
--> | logical_plan  | Projection: payment(loans.column1, loans.column2 / Float64(12), Float64(12) * loans.column3) * Float64(2) - half(loans.column1) AS twice   |
--> |               |   TableScan: loans projection=[column1, column2, column3]                                                                                  |
--> | physical_plan | ProjectionExec: expr=[fused[(payment(column1, column2 / 12, 12 * column3) * 2) - half(column1)](column1@0, column2@1, column3@2) as twice] |
--> |               |   DataSourceExec: partitions=1, partition_sizes=[1]                                                                                        |
--> |               |                                                                                                                                            |
--> +---------------+--------------------------------------------------------------------------------------------------------------------------------------------+

SELECT payment(column1, column2 / 12, 12 * column3) * 2 - half(column1) AS twice FROM loans ORDER BY column4;
--> +--------------------+
--> | twice              |
--> +--------------------+
--> | -322.3024226433168 |
--> |                    |
--> | -3845.502808482574 |
--> +--------------------+

EXPLAIN SELECT sum(half(column1) + half(column2) * -1.5) AS total FROM loans WHERE half(column1) % 7 < 4;
--> +---------------+------------------------------------------------------------------------------------------------------------------+
--> | plan_type     | plan                                                                                                             |
--> +---------------+------------------------------------------------------------------------------------------------------------------+
--> | logical_plan  | Projection: sum(half(loans.column1) + half(loans.column2) * Float64(-1.5)) AS total                              |
--> |               |   Aggregate: groupBy=[[]], aggr=[[sum(half(loans.column1) + half(loans.column2) * Float64(-1.5))]]               |
--> |               |     Filter: half(loans.column1) % Float64(7) < Float64(4)                                                        |
--> |               |       TableScan: loans projection=[column1, column2]                                                             |
--> | physical_plan | ProjectionExec: expr=[sum(half(loans.column1) + half(loans.column2) * Float64(-1.5))@0 as total]                 |
--> |               |   AggregateExec: mode=Final, gby=[], aggr=[sum(half(loans.column1) + half(loans.column2) * Float64(-1.5))]       |
--> |               |     CoalescePartitionsExec                                                                                       |
--> |               |       AggregateExec: mode=Partial, gby=[], aggr=[sum(half(loans.column1) + half(loans.column2) * Float64(-1.5))] |
--> |               |         RepartitionExec: partitioning=RoundRobinBatch(2), input_partitions=1                                     |
--> |               |           FilterExec: fused[half(column1) % 7](column1@0) < 4                                                    |
--> |               |             DataSourceExec: partitions=1, partition_sizes=[1]                                                    |
--> |               |                                                                                                                  |
--> +---------------+------------------------------------------------------------------------------------------------------------------+

SELECT sum(half(column1) + half(column2) * -1.5) AS total FROM loans WHERE half(column1) % 7 < 4;
--> +-----------+
--> | total     |
--> +-----------+
--> | 4499.8875 |
--> +-----------+

-- What is not arithmetic goes in as a column: once, if it is the same.
EXPLAIN SELECT half(abs(column1)) / abs(column1) + CASE WHEN column4 > 1 THEN half(column2) - 1 END AS x FROM loans;
--> +---------------+-------------------------------------------------------------------------------------------------------------------------------------------------------------------------+
--> | plan_type     | plan                                                                                                                                                                    |
--> +---------------+-------------------------------------------------------------------------------------------------------------------------------------------------------------------------+
--> | logical_plan  | Projection: half(__common_expr_1) / __common_expr_1 + CASE WHEN loans.column4 > Int64(1) THEN half(loans.column2) - Float64(1) END AS x                                 |
--> |               |   Projection: abs(loans.column1) AS __common_expr_1, loans.column2, loans.column4                                                                                       |
--> |               |     TableScan: loans projection=[column1, column2, column4]                                                                                                             |
--> | physical_plan | ProjectionExec: expr=[fused[(half(__common_expr_1) / __common_expr_1) + x2](abs(column1@0), CASE WHEN column4@2 > 1 THEN fused[half(column2) - 1](column2@1) END) as x] |
--> |               |   DataSourceExec: partitions=1, partition_sizes=[1]                                                                                                                     |
--> |               |                                                                                                                                                                         |
--> +---------------+-------------------------------------------------------------------------------------------------------------------------------------------------------------------------+

SELECT half(abs(column1)) / abs(column1) + CASE WHEN column4 > 1 THEN half(column2) - 1 END AS x FROM loans ORDER BY column4;
--> +--------+
--> | x      |
--> +--------+
--> |        |
--> | -0.5   |
--> | -0.485 |
--> +--------+

-- One call by itself stays as it is.
EXPLAIN SELECT half(column1) AS half FROM loans;
--> +---------------+-----------------------------------------------------+
--> | plan_type     | plan                                                |
--> +---------------+-----------------------------------------------------+
--> | logical_plan  | Projection: half(loans.column1) AS half             |
--> |               |   TableScan: loans projection=[column1]             |
--> | physical_plan | ProjectionExec: expr=[half(column1@0) as half]      |
--> |               |   DataSourceExec: partitions=1, partition_sizes=[1] |
--> |               |                                                     |
--> +---------------+-----------------------------------------------------+

-- A program that gives an operator another meaning is not fused.
CREATE FUNCTION odd(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def binary - 20 (a b) b def odd(x) x - 1';

EXPLAIN SELECT odd(column1) - 5 AS odd FROM loans;
--> +---------------+-----------------------------------------------------+
--> | plan_type     | plan                                                |
--> +---------------+-----------------------------------------------------+
--> | logical_plan  | Projection: odd(loans.column1) - Float64(5) AS odd  |
--> |               |   TableScan: loans projection=[column1]             |
--> | physical_plan | ProjectionExec: expr=[odd(column1@0) - 5 as odd]    |
--> |               |   DataSourceExec: partitions=1, partition_sizes=[1] |
--> |               |                                                     |
--> +---------------+-----------------------------------------------------+

SET kal.fuse = false;

EXPLAIN SELECT payment(column1, column2 / 12, 12 * column3) * 2 - half(column1) AS twice FROM loans;
--> +---------------+------------------------------------------------------------------------------------------------------------------------------------------+
--> | plan_type     | plan                                                                                                                                     |
--> +---------------+------------------------------------------------------------------------------------------------------------------------------------------+
--> | logical_plan  | Projection: payment(loans.column1, loans.column2 / Float64(12), Float64(12) * loans.column3) * Float64(2) - half(loans.column1) AS twice |
--> |               |   TableScan: loans projection=[column1, column2, column3]                                                                                |
--> | physical_plan | ProjectionExec: expr=[payment(column1@0, column2@1 / 12, 12 * column3@2) * 2 - half(column1@0) as twice]                                 |
--> |               |   DataSourceExec: partitions=1, partition_sizes=[1]                                                                                      |
--> |               |                                                                                                                                          |
--> +---------------+------------------------------------------------------------------------------------------------------------------------------------------+

SELECT payment(column1, column2 / 12, 12 * column3) * 2 - half(column1) AS twice FROM loans ORDER BY column4;
--> +--------------------+
--> | twice              |
--> +--------------------+
--> | -322.3024226433168 |
--> |                    |
--> | -3845.502808482574 |
--> +--------------------+

SELECT sum(half(column1) + half(column2) * -1.5) AS total FROM loans WHERE half(column1) % 7 < 4;
--> +-----------+
--> | total     |
--> +-----------+
--> | 4499.8875 |
--> +-----------+

SELECT half(abs(column1)) / abs(column1) + CASE WHEN column4 > 1 THEN half(column2) - 1 END AS x FROM loans ORDER BY column4;
--> +--------+
--> | x      |
--> +--------+
--> |        |
--> | -0.5   |
--> | -0.485 |
--> +--------+
