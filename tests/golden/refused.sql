-- ## Aggregates
SELECT MAX(age) FROM (SELECT age FROM people WHERE member UNION ALL SELECT age FROM people);
-- UnsupportedQuery: line 1, column 8: this aggregate over the rows of several selections is not answered | write one condition with OR, or aggregate each in its own SELECT
SELECT MAX(upper(name)) FROM people;
-- UnsupportedQuery: line 1, column 8: max() of an expression of text is not answered | take it of the column itself
SELECT median(name) FROM people;
-- UnsupportedQuery: line 1, column 8: median() of text is not answered | take it of numbers
SELECT quantile_cont(age, 2) FROM people;
-- UnsupportedQuery: line 1, column 8: a quantile needs one number from 0 to 1 | write quantile_cont(x, 0.5), once for each
SELECT percentile_cont(0.5) FROM people;
-- UnsupportedQuery: line 1, column 8: the function percentile_cont is not answered | docs/sql.md lists the functions that are answered
SELECT listagg(age) WITHIN GROUP (ORDER BY age) FROM people;
-- UnsupportedQuery: line 1, column 8: listagg() WITHIN GROUP is not answered | write percentile_cont(0.5), ordered by one column
SELECT percentile_disc(0.2) WITHIN GROUP (ORDER BY age DESC) FROM people;
-- UnsupportedQuery: line 1, column 8: percentile_disc() of a descending order is not answered | order by x, level 1 - p
SELECT MAX(age, 3) FROM people;
-- UnsupportedQuery: line 1, column 8: max() takes one argument | write it of declared columns, without DISTINCT
SELECT corr(age) FROM people;
-- UnsupportedQuery: line 1, column 8: corr() takes two arguments | write it of declared columns, without DISTINCT
SELECT stddev(DISTINCT age) FROM people;
-- UnsupportedQuery: line 1, column 8: stddev() takes one argument | write it of declared columns, without DISTINCT
SELECT MAX(COUNT(*)) FROM people;
-- UnsupportedQuery: line 1, column 8: an aggregate inside an aggregate | aggregate in a subquery first
SELECT stddev(city) FROM people;
-- DataError: line 1, column 8: SUM and AVG need numbers, not VARCHAR | count text by groups, or with COUNT(DISTINCT x); numbers in text are TRY_CAST(x AS DOUBLE)
SELECT arg_max(sex, age) FROM people;
-- UnsupportedQuery: line 1, column 8: arg_max() shows one person's value | GROUP BY the first column and take MIN or MAX of the second
SELECT mad(age) FROM people;
-- UnsupportedQuery: line 1, column 8: mad() is not answered on private rows | write stddev(x), or quantile_cont(x, 0.75) less 0.25
SELECT list(name) FROM people;
-- UnsupportedQuery: line 1, column 8: list() is not answered on private rows | write it with COUNT, SUM and AVG
SELECT string_agg(name, ',') FROM people;
-- UnsupportedQuery: line 1, column 8: string_agg() is not answered on private rows | write it with COUNT, SUM and AVG
SELECT first(name) FROM people;
-- UnsupportedQuery: line 1, column 8: first() shows one person's value | write mode(x), the most frequent value, or GROUP BY the column
SELECT any_value(age) FROM people;
-- UnsupportedQuery: line 1, column 8: any_value() shows one person's value | write mode(x), the most frequent value, or GROUP BY the column
SELECT COUNT(COUNT(*)) FROM people;
-- UnsupportedQuery: line 1, column 8: an aggregate inside an aggregate | aggregate in a subquery first
SELECT AVG(DISTINCT age) FROM people;
-- UnsupportedQuery: line 1, column 8: avg(DISTINCT ...) is not a sum over rows | write SUM(DISTINCT x) / COUNT(DISTINCT x)
SELECT SUM(DISTINCT city) FROM people;
-- DataError: line 1, column 8: SUM and AVG need numbers, not VARCHAR | count text by groups, or with COUNT(DISTINCT x); numbers in text are TRY_CAST(x AS DOUBLE)
SELECT SUM(sex) FROM people;
-- DataError: line 1, column 8: SUM and AVG need numbers, not VARCHAR | count text by groups, or with COUNT(DISTINCT x); numbers in text are TRY_CAST(x AS DOUBLE)
SELECT AVG(name) FROM people;
-- DataError: line 1, column 8: SUM and AVG need numbers, not VARCHAR | count text by groups, or with COUNT(DISTINCT x); numbers in text are TRY_CAST(x AS DOUBLE)
SELECT AVG(joined) FROM people;
-- DataError: line 1, column 8: SUM and AVG need numbers, not DATE | average how far it is from a day, as in AVG(date_diff('day', DATE '2024-01-31', x))
SELECT COUNT(*), DP_INTERVAL_LOW(x) FROM people;
-- UnsupportedQuery: line 1, column 18: DP_INTERVAL_LOW() needs the alias of an aggregate of the same SELECT | write COUNT(*) AS n, DP_INTERVAL_LOW(n)
SELECT DP_INTERVAL_LOW(n) FROM (SELECT COUNT(*) AS n FROM people);
-- UnsupportedQuery: line 1, column 8: dp_interval_low() needs the alias of an aggregate | write COUNT(*) AS n, DP_INTERVAL_LOW(n) in one SELECT

