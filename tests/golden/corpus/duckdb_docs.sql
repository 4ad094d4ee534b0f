-- ## SELECT in DuckDB's dialect
FROM students SELECT course, COUNT(*) GROUP BY ALL ORDER BY ALL;
-- 0 answered
-- answered
SELECT course, count() AS n FROM students GROUP BY ALL ORDER BY n DESC LIMIT 3;
-- 0 answered
-- answered
SELECT count(*) FILTER (score > 50), count(*) FILTER (WHERE score <= 50) FROM students;
-- 0 answered
-- answered
SELECT city, sum(score) FILTER (WHERE passed) AS s, avg(score) FILTER (WHERE NOT passed) AS m FROM students GROUP BY city;
-- 0 answered
-- answered
SELECT count_if(passed), count_star() FROM students;
-- 0 answered
-- answered
SELECT course, count(*) AS n, n / sum(n) OVER () AS share FROM students GROUP BY course;
-- 0 answered
-- answered
SELECT * EXCLUDE (n) FROM (SELECT course, city, count(*) AS n FROM students GROUP BY ALL);
-- 0 answered
-- answered
SELECT * REPLACE (n * 2 AS n) FROM (SELECT course, count(*) AS n FROM students GROUP BY ALL);
-- 0 answered
-- answered
SELECT COLUMNS('n.*') FROM (SELECT course, count(*) AS n1, count(*) AS n2 FROM students GROUP BY ALL);
-- 11 answered
-- UnsupportedQuery: line 1, column 8: the function columns is not answered | docs/sql.md lists the functions that are answered
SELECT course, count(*) AS n FROM students GROUP BY course QUALIFY row_number() OVER (ORDER BY n DESC) <= 2;
-- 0 answered
-- answered
SELECT course, count(*) FROM students GROUP BY course ORDER BY count(*) DESC NULLS LAST LIMIT 50%;
-- 0 answered
-- answered
WITH t AS MATERIALIZED (SELECT grade, count(*) AS n FROM students GROUP BY grade) SELECT a.grade, a.n - b.n FROM t a JOIN t b ON a.grade = b.grade + 1;
-- 0 answered
-- answered
SELECT grade, course, count(*) AS n FROM students GROUP BY GROUPING SETS ((grade, course), (grade), ());
-- 11 answered
-- answered
SELECT grade, count(*) FROM students GROUP BY ROLLUP (grade);
-- 11 answered
-- answered
SELECT grade, course, grouping_id(grade, course), count(*) FROM students GROUP BY CUBE (grade, course);
-- 11 answered
-- answered
SELECT city, list(n) FROM (SELECT city, course, count(*) AS n FROM students GROUP BY ALL) GROUP BY city;
-- 0 answered
-- answered
SELECT max(n), min(n), median(n) FROM (SELECT course, count(*) AS n FROM students GROUP BY course);
-- 0 answered
-- answered
SELECT arg_max(course, n) FROM (SELECT course, count(*) AS n FROM students GROUP BY course);
-- 0 answered
-- answered
SELECT lag(n) OVER (ORDER BY grade), n FROM (SELECT grade, count(*) AS n FROM students GROUP BY grade);
-- 0 answered
-- answered
SELECT first_value(course) OVER (ORDER BY n DESC), course FROM (SELECT course, count(*) AS n FROM students GROUP BY course);
-- 0 answered
-- answered
SELECT avg(n) OVER (ORDER BY grade ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM (SELECT grade, count(*) AS n FROM students GROUP BY grade);
-- 0 answered
-- answered
SELECT count(*) FROM students USING SAMPLE 10%;
-- 0 unanswerable: it is random
-- UnsupportedQuery: line 1, column 8: USING SAMPLE is not answered on a private table | docs/sql.md lists what is
SELECT count(*) FROM students TABLESAMPLE reservoir(20);
-- 0 unanswerable: it is random
-- UnsupportedQuery: line 1, column 22: sampling is not answered | it is random; count all rows
SELECT count(*) FROM students WHERE city SIMILAR TO '(B|C).*';
-- 12 answered
-- answered
SELECT count(*) FROM students WHERE city GLOB 'B*';
-- 12 answered
-- answered
SELECT count(*) FROM students WHERE regexp_matches(city, '^[AB]');
-- 0 answered
-- answered
SELECT count(*) FROM students WHERE city IS NOT DISTINCT FROM 'Boston';
-- 0 answered
-- answered
SELECT count(*) FROM students WHERE list_contains(['Boston', 'Austin'], city);
-- 12 answered
-- answered
SELECT count(*) FROM students WHERE city IN ['Boston', 'Austin'];
-- 12 answered
-- answered
SELECT count(*) FROM students WHERE contains(city, 'os');
-- 0 answered
-- answered
SELECT count(*) FROM students WHERE score % 10 = 0 AND score // 10 > 5;
-- 0 answered
-- answered
SELECT count(*) FROM students WHERE city[1] = 'B';
-- 12 refused: substr
-- UnsupportedQuery: line 1, column 37: a part in brackets is not answered | write substr(text, 2, 1) for text[2], and substr(text, 2, 3) for text[2:4]
SELECT count(*) FROM students WHERE enrolled BETWEEN DATE '2021-01-01' AND DATE '2021-12-31';
-- 0 answered
-- answered
SELECT date_part('year', enrolled), count(*) FROM students GROUP BY ALL;
-- 0 answered
-- answered
SELECT monthname(enrolled) AS m, count(*) FROM students GROUP BY m;
-- 0 answered
-- answered
SELECT datediff('year', enrolled, DATE '2024-01-01') AS years, count(*) FROM students GROUP BY years;
-- 0 answered
-- answered
SELECT count(*) FROM students WHERE age(enrolled) > INTERVAL 2 YEAR;
-- 9 answered
-- answered
SELECT count(*) FROM students WHERE enrolled > today() - INTERVAL 3 YEAR;
-- 9 answered
-- answered
SELECT hour("EventTime") AS h, count(*) FROM hits GROUP BY h;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 8: EventTime is declared by day, and hour() is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT dayname(enrolled) AS d, count(*) FROM students GROUP BY d;
-- 9 answered
-- answered
SELECT if(passed, 'yes', 'no') AS p, count(*) FROM students GROUP BY p;
-- 0 answered
-- answered
SELECT coalesce(city, '?') AS c, count(*) FROM students GROUP BY c;
-- 0 answered
-- answered
SELECT substring(name, 1, 1) AS i, count(*) FROM students GROUP BY i;
-- 0 answered
-- answered
SELECT substring(city FROM 1 FOR 2) AS c, count(*) FROM students GROUP BY c;
-- 12 answered
-- answered
SELECT trim(BOTH 'B' FROM city) AS c, count(*) FROM students GROUP BY c;
-- 12 answered
-- answered
SELECT count(*) FROM students WHERE position('o' IN city) > 0;
-- 12 answered
-- answered
SELECT overlay(city PLACING 'X' FROM 1 FOR 1) AS c, count(*) FROM students GROUP BY c;
-- 12 refused: substr
-- UnsupportedQuery: line 1, column 21: OVERLAY is not answered | write substr(text, 1, 2) || 'new' || substr(text, 5)

-- ## Aggregates
SELECT min(score), max(score) FROM students GROUP BY ALL;
-- 1 answered
-- answered
SELECT first(score), last(score), any_value(city) FROM students;
-- 1 unanswerable: it depends on the order of rows
-- UnsupportedQuery: line 1, column 8: first() shows one person's value | write mode(x), the most frequent value, or GROUP BY the column
SELECT list(score ORDER BY score) FROM students;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: list() is not answered on private rows | write it with COUNT, SUM and AVG
SELECT string_agg(name, ', ') FROM students;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: string_agg() is not answered on private rows | write it with COUNT, SUM and AVG
SELECT histogram(score) FROM students;
-- 5 answered
-- answered
SELECT approx_count_distinct(city) FROM students;
-- 2 answered
-- answered
SELECT count(DISTINCT score) FILTER (WHERE passed) FROM students;
-- 2 answered
-- answered
SELECT count(DISTINCT (city, course)) FROM students;
-- 2 answered
-- answered
SELECT sum(DISTINCT score) FROM students;
-- 2 answered
-- answered
SELECT quantile_disc(score, [0.25, 0.5, 0.75]) FROM students;
-- 5 answered
-- answered
SELECT course, quantile_cont(score, 0.5) FROM students GROUP BY course;
-- 5 answered
-- answered
SELECT approx_quantile(score, 0.9) FROM students;
-- 5 answered
-- answered
SELECT mad(score), kurtosis(score), skewness(score), entropy(course) FROM students;
-- 5 answered
-- UnsupportedQuery: line 1, column 8: mad() is not answered on private rows | write stddev(x), or quantile_cont(x, 0.75) less 0.25
SELECT sem(score), var_pop(score), stddev_pop(score) FROM students;
-- 5 answered
-- answered
SELECT covar_pop(score, age), corr(score, age) FROM students;
-- 5 answered
-- answered
SELECT regr_count(score, age), regr_avgx(score, age), regr_sxx(score, age) FROM students;
-- 5 answered
-- answered
SELECT mode(course), approx_top_k(course, 3) FROM students;
-- 5 answered
-- answered
SELECT product(score) FROM students;
-- 5 unanswerable: no bar is possible
-- UnsupportedQuery: line 1, column 8: product() is not answered on private rows | write it with COUNT, SUM and AVG
SELECT bit_and(score), bit_or(score) FROM students;
-- 5 unanswerable: one row decides
-- UnsupportedQuery: line 1, column 8: bit_and() is not answered on private rows | write it with COUNT, SUM and AVG
SELECT max_by(course, score), min_by(course, score) FROM students GROUP BY grade;
-- 5 answered
-- UnsupportedQuery: line 1, column 8: max_by() shows one person's value | GROUP BY the first column and take MIN or MAX of the second
SELECT max(score, 3) FROM students;
-- 1 answered
-- UnsupportedQuery: line 1, column 8: max() takes one argument | write it of declared columns, without DISTINCT
SELECT greatest(max(score), 50) FROM students;
-- 1 answered
-- answered
SELECT fsum(sales), favg(sales), kahan_sum(sales) FROM sales;
-- 5 answered
-- answered

-- ## Meta queries
SUMMARIZE students;
-- 11 answered
-- answered
DESCRIBE SELECT course, count(*) FROM students GROUP BY course;
-- 11 answered
-- answered
SHOW ALL TABLES;
-- 11 answered
-- answered
SHOW DATABASES;
-- 11 answered
-- answered
DESCRIBE;
-- 11 answered
-- answered
SHOW students;
-- 11 answered
-- answered
PRAGMA table_info('students');
-- 11 answered
-- answered
PRAGMA show_tables;
-- 11 answered
-- answered
SELECT * FROM duckdb_tables();
-- 11 answered
-- answered
SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'students';
-- 11 answered
-- answered
SELECT * FROM pragma_table_info('students');
-- 11 answered
-- answered
SELECT table_name FROM information_schema.tables;
-- 11 answered
-- answered
SELECT count(*) FROM information_schema.columns WHERE data_type = 'DATE';
-- 11 answered
-- answered
SELECT estimated_size FROM duckdb_tables() WHERE table_name = 'students';
-- 11 answered
-- answered
EXPLAIN ANALYZE SELECT count(*) FROM students;
-- 11 answered
-- answered
SET threads = 4;
-- 11 answered
-- answered
USE memory;
-- 11 answered
-- answered
BEGIN TRANSACTION;
-- 11 answered
-- answered
SELECT current_setting('threads');
-- 11 unanswerable: settings are the owner's
-- UnsupportedQuery: line 1, column 8: the function current_setting is not answered | docs/sql.md lists the functions that are answered
SELECT version();
-- 11 answered
-- answered
SELECT current_schema(), current_database();
-- 11 answered
-- answered
COPY (SELECT course, count(*) FROM students GROUP BY course) TO 'out.csv';
-- 11 unanswerable: files are the shell's
-- UnsupportedQuery: line 1, column 1: COPY is not a SELECT statement | write the SELECT alone: dpsql run FILE.sql -o OUT.csv --format csv writes what it answers
ATTACH 'other.db';
-- 0 unanswerable: the owner opens databases
-- UnsupportedQuery: line 1, column 1: ATTACH is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
INSTALL httpfs;
-- 0 unanswerable: the owner installs
-- UnsupportedQuery: line 1, column 1: INSTALL is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
PIVOT students ON course USING avg(score) GROUP BY city;
-- 11 answered
-- answered
PIVOT students ON gender, grade USING count(*);
-- 11 answered
-- UnsupportedQuery: line 1, column 7: enrolled has more values than can be groups | a PIVOT groups by all columns that it does not name: write GROUP BY and the others behind USING
UNPIVOT (SELECT count(*) AS a, count_if(passed) AS b FROM students) ON a, b INTO NAME what VALUE n;
-- 11 answered
-- answered
SELECT course, count(*) FROM students WHERE grade = 9 GROUP BY course INTERSECT SELECT course, count(*) FROM students WHERE grade = 10 GROUP BY course;
-- 11 answered
-- answered
SELECT course FROM students GROUP BY course HAVING count(*) > 10 EXCEPT SELECT course FROM students WHERE passed GROUP BY course HAVING count(*) > 100;
-- 11 answered
-- answered
SELECT unnest(['a', 'b']) AS x, count(*) FROM students;
-- 11 unanswerable: it multiplies rows
-- UnsupportedQuery: line 1, column 8: unnest() beside other rows is not answered | write FROM unnest([1, 2]) AS t(x)
SELECT * FROM range(3) r(i), (SELECT count(*) AS n FROM students);
-- 11 answered
-- answered
SELECT count(*) FROM read_csv('students.csv');
-- 0 unanswerable: the owner declares tables
-- UnsupportedQuery: line 1, column 22: table functions and file readers are not answered | ask the owner to declare a public table
SELECT struct_pack(n := count(*), m := avg(score)) FROM students;
-- 11 answered
-- answered
SELECT [count(*), count_if(passed)] FROM students;
-- 11 answered
-- answered
SELECT {'n': count(*)} FROM students;
-- 11 answered
-- answered
SELECT count(*) FROM students WHERE list_filter([1, 2], x -> x > age) = [];
-- 12 refused: AND, OR
-- UnsupportedQuery: line 1, column 37: the function list_filter is not answered | write the condition with AND, OR and CASE
SELECT count(*) FROM students WHERE random() < 0.1;
-- 0 unanswerable: it is random
-- UnsupportedQuery: line 1, column 37: random() is random | an equal question must get an equal answer; remove it
SELECT getvariable('x');
-- 0 unanswerable: it names no variable
-- UnsupportedQuery: line 1, column 8: the function getvariable is not answered | docs/sql.md lists the functions that are answered

-- ## Sent by tools and courses, written before any was tried
FROM adult SELECT education, count() GROUP BY ALL ORDER BY count() DESC;
-- 0 answered
-- answered
SELECT COUNT(COLUMNS(*)) FROM emp;
-- 0 answered
-- UnsupportedQuery: line 1, column 14: the function columns is not answered | docs/sql.md lists the functions that are answered
SELECT list(region ORDER BY n DESC) FROM (SELECT region, COUNT(*) AS n FROM sales GROUP BY region);
-- 0 answered
-- answered
SUMMARIZE adult;
-- 0 answered
-- answered
PIVOT sales ON ship_mode USING SUM(quantity) GROUP BY region;
-- 0 answered
-- answered
SELECT region, string_agg(segment, ', ' ORDER BY n DESC) FROM (SELECT region, segment, COUNT(*) AS n FROM sales GROUP BY ALL) GROUP BY region;
-- 0 answered
-- answered
SELECT count_if(age > 40), bool_or(age > 89), product(1) FROM adult;
-- 0 refused: COUNT, SUM and AVG
-- UnsupportedQuery: line 1, column 47: product() is not answered on private rows | write it with COUNT, SUM and AVG
