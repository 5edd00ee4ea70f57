-- What is refused, and how; nothing of it is in force afterwards.
CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x * (y + 1)';
--> Error during planning: Kal refuses the definitions
--> error[E0201]: unknown variable `y`
-->  --> <f>:1:15
-->   |
--> 1 | def f(x) x * (y + 1)
-->   |               ^ not declared

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def half(x) x / 2
    def f(x) half(x, 2)';
--> Error during planning: Kal refuses the definitions
--> error[E0205]: `half` takes 1 argument, not 2
-->  --> <f>:2:14
-->   |
--> 1 | def half(x) x / 2
-->   |     ---- takes 1 argument
-->   |
--> 2 |     def f(x) half(x, 2)
-->   |              ^^^^ called with 2 arguments

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x +';
--> Error during planning: Kal refuses the definitions
--> error[E0104]: expected an expression after `+`, found the end of the input
-->  --> <f>:1:12
-->   |
--> 1 | def f(x) x +
-->   |            ^ an expression must follow

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) helper(x)';
--> Error during planning: `f` is not complete
--> error[E0301]: the call of `helper` fails
-->  --> <f>:1:10
-->   |
--> 1 | def f(x) helper(x)
-->   |          ^^^^^^

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) printd(x)';
--> Error during planning: `f` does more than compute a value
--> error[E0110]: `printd` is a function of the host
-->  --> <f>:1:10
-->   |
--> 1 | def f(x) printd(x)
-->   |          ^^^^^^

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'var calls = 0 def f(x) (calls = calls + 1) * x';
--> Error during planning: `f` does more than compute a value
--> error[E0110]: `calls`, a variable of the context, is assigned
-->  --> <f>:1:25
-->   |
--> 1 | var calls = 0 def f(x) (calls = calls + 1) * x
-->   |                         ^^^^^

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x; f(2)';
--> Error during planning: Kal refuses the definitions
--> error[E0110]: this is no definition
-->  --> <f>:1:13
-->   |
--> 1 | def f(x) x; f(2)
-->   |             ^^^^

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'var k = (for i = 0, 1 in i) def f(x) x';
--> Error during planning: Kal refuses the definitions
--> error[E0305]: the run took longer than allowed
-->  --> <f>:1:1
-->   |
--> 1 | var k = (for i = 0, 1 in i) def f(x) x
-->   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^ while evaluating this

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def g(x) x';
--> Error during planning: the body of `f` has to define it, and defines `g`

CREATE FUNCTION F(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def F(x) x';

CREATE FUNCTION f(x DOUBLE, y DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x';
--> Error during planning: `f` has 2 parameters in SQL, and 1 in its body

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(g(x)) g(1)';
--> Error during planning: it cannot be a function of columns: `f` takes functions, which are in no column; define one that calls it with some

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS '';
--> Error during planning: the body of `f` has to define it, and defines nothing

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'import stats def f(x) mean(x)';
--> Error during planning: Kal refuses the definitions
--> error[E0205]: `mean` takes 3 arguments, not 1
-->     --> <f>:1:23
-->      |
-->    1 | import stats def f(x) mean(x)
-->      |                       ^^^^ called with 1 argument
-->      |
-->     --> <standard library>/stats.kal:1101:5
-->      |
--> 1101 | def mean(term(i) first last) sum(term, first, last) / count(first, last)
-->      |     ---- takes 3 arguments

-- The statement itself.
CREATE FUNCTION f(x BIGINT) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x';
--> Error during planning: `x` of `f` is DOUBLE, not Int64: other numbers are converted in calls

CREATE FUNCTION f(x DOUBLE) RETURNS BIGINT LANGUAGE kal AS 'def f(x) x';
--> Error during planning: `f` returns DOUBLE, not Int64

CREATE FUNCTION f(x DOUBLE) LANGUAGE kal AS 'def f(x) x';
--> Error during planning: what `f` returns is missing: RETURNS DOUBLE

CREATE FUNCTION f(x DOUBLE DEFAULT 1) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x';
--> Error during planning: `x` of `f` cannot have a default

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal RETURN x + 1;
--> Schema error: No field named x.

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE python AS 'x';
--> Error during planning: the language of functions is kal, not python

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE AS 'def f(x) x';
--> Error during planning: the language is missing: LANGUAGE kal

CREATE FUNCTION "if"(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) x';
--> Error during planning: `if` is no name in Kal

CREATE FUNCTION abs(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def abs(x) x';
--> Error during planning: the function `abs` exists; CREATE OR REPLACE FUNCTION replaces it

CREATE FUNCTION sum(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def sum(x) x';
--> Error during planning: the function `sum` exists; CREATE OR REPLACE FUNCTION replaces it

SELECT f(1);
--> Error during planning: Invalid function 'f'.

-- Without OR REPLACE, nothing that exists changes.
CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def half(x) x / 2
    def f(x) half(x)';

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE kal AS 'def f(x) 2 * x';
--> Error during planning: the function `f` exists; CREATE OR REPLACE FUNCTION replaces it

CREATE FUNCTION g(x DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def half(x) x / 4
    def g(x) half(x)';
--> Error during planning: the body of `g` redefines what `f` calls; CREATE OR REPLACE FUNCTION replaces it

-- A function that others call keeps its parameters.
CREATE OR REPLACE FUNCTION g(x DOUBLE) RETURNS DOUBLE LANGUAGE kal
AS 'def half(x y) x / y
    def g(x) half(x, 2)';
--> Error during planning: other functions call `half` with another number of arguments
--> error[E0302]: `f` calls `half` with 1 argument, but `half` takes 2
-->  --> <f>:2:14
-->   |
--> 2 |     def f(x) half(x)
-->   |              ^^^^ this call
-->   |
-->  --> <g>:1:5
-->   |
--> 1 | def half(x y) x / y
-->   |     ---- takes 2 arguments

SELECT f(3) AS f;
--> +-----+
--> | f   |
--> +-----+
--> | 1.5 |
--> +-----+

-- Calls.
SELECT f('three');
--> Error during planning: Failed to coerce arguments to satisfy a call to 'f' function: coercion from Utf8 to the signature Exact(Float64) failed. No function matches the given name and argument types 'f(Utf8)'. You might need to add explicit type casts.
--> 	Candidate functions:
--> 	f(x: Float64)

SELECT f(1, 2);
--> Error during planning: Failed to coerce arguments to satisfy a call to 'f' function: coercion from Int64, Int64 to the signature Exact(Float64) failed. No function matches the given name and argument types 'f(Int64, Int64)'. You might need to add explicit type casts.
--> 	Candidate functions:
--> 	f(x: Float64)

SELECT f(true);
--> Error during planning: Failed to coerce arguments to satisfy a call to 'f' function: coercion from Boolean to the signature Exact(Float64) failed. No function matches the given name and argument types 'f(Boolean)'. You might need to add explicit type casts.
--> 	Candidate functions:
--> 	f(x: Float64)

DROP FUNCTION g;
--> Execution error: Function does not exist