-- ## Other statements
INSERT INTO people VALUES (1);
-- UnsupportedQuery: line 1, column 1: INSERT is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
UPDATE people SET age = 1;
-- UnsupportedQuery: line 1, column 1: UPDATE is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
DELETE FROM people;
-- UnsupportedQuery: line 1, column 1: DELETE is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
DROP TABLE people;
-- UnsupportedQuery: line 1, column 1: DROP is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
\d people;
-- UnsupportedQuery: line 1, column 1: \ is not a SELECT statement | words that begin with \ or . are commands of the shell: dpsql shell DATABASE < FILE runs both
SELCT COUNT(*) FROM people;
-- UnsupportedQuery: line 1, column 1: SELCT is not a SELECT statement | did you mean SELECT?
CREATE TABLE t (age BIGINT);
-- UnsupportedQuery: line 1, column 1: CREATE is not a SELECT statement | write CREATE VIEW name AS SELECT ...: it names a query in this session
COPY people TO 'x.csv';
-- UnsupportedQuery: line 1, column 1: COPY is not a SELECT statement | write the SELECT alone: dpsql run FILE.sql -o OUT.csv --format csv writes what it answers
ATTACH 'x.db';
-- UnsupportedQuery: line 1, column 1: ATTACH is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
INSTALL httpfs;
-- UnsupportedQuery: line 1, column 1: INSTALL is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
LOAD httpfs;
-- UnsupportedQuery: line 1, column 1: LOAD is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
PRAGMA database_list;
-- UnsupportedQuery: line 1, column 1: PRAGMA is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
CALL pragma_version();
-- UnsupportedQuery: line 1, column 1: CALL is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
PREPARE q AS SELECT 1;
-- UnsupportedQuery: line 1, column 1: PREPARE is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
SELECT 1; SELECT 2;
-- UnsupportedQuery: line 1, column 9: more than one statement | send one statement at a time
TABLE people;
-- UnsupportedQuery: line 1, column 1: TABLE is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings

-- ## Text columns
SELECT COUNT(*) FROM people WHERE name = 5;
-- UnsupportedQuery: line 1, column 35: the text column name is compared with something that is no string literal | write the string itself between quotes
SELECT COUNT(*) FROM people WHERE name IN (1, 2);
-- UnsupportedQuery: line 1, column 35: the text column name is compared with something that is no string literal | list strings between quotes

