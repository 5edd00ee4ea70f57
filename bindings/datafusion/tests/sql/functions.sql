-- Functions, and all that may go into them.
CREATE FUNCTION payment(sum DOUBLE, rate DOUBLE, n DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def payment(sum rate n) if rate == 0 then sum / n else sum * rate / (1 - (1 + rate) ^ -n)';

-- Columns, numbers that are the same in every row, and integers, which are converted.
SELECT id, payment(amount, rate / 12, 12 * years) AS monthly
FROM (VALUES (1, 1000.0, 0.12, 1), (2, 250.5, 0.0, 2), (3, 8000, 0.03, 10)) AS loans (id, amount, rate, years)
ORDER BY id;
--> +----+-------------------+
--> | id | monthly           |
--> +----+-------------------+
--> | 1  | 88.8487886783416  |
--> | 2  | 10.4375           |
--> | 3  | 77.24859575871304 |
--> +----+-------------------+

SELECT payment(CAST(amount AS REAL), 0.01, 12) AS monthly FROM (VALUES (1000.0)) AS t (amount);
--> +------------------+
--> | monthly          |
--> +------------------+
--> | 88.8487886783416 |
--> +------------------+

-- Only numbers.
SELECT payment(1200, 0, 12) AS monthly;
--> +---------+
--> | monthly |
--> +---------+
--> | 100.0   |
--> +---------+

-- NULL in, NULL out, in every column; NaN is a value.
SELECT id, payment(a, b, c) AS monthly
FROM (VALUES (1, 1000, 0, 10), (2, NULL, 0, 10), (3, 1000, NULL, 10), (4, 1000, 0, NULL)) AS t (id, a, b, c)
ORDER BY id;
--> +----+---------+
--> | id | monthly |
--> +----+---------+
--> | 1  | 100.0   |
--> | 2  |         |
--> | 3  |         |
--> | 4  |         |
--> +----+---------+

SELECT payment(NULL, 0, 10) AS monthly;
--> +---------+
--> | monthly |
--> +---------+
--> |         |
--> +---------+

SELECT payment('NaN'::DOUBLE, x, 10) AS monthly FROM (VALUES (0)) AS t (x);
--> +---------+
--> | monthly |
--> +---------+
--> | NaN     |
--> +---------+

-- Parameters by name.
SELECT payment(n => 10, sum => 1000, rate => 0) AS monthly;
--> +---------+
--> | monthly |
--> +---------+
--> | 100.0   |
--> +---------+

-- No parameters; and no rows.
CREATE FUNCTION answer() RETURNS DOUBLE LANGUAGE kal AS 'def answer() 6 * 7';

SELECT answer() AS answer, x FROM (VALUES (1), (2)) AS t (x) ORDER BY x;
--> +--------+---+
--> | answer | x |
--> +--------+---+
--> | 42.0   | 1 |
--> | 42.0   | 2 |
--> +--------+---+

SELECT payment(x, x, x) AS nothing FROM (VALUES (1.0)) AS t (x) WHERE x > 1;
--> +---------+
--> | nothing |
--> +---------+
--> +---------+

-- What a body defines besides is there for other bodies, and for them alone.
CREATE FUNCTION area(w DOUBLE, h DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'var scale = 2
    def half(x) x / 2
    def area(w h) half(w * h) * scale';

CREATE FUNCTION quarter(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def quarter(x) half(half(x))';

SELECT area(3, 4) AS area, quarter(10) AS quarter;
--> +------+---------+
--> | area | quarter |
--> +------+---------+
--> | 12.0 | 2.5     |
--> +------+---------+

SELECT half(4);
--> Error during planning: Invalid function 'half'.

-- A redefinition changes those that call it.
CREATE OR REPLACE FUNCTION area(w DOUBLE, h DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def half(x) x * 0.5 + 100
    def area(w h) half(w * h)';

SELECT area(3, 4) AS area, quarter(10) AS quarter;
--> +-------+---------+
--> | area  | quarter |
--> +-------+---------+
--> | 106.0 | 152.5   |
--> +-------+---------+

-- Recursion, loops, operators.
CREATE FUNCTION fib(n DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)';

CREATE FUNCTION collatz(n DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def binary ~ 20 (a b) a + b
    def collatz(n)
      var steps = 0 in
        (while n > 1 in (n = if n % 2 == 0 then n / 2 else 3 * n + 1) : (steps = steps ~ 1)) : steps';

-- Modules of the standard library.
CREATE FUNCTION cubes(n DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'import series
    def cube(i) i ^ 3
    def cubes(n) sum(cube, 1, n)';

SELECT cubes(n) AS cubes FROM (VALUES (3)) AS t (n);
--> +-------+
--> | cubes |
--> +-------+
--> | 36.0  |
--> +-------+

SELECT n, fib(n) AS fib, collatz(n) AS collatz FROM (VALUES (1), (7), (20)) AS t (n) ORDER BY n;
--> +----+--------+---------+
--> | n  | fib    | collatz |
--> +----+--------+---------+
--> | 1  | 1.0    | 0.0     |
--> | 7  | 13.0   | 16.0    |
--> | 20 | 6765.0 | 7.0     |
--> +----+--------+---------+

-- In conditions, aggregates, groups and orders.
SELECT CAST(quarter(x) AS BIGINT) % 2 AS parity, count(*) AS rows, sum(quarter(x)) AS total, max(fib(x) * 2 + 1) AS most
FROM (VALUES (1), (2), (3), (4), (5)) AS t (x)
WHERE quarter(x) > 150 AND x > 1
GROUP BY CAST(quarter(x) AS BIGINT) % 2
ORDER BY parity;
--> +--------+------+--------+------+
--> | parity | rows | total  | most |
--> +--------+------+--------+------+
--> | 0      | 2    | 301.25 | 5.0  |
--> | 1      | 2    | 302.25 | 11.0 |
--> +--------+------+--------+------+

SELECT x, sum(fib(x)) OVER (ORDER BY -fib(x), x) AS running FROM (VALUES (1), (5), (3)) AS t (x) ORDER BY fib(x), x;
--> +---+---------+
--> | x | running |
--> +---+---------+
--> | 1 | 8.0     |
--> | 3 | 7.0     |
--> | 5 | 5.0     |
--> +---+---------+

-- A name in quotation marks keeps its case.
CREATE FUNCTION "Double"(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def Double(x) 2 * x';
--> Error during planning: the body of `Double` redefines what `cubes` calls; CREATE OR REPLACE FUNCTION replaces it

SELECT "Double"(4) AS twice;
--> Error during planning: Invalid function 'Double'.

-- What is dropped can be created again; those that call it keep it until then.
CREATE FUNCTION tax(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def tax(x) x * 0.2';
--> Error during planning: the body of `tax` redefines what `cubes` calls; CREATE OR REPLACE FUNCTION replaces it

CREATE FUNCTION net(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def net(x) x - tax(x)';
--> Error during planning: `net` is not complete
--> error[E0301]: the call of `tax` fails
-->  --> <net>:1:16
-->   |
--> 1 | def net(x) x - tax(x)
-->   |                ^^^

DROP FUNCTION tax;
--> Execution error: Function does not exist

SELECT net(100) AS net;
--> Error during planning: Invalid function 'net'.

SELECT tax(100);
--> Error during planning: Invalid function 'tax'.

DROP FUNCTION IF EXISTS tax;

CREATE OR REPLACE FUNCTION tax(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def tax(x) x * 0.5';
--> Error during planning: `cubes` is not complete
--> error[E0301]: the call of `cube` fails
-->   --> <standard library>/series.kal:19:16
-->    |
--> 19 |       (var x = term(i) in
-->    |                ^^^^

SELECT net(100) AS net;
--> Error during planning: Invalid function 'net'.
