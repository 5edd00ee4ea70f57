-- What a function may take, and what becomes of rows in which it fails.
CREATE FUNCTION deep(n DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def deep(n) if n < 1 then 0 else 1 + deep(n - 1)';

SELECT n, deep(n) AS deep FROM (VALUES (1), (1000)) AS t (n) ORDER BY n;
--> +------+--------+
--> | n    | deep   |
--> +------+--------+
--> | 1    | 1.0    |
--> | 1000 | 1000.0 |
--> +------+--------+

SELECT deep(n) AS deep FROM (VALUES (1), (1e9), (2), (1e10)) AS t (n);
--> Execution error: `deep` fails for n = 1000000000: error[E0303]: stack overflow

SET kal.on_error = 'null';

SELECT n, deep(n) AS deep FROM (VALUES (1), (1e9), (NULL), (2), (1e10)) AS t (n) ORDER BY n;
--> +---------------+------+
--> | n             | deep |
--> +---------------+------+
--> | 1.0           | 1.0  |
--> | 2.0           | 2.0  |
--> | 1000000000.0  |      |
--> | 10000000000.0 |      |
--> |               |      |
--> +---------------+------+

SET kal.on_error = 'fail';

-- Loops without end, wide and row by row; also where the planner computes.
CREATE FUNCTION forever(n DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def forever(n) for i = 0, i < n in i';

SET kal.timeout_ms = 30;

SELECT forever(n) AS never FROM (VALUES (1), ('inf'::DOUBLE)) AS t (n);
--> Execution error: `forever` fails for n = inf: error[E0305]: the run took longer than allowed (kal.timeout_ms is 30)

SELECT forever('inf'::DOUBLE) AS never;
--> Execution error: `forever` fails for n = inf: error[E0305]: the run took longer than allowed (kal.timeout_ms is 30)

SET kal.on_error = 'null';

SELECT forever(n) AS never FROM (VALUES ('inf'::DOUBLE)) AS t (n);
--> Execution error: `forever` fails for n = inf: error[E0305]: the run took longer than allowed (kal.timeout_ms is 30)

SELECT forever(n) AS done FROM (VALUES (1000)) AS t (n);
--> +------+
--> | done |
--> +------+
--> | 0.0  |
--> +------+

SET kal.timeout_ms = 'soon';
--> Invalid or Unsupported Configuration: `kal.timeout_ms` is a number of milliseconds, 0 for no limit, not `soon`

SET kal.on_error = 'ignore';
--> Invalid or Unsupported Configuration: `kal.on_error` is 'fail' or 'null', not `ignore`

SET kal.limit = 1;
--> Invalid or Unsupported Configuration: there is no setting `kal.limit`, only kal.timeout_ms, kal.on_error, kal.fuse

SHOW kal.timeout_ms;
--> +----------------+-------+
--> | name           | value |
--> +----------------+-------+
--> | kal.timeout_ms | 30    |
--> +----------------+-------+