-- ## Groups
SELECT age + COUNT(*) FROM people GROUP BY sex;
-- UnsupportedQuery: line 1, column 8: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT sex, COUNT(*) FROM people GROUP BY sex WITH ROLLUP;
-- UnsupportedQuery: line 1, column 43: WITH ROLLUP and WITH CUBE are not answered | write ROLLUP (a, b)
SELECT sex, COUNT(*), rank() OVER (ORDER BY COUNT(*)) FROM people GROUP BY ROLLUP (sex);
-- UnsupportedQuery: line 1, column 23: a window function beside sets of groups is not answered | put the SELECT with its GROUP BY into a subquery, and write the rest around it
SELECT DISTINCT sex FROM people GROUP BY ROLLUP (sex);
-- UnsupportedQuery: line 1, column 17: DISTINCT beside sets of groups is not answered | put the SELECT with its GROUP BY into a subquery, and write the rest around it
SELECT COUNT(*) FROM people GROUP BY CUBE (sex, city, member, age, kids, joined, hours);
-- UnsupportedQuery: line 1, column 44: more than 64 sets of groups | ask for fewer of them
SELECT sex, GROUPING(city), COUNT(*) FROM people GROUP BY ROLLUP (sex);
-- UnsupportedQuery: line 1, column 13: GROUPING() of what is no group | name expressions of GROUP BY
SELECT sex AS s, sex AS t, COUNT(*) FROM people GROUP BY CUBE (s, t);
-- UnsupportedQuery: line 1, column 67: one group stands in these sets under two names | name it alike in all of them
SELECT city IN (SELECT city FROM cities) AS known, COUNT(*) FROM people GROUP BY known;
-- UnsupportedQuery: line 1, column 8: city would show single rows of the private table people | give the expression and its subquery a name in a subquery of FROM, and GROUP BY this name
SELECT age > (SELECT AVG(age) FROM cities) AS above, COUNT(*) FROM people GROUP BY above;
-- UnsupportedQuery: line 1, column 8: age would show single rows of the private table people | give the expression and its subquery a name in a subquery of FROM, and GROUP BY this name
SELECT 1 AS one, COUNT(*) FROM people GROUP BY ROLLUP ('a');
-- UnsupportedQuery: line 1, column 56: sets of groups by what is no column are not answered | group by columns
SELECT sex AS s, COUNT(*) AS s FROM people GROUP BY ROLLUP (sex) ORDER BY GROUPING(sex);
-- UnsupportedQuery: line 1, column 75: two columns have one name | name each column once, or order by a position
SELECT age, COUNT(*) FROM people GROUP BY ROLLUP (sex);
-- UnsupportedQuery: line 1, column 8: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT COUNT(*) FROM people GROUP BY COUNT(*);
-- UnsupportedQuery: line 1, column 38: GROUP BY cannot hold an aggregate | group by columns; use HAVING for aggregates
SELECT COUNT(*) FROM people GROUP BY 5;
-- UnsupportedQuery: line 1, column 38: GROUP BY 5 is no position of the select list | positions run from 1 to 1
SELECT age, sex, joined, hours, kids, city, member, name, COUNT(*) FROM people WHERE name IN ('a', 'b', 'c', 'd') GROUP BY ALL;
-- UnsupportedQuery: line 1, column 86: GROUP BY would make 108,000 groups | at most 100,000: group by fewer or coarser expressions, or keep some groups with WHERE
SELECT sex, -SUM(kids) AS age FROM people GROUP BY ALL ORDER BY age + 1;
-- UnsupportedQuery: line 1, column 65: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT sex, COUNT(*) AS age FROM people GROUP BY sex ORDER BY people.age;
-- UnsupportedQuery: line 1, column 63: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT sex, COUNT(*) AS age, row_number() OVER (ORDER BY age) FROM people GROUP BY sex;
-- UnsupportedQuery: line 1, column 58: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT COUNT(*) AS age, age + 1 FROM people;
-- UnsupportedQuery: line 1, column 25: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY

-- ## Joins, tables and subqueries
SELECT COUNT(*) FROM people p JOIN people q ON p.age = q.age;
-- UnsupportedQuery: line 1, column 36: a join of private tables | count each in its own subquery, or ask the owner for a view of both, declared with its unit
SELECT COUNT(*) FROM people, pets;
-- UnsupportedQuery: line 1, column 30: a join of private tables | count each in its own subquery, or ask the owner for a view of both, declared with its unit
SELECT COUNT(*) FROM people LEFT JOIN cities ON people.name = cities.city;
-- UnsupportedQuery: line 1, column 49: a join by name, whose values are not listed one by one in the policy | select by it: WHERE name IN (SELECT ... FROM the public table)
SELECT COUNT(*) FROM people JOIN cities ON people.city = cities.city WHERE age > 18;
-- UnsupportedQuery: line 1, column 76: age is a column of several tables here | write the table's name and a dot before it
SELECT COUNT(*) FROM people FULL JOIN cities USING (city);
-- UnsupportedQuery: line 1, column 39: FULL with rows of people is not answered | write FROM the private table LEFT JOIN or JOIN the public one
SELECT country, COUNT(*) FROM cities c LEFT JOIN people p ON c.city = p.city GROUP BY country;
-- UnsupportedQuery: line 1, column 17: rows that are kept without a row of people depend on which rows there are | write JOIN; or count a column of people, by columns of the other table: COUNT(p.column)
SELECT MAX(c.age) FROM people p JOIN cities c ON p.kids = c.age % 2;
-- UnsupportedQuery: line 1, column 8: this aggregate is no sum, and a row finds several rows in this join | join a table in which each key stands once, or write COUNT, SUM and AVG
SELECT country, COUNT(*) FROM people p JOIN cities c ON p.kids = c.age % 2 GROUP BY country;
-- UnsupportedQuery: line 1, column 85: a row finds several rows in this join, which are in different groups | group by the key in a subquery, join its result and sum its counts
SELECT COUNT(*) FROM people p JOIN cities ON p.city = cities.town;
-- UnknownName: line 1, column 55: there is no column 'town' in cities | \d in dpsql shell (in Python con.tables()) lists what exists
SELECT COUNT(*) FROM people p JOIN cities p ON p.city = p.city;
-- UnsupportedQuery: line 1, column 36: two tables here have one name | give each an alias: FROM t AS a, t AS b
SELECT COUNT(*) FROM people TABLESAMPLE 10%;
-- UnsupportedQuery: line 1, column 22: sampling is not answered | it is random; count all rows
SELECT COUNT(*) FROM people USING SAMPLE 10;
-- UnsupportedQuery: line 1, column 8: USING SAMPLE is not answered on a private table | docs/sql.md lists what is
SELECT COUNT(*) FROM read_csv('x.csv');
-- UnsupportedQuery: line 1, column 22: table functions and file readers are not answered | ask the owner to declare a public table
SELECT COUNT(*) FROM 'x.csv';
-- UnknownName: line 1, column 22: there is no table 'x.csv' | \d in dpsql shell (in Python con.tables()) lists what exists
SELECT * FROM duckdb_settings();
-- UnsupportedQuery: line 1, column 15: table functions and file readers are not answered | ask the owner to declare a public table
SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people);
-- UnsupportedQuery: line 1, column 50: a condition on private rows reads a private table | use values that are public
SELECT ROW_NUMBER() OVER (ORDER BY age) FROM people;
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT COUNT(*) OVER () FROM people;
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT COUNT(*) FROM (SELECT age FROM people LIMIT 10);
-- UnsupportedQuery: line 1, column 8: a subquery with LIMIT selects rows of the private table people | inside, only project and filter rows; count them, then sort and limit the counts
SELECT COUNT(*) FROM (SELECT age FROM people ORDER BY age);
-- UnsupportedQuery: line 1, column 8: a subquery with ORDER BY selects rows of the private table people | inside, only project and filter rows; count them, then sort and limit the counts
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT 3);
-- UnsupportedQuery: line 1, column 30: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT 1 FROM pets);
-- UnsupportedQuery: line 1, column 30: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age, sex FROM people);
-- UnsupportedQuery: line 1, column 30: the sides of UNION ALL have different numbers of columns | select the same columns
SELECT a, COUNT(*) FROM (SELECT age AS a FROM people UNION ALL SELECT kids FROM people) GROUP BY a;
-- UnsupportedQuery: line 1, column 98: the sides of UNION ALL group by different expressions | select the same column on each side
SELECT COUNT(*) FROM (SELECT age FROM (SELECT age FROM people UNION ALL SELECT kids FROM people));
-- UnsupportedQuery: line 1, column 8: a subquery with UNION ALL selects rows of the private table people | inside, only project and filter rows; count them, then sort and limit the counts
SELECT COUNT(kids) FROM (SELECT age, kids, kids FROM people UNION ALL SELECT age, age, kids FROM people);
-- UnsupportedQuery: line 1, column 33: a side of UNION ALL has two columns of one name | name each column once
SELECT COUNT(*) FROM (SELECT age AS x FROM people UNION ALL SELECT city FROM people) WHERE x < '3';
-- UnsupportedQuery: line 1, column 30: the sides of UNION ALL have columns of different types | cast them to one type
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people LIMIT 5);
-- UnsupportedQuery: line 1, column 30: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT DISTINCT age FROM (SELECT age FROM people UNION ALL SELECT age FROM people);
-- UnsupportedQuery: line 1, column 17: a subquery with UNION ALL selects rows of the private table people | inside, only project and filter rows; count them, then sort and limit the counts
SELECT age FROM people UNION ALL SELECT age FROM people;
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t;
-- UnsupportedQuery: line 1, column 16: recursive CTEs are not answered | write the steps as several CTEs
SELECT COUNT(*) FROM peple;
-- UnknownName: line 1, column 22: there is no table 'peple' | did you mean people?
SELECT COUNT(*) FROM hr.people;
-- UnknownName: line 1, column 22: there is no table 'hr.people' | write the table's name alone: people
SELECT a.n FROM (SELECT COUNT(*) n FROM people) a, LATERAL (SELECT a.n);
-- UnsupportedQuery: line 1, column 68: LATERAL in FROM is not answered | name a table
SELECT COUNT(*) FROM people AT (VERSION => 1);
-- UnsupportedQuery: line 1, column 22: AT on a private table is not answered | write the table's name alone
SELECT COUNT(*) FROM people POSITIONAL JOIN cities;
-- UnsupportedQuery: line 1, column 45: POSITIONAL with rows of people is not answered | write FROM the private table LEFT JOIN or JOIN the public one
SELECT COUNT(*) FROM people ASOF JOIN cities USING (age);
-- UnsupportedQuery: line 1, column 39: ASOF with rows of people is not answered | write FROM the private table LEFT JOIN or JOIN the public one
SELECT * FROM _released_1;
-- UnknownName: line 1, column 15: there is no table '_released_1' | \d in dpsql shell (in Python con.tables()) lists what exists
WITH _released_1 AS (SELECT 5 AS a0) SELECT COUNT(*) FROM people, _released_1;
-- UnsupportedQuery: line 1, column 6: names that start with _released_ are taken | rename the CTE
WITH _released_1 AS (SELECT 5 AS a0, 1 AS _row) SELECT COUNT(*) + 1, (SELECT a0 FROM _released_1) FROM people;
-- UnsupportedQuery: line 1, column 6: names that start with _released_ are taken | rename the CTE

-- ## Rows
SELECT * FROM people;
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT age FROM people;
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT age, COUNT(*) FROM people;
-- UnsupportedQuery: line 1, column 8: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT p.* FROM people p;
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT COUNT(*) FROM people FOR UPDATE;
-- UnsupportedQuery: line 1, column 8: FOR UPDATE is not answered on a private table | docs/sql.md lists what is
SELECT COUNT(*) FROM people ORDER BY age;
-- UnsupportedQuery: line 1, column 38: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT * EXCLUDE (age) FROM people;
-- UnsupportedQuery: line 1, column 8: * with EXCLUDE or REPLACE is not answered | name the columns
SELECT COLUMNS(*) FROM people;
-- UnsupportedQuery: line 1, column 8: the function columns is not answered | docs/sql.md lists the functions that are answered
SELECT COUNT(*) FROM people HAVING age > 3;
-- UnsupportedQuery: line 1, column 36: age would show single rows of the private table people | aggregate it with COUNT, SUM or AVG, or add it to GROUP BY
SELECT COUNT(*) INTO x FROM people;
-- UnsupportedQuery: line 1, column 8: INTO is not answered on a private table | docs/sql.md lists what is
FROM people;
-- UnsupportedQuery: line 1, column 1: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown

-- ## Conditions and functions
SELECT COUNT(*) FROM people WHERE random() < 0.5;
-- UnsupportedQuery: line 1, column 35: random() is random | an equal question must get an equal answer; remove it
SELECT COUNT(*) FROM people WHERE joined < current_time;
-- UnsupportedQuery: line 1, column 35: the current time depends on the clock | write the time as a literal or a parameter
SELECT EXTRACT(HOUR FROM joined) AS hour, COUNT(*) FROM people GROUP BY hour;
-- UnsupportedQuery: line 1, column 26: joined is declared by month, and HOUR is finer | ask for parts of joined down to the day, such as date_trunc('day', joined)
SELECT strftime(joined, '%Y-%m-%d %H:00'), COUNT(*) FROM people GROUP BY 1;
-- UnsupportedQuery: line 1, column 8: joined is declared by month, and %H is finer | ask for parts of joined down to the day, such as date_trunc('day', joined)
SELECT date_trunc('day', joined - INTERVAL 7 HOUR), COUNT(*) FROM people GROUP BY 1;
-- UnsupportedQuery: line 1, column 26: joined is declared by month, and an interval that is not of whole days is finer | ask for parts of joined down to the day, such as date_trunc('day', joined)
SELECT uuid();
-- UnsupportedQuery: line 1, column 8: uuid() is random | an equal question must get an equal answer; remove it
SELECT current_user;
-- UnsupportedQuery: line 1, column 1: the current user is not answered | remove it
SELECT getvariable('x');
-- UnsupportedQuery: line 1, column 8: the function getvariable is not answered | docs/sql.md lists the functions that are answered
SELECT current_setting('threads');
-- UnsupportedQuery: line 1, column 8: the function current_setting is not answered | docs/sql.md lists the functions that are answered
SELECT COUNT(*) FROM people WHERE error('x') IS NULL;
-- UnsupportedQuery: line 1, column 35: the function error is not answered | docs/sql.md lists the functions that are answered
SELECT COUNT(*) FROM people WHERE rowid = 1;
-- UnknownName: line 1, column 35: there is no column 'rowid' in people | columns: age, sex, city, hours, joined, member, kids, name and 1 more
SELECT COUNT(*) FROM people WHERE frobnicate(age) = 1;
-- UnsupportedQuery: line 1, column 35: the function frobnicate is not answered | docs/sql.md lists the functions that are answered
SELECT COUNT(*) FROM people WHERE lowr(sex) = 'male';
-- UnsupportedQuery: line 1, column 35: the function lowr is not answered | did you mean lower?
SELECT COUNT(*) FROM people WHERE agee > 3;
-- UnknownName: line 1, column 35: there is no column 'agee' in people | did you mean age?
SELECT COUNT(*) FROM people WHERE q.age > 3;
-- UnknownName: line 1, column 35: 'q' is not the table that is counted here | only columns of people can be named here
SELECT COUNT(*) FROM people WHERE;
-- SqlSyntaxError: line 1, column 29: syntax error near 'WHERE' | send one SELECT statement in DuckDB's dialect
SELECT COUNT(*) FROM people WHERE age > :low;
-- UnsupportedQuery: line 1, column 41: a placeholder has no value | write $name, and pass {'name': 30}; at the command line -p name=30
SELECT COUNT(*) FROM people WHERE age > %s;
-- SqlSyntaxError: line 1, column 42: syntax error near 's' | values are ? or $name: execute('... age > ?', [30]), or execute('... age > $low', {'low': 30})
SELECT COUNT(*) FROM people WHERE age = 1 = TRUE;
-- UnsupportedQuery: line 1, column 35: a comparison inside an expression is ambiguous | put the comparison in parentheses
SELECT COUNT(*) FROM people WHERE age > 0x10;
-- UnsupportedQuery: line 1, column 41: the number 0x10 runs into letters | write it in decimal
SELECT COUNT(*) FROM people WHERE age > 30and member;
-- UnsupportedQuery: line 1, column 41: the number 30and runs into letters | write a space between the two
SELECT TOP 5 sex, COUNT(*) FROM people GROUP BY sex;
-- UnsupportedQuery: line 1, column 8: TOP is not answered | write LIMIT 5 at the end
SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 1, 2;
-- UnsupportedQuery: line 1, column 47: LIMIT takes one number | write LIMIT 2 OFFSET 1
SELECT COUNT(*) FROM people WHERE sex = "Cat";
-- UnknownName: line 1, column 41: there is no column 'Cat' in people | a string stands between single quotes: 'Cat'
SELECT COUNT(*) FROM people WHERE sex = Cat;
-- UnknownName: line 1, column 41: there is no column 'Cat' in people | a string stands between single quotes: 'Cat'
SELECT COUNT(*) FROM people WHERE sex = ‘Cat’;
-- UnknownName: line 1, column 41: there is no column '‘Cat’' in people | a string stands between single quotes: 'Cat'
SELECT COUNT(*) FROM people WHERE joined > to_date('2020-01-01', 'YYYY-MM-DD');
-- UnsupportedQuery: line 1, column 44: the function to_date is not answered | write strptime(text, '%Y-%m-%d'), or DATE '2024-01-31'
SELECT VAR(age) FROM people;
-- UnsupportedQuery: line 1, column 8: the function var is not answered | write var_samp(x) or var_pop(x)
SELECT COUNT(*) FROM people WHERE age > 3 && member;
-- UnsupportedQuery: line 1, column 41: && is not answered | write AND
SELECT COUNT(*) FROM people WHERE city[1] = 'R';
-- UnsupportedQuery: line 1, column 35: a part in brackets is not answered | write substr(text, 2, 1) for text[2], and substr(text, 2, 3) for text[2:4]
SELECT COUNT(*) FROM people WHERE age = ANY ([18, 20, NULL]);
-- UnsupportedQuery: line 1, column 47: ANY of these values is not answered | write IN, which takes NULL and columns, too: x IN (1, 2, NULL)
SELECT COUNT(*) FROM people WHERE age > ANY ([18, 20]);
-- UnsupportedQuery: line 1, column 47: ANY of these values is not answered | compare with each value: x > 1 OR x > 2
SELECT COUNT(*) FROM people WHERE age = ANY (kids);
-- UnsupportedQuery: line 1, column 46: ANY of these values is not answered | write = ANY (['a', 'b']), or IN ('a', 'b')
SELECT nvl(city, 'none'), COUNT(*) FROM people GROUP BY 1;
-- UnsupportedQuery: line 1, column 8: the function nvl is not answered | write coalesce(x, other)
SELECT COUNT(*) FROM people WHERE datepart(month, joined) = 1;
-- UnknownName: line 1, column 44: there is no column 'month' in people | write the part between quotes: 'month'
SELECT COUNT(*) FROM people WHERE list_filter([1], x -> x > age) = [];
-- UnsupportedQuery: line 1, column 35: the function list_filter is not answered | write the condition with AND, OR and CASE
SELECT COUNT(*) FROM people WHERE city = UUID '00000000-0000-0000-0000-000000000001';
-- UnsupportedQuery: line 1, column 47: a cast to UUID is not answered | UUIDs are strings here: write the string alone
SELECT COUNT(*) FROM people WHERE age::JSON IS NULL;
-- UnsupportedQuery: line 1, column 35: a cast to this type is not answered | cast to a number, string or date
SELECT COUNT(*) FROM people WHERE joined < TIMESTAMPTZ '2020-01-31 10:00:00+02';
-- UnsupportedQuery: line 1, column 56: a cast to a type with a time zone is not answered | moments are in UTC, without a zone: write TIMESTAMP '2024-01-31 10:00:00'
SELECT n, now()::TIMESTAMPTZ FROM (SELECT COUNT(*) AS n FROM people) AS t;
-- UnsupportedQuery: line 1, column 11: a cast to a type with a time zone is not answered | moments are in UTC, without a zone: write TIMESTAMP '2024-01-31 10:00:00'
SELECT COUNT(*) FROM people WHERE joined AT TIME ZONE 'UTC' < DATE '2020-01-31';
-- UnsupportedQuery: line 1, column 35: AT TIME ZONE is not answered | moments are in UTC, without a zone: write TIMESTAMP '2024-01-31 10:00:00'
SELECT COUNT(*) FROM people WHERE sex COLLATE NOCASE = 'male';
-- UnsupportedQuery: line 1, column 35: COLLATE is not answered | compare with lower(...) on declared categories
SELECT COUNT(*) FROM people WHERE COUNT(*) > 3;
-- UnsupportedQuery: line 1, column 35: count() cannot stand here | use it in SELECT, HAVING, QUALIFY or ORDER BY
SELECT COUNT(*) FROM people WHERE {'a': age}.a = 1;
-- UnsupportedQuery: line 1, column 41: a field of a struct is not answered | name declared columns
SELECT COUNT(*) FROM people WHERE CAST(age AS mytype) = 1;
-- UnsupportedQuery: line 1, column 40: a cast to this type is not answered | cast to a number, string or date
SELECT $$abc$$;
-- UnsupportedQuery: line 1, column 8: a string between dollar signs is not answered | write it between single quotes
SELECT e'a\n';
-- UnsupportedQuery: line 1, column 8: a string with escapes is not answered | write it between single quotes, or as a parameter
SELECT COUNT(*) FROM people WHERE name = e'a';
-- UnsupportedQuery: line 1, column 42: a string with escapes is not answered | write it between single quotes, or as a parameter
SELECT COUNT(*) FROM people WHERE a.b.c.d = 1;
-- UnknownName: line 1, column 35: 'c' is not the table that is counted here | only columns of people can be named here

-- ## Other forms
SELECT quantile_cont(age, [0.25, 2]) FROM people;
-- UnsupportedQuery: line 1, column 22: a quantile needs one number from 0 to 1 | write quantile_cont(x, 0.5), once for each
SELECT COUNT(*) FROM range(10000000000);
-- UnsupportedQuery: line 1, column 22: range() of more than 1,048,576 rows, or of no constants | write numbers, or dates and an interval of days or more: generate_series(DATE '2024-01-01', ...)
SELECT i FROM generate_series(TIMESTAMP '2020-01-01', TIMESTAMP '2030-01-01', INTERVAL 1 SECOND) AS t(i);
-- UnsupportedQuery: line 1, column 15: generate_series() of more than 1,048,576 rows, or of no constants | write numbers, or dates and an interval of days or more: generate_series(DATE '2024-01-01', ...)
SELECT x FROM unnest([range(2000000)]) AS t(x);
-- UnsupportedQuery: line 1, column 23: range() of more than 1,048,576 rows, or of no constants | write numbers, or dates and an interval of days or more: generate_series(DATE '2024-01-01', ...)
SELECT * FROM range(0, 5, 0);
-- UnsupportedQuery: line 1, column 15: the step of range() cannot be 0 | write a step that leads to the end
SELECT * FROM generate_series(DATE '2024-01-01', DATE '2024-01-05', INTERVAL 0 DAY);
-- UnsupportedQuery: line 1, column 15: the step of generate_series() cannot be 0 | write a step that leads to the end
SELECT unnest([1, 2]), COUNT(*) FROM people;
-- UnsupportedQuery: line 1, column 8: unnest() beside other rows is not answered | write FROM unnest([1, 2]) AS t(x)
PIVOT people ON sex USING sex GROUP BY city;
-- UnsupportedQuery: line 1, column 27: USING takes an aggregate | write USING COUNT(*)
PIVOT people USING COUNT(*) GROUP BY city;
-- UnsupportedQuery: line 1, column 7: a PIVOT without ON has no columns to make | write ON column, or GROUP BY alone
PIVOT people ON sex IN (SELECT 'Male') USING COUNT(*) GROUP BY city;
-- UnsupportedQuery: line 1, column 17: this list of a PIVOT is not answered | write ON column IN ('a', 'b')
PIVOT people ON sex IN ('Male', 'Male') USING COUNT(*) GROUP BY city;
-- UnsupportedQuery: line 1, column 33: the value Male stands twice in this IN | write each value once
PIVOT people ON age, kids, city, member, sex USING COUNT(*) GROUP BY kids;
-- UnsupportedQuery: line 1, column 7: PIVOT would make more than 256 columns | name the values: ON column IN ('a', 'b')
PIVOT people ON sex USING COUNT(*) FILTER (WHERE member) GROUP BY city;
-- UnsupportedQuery: line 1, column 27: FILTER in a PIVOT is not answered | put the condition into a subquery
PIVOT people ON sex USING COUNT(*) GROUP BY ROLLUP (city);
-- UnsupportedQuery: line 1, column 7: a PIVOT is grouped by columns | name them, and put expressions into a subquery
PIVOT (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) ON sex USING SUM(n);
-- UnsupportedQuery: line 1, column 15: the values of this PIVOT are not known beforehand | name the values: ON column IN ('a', 'b')
UNPIVOT people;
-- UnsupportedQuery: line 1, column 9: UNPIVOT without columns | write ON a, b
UNPIVOT people ON COLUMNS(*);
-- UnsupportedQuery: line 1, column 19: UNPIVOT takes names of columns | write ON a, b
SELECT city FROM people INTERSECT ALL SELECT city FROM people;
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table people | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM people AS p WHERE p.city = people.city);
-- UnsupportedQuery: line 1, column 57: a correlated subquery over people, which is no public table | name public tables in it, or count in a subquery of FROM and join that
SELECT AVG(age), geomean(age) FROM people;
-- UnsupportedQuery: line 1, column 18: the function geomean is not answered | write exp(avg(ln(x))), of a number column WHERE x >= a bound well above 0, near which ln has no end
SELECT sex, AVG(age), weighted_avg(kids, hours) FROM people GROUP BY sex;
-- UnsupportedQuery: line 1, column 23: the function weighted_avg is not answered | write sum(x * weight) / sum(weight)
SELECT sex, COUNT(*), reservoir_quantile(age, 0.5) FROM people GROUP BY sex;
-- UnsupportedQuery: line 1, column 23: reservoir_quantile() is random | an equal question must get an equal answer; remove it
SELECT t, (SELECT COUNT(*) FROM people WHERE age >= t) AS at_risk FROM (VALUES (18), (19)) AS r(t);
-- UnknownName: line 1, column 53: there is no column 't' in people | a subquery that counts private rows sees no column of the query around it: count them by groups in a subquery of FROM, join that, and sum its counts
SELECT t, (SELECT COUNT(*) FROM people WHERE age >= r.t) AS at_risk FROM (VALUES (18), (19)) AS r(t);
-- UnknownName: line 1, column 53: 'r' is not the table that is counted here | a subquery that counts private rows sees no column of the query around it: count them by groups in a subquery of FROM, join that, and sum its counts

-- ## What would grow
SELECT lpad('a', 1000000000, 'b');
-- UnsupportedQuery: line 1, column 8: lpad() needs its length as a number of at most 10,000 | write lpad(text, 10, '0')
SELECT sex, rpad('a', COUNT(*)) FROM people GROUP BY sex;
-- UnsupportedQuery: line 1, column 13: rpad() needs its length as a number of at most 10,000 | write rpad(text, 10, '0')
SELECT COUNT(*) FROM people WHERE lpad(sex, age, 'x') = 'Male';
-- UnsupportedQuery: line 1, column 35: lpad() needs its length as a number of at most 10,000 | write lpad(text, 10, '0')
SELECT printf('%1000000000d', 1);
-- UnsupportedQuery: line 1, column 8: printf() needs a format in quotes, with widths of at most four digits | write the width into the format, such as '%5d' or '{:5d}'
SELECT format('{:{}}', 'a', 1000000000);
-- UnsupportedQuery: line 1, column 8: format() needs a format in quotes, with widths of at most four digits | write the width into the format, such as '%5d' or '{:5d}'
SELECT COUNT(*) FROM people WHERE format(sex, age) = 'Male';
-- UnsupportedQuery: line 1, column 35: format() needs a format in quotes, with widths of at most four digits | write the width into the format, such as '%5d' or '{:5d}'
SELECT replace(replace('aaaa', 'a', rpad('', 999, 'b')), 'b', 'cc');
-- UnsupportedQuery: line 1, column 16: replace() may make a string more than 1,000 times as long | replace by shorter strings, or with fewer calls
SELECT age + age AS a, a + a AS b, b + b AS c, c + c AS d, d + d AS e, e + e AS f, f + f AS g, g + g AS h, h + h AS i, i + i AS j, j + j AS k, k + k AS l, l + l AS m, m + m AS n, COUNT(*) FROM people GROUP BY ALL;
-- UnsupportedQuery: line 1, column 8: the names of the select list stand for too much | use fewer names within names
SELECT damerau_levenshtein('a', 'b');
-- UnsupportedQuery: line 1, column 8: the function damerau_levenshtein is not answered | docs/sql.md lists the functions that are answered
SELECT reservoir_quantile(n, 0.5) FROM (SELECT COUNT(*) AS n FROM people GROUP BY sex);
-- UnsupportedQuery: line 1, column 8: reservoir_quantile() is random | an equal question must get an equal answer; remove it
SELECT COUNT(*) FROM a..people;
-- UnsupportedQuery: line 1, column 22: a part of the table's name is missing | write the table's name alone
SELECT SUM(9223372036854775808) FROM people;
-- UnsupportedQuery: line 1, column 8: a value beyond 1e+15 cannot be summed | divide it, or sum a smaller number
