-- ## Selecting and filtering
SELECT COUNT(*) FROM students;
-- 0 answered
-- answered
SELECT COUNT(*) AS total FROM students WHERE grade = 10 AND city = 'Boston';
-- 0 answered
-- answered
SELECT * FROM students;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table students | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT name, score FROM students WHERE score > 90 ORDER BY score DESC;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table students | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT DISTINCT course FROM students;
-- 0 answered
-- answered
SELECT course, COUNT(*) FROM students GROUP BY course;
-- 0 answered
-- answered
SELECT course, AVG(score) FROM students GROUP BY course ORDER BY AVG(score) DESC;
-- 0 answered
-- answered
SELECT course, AVG(score) AS mean FROM students WHERE passed GROUP BY course HAVING AVG(score) > 60;
-- 0 answered
-- answered
SELECT gender, grade, COUNT(*) AS n FROM students GROUP BY gender, grade ORDER BY gender, grade;
-- 0 answered
-- answered
SELECT COUNT(*) FROM students WHERE age BETWEEN 14 AND 16 AND course <> 'Math';
-- 0 answered
-- answered
SELECT COUNT(*) FROM students WHERE name LIKE 'A%';
-- 0 answered
-- answered
SELECT COUNT(*) FROM students WHERE name LIKE '%son';
-- 7 answered
-- answered
SELECT COUNT(*) FROM students WHERE name LIKE '_a%';
-- 7 answered
-- answered
SELECT COUNT(*) FROM students WHERE length(name) > 6;
-- 7 answered
-- answered
SELECT UPPER(LEFT(name, 1)) AS initial, COUNT(*) FROM students GROUP BY initial ORDER BY initial;
-- 7 answered
-- answered
SELECT length(name) AS letters, COUNT(*) FROM students GROUP BY letters ORDER BY letters;
-- 7 answered
-- answered
SELECT name || '!' AS loud, COUNT(*) FROM students WHERE name LIKE '%a' GROUP BY loud;
-- 7 answered
-- answered
SELECT COUNT(*) FROM students WHERE name ~ '^[A-M]';
-- 7 answered
-- answered
SELECT COUNT(*) FROM students WHERE city IN ('Austin', 'Denver') OR score >= 95;
-- 0 answered
-- answered
SELECT CASE WHEN score >= 90 THEN 'A' WHEN score >= 80 THEN 'B' WHEN score >= 70 THEN 'C' ELSE 'F' END AS letter, COUNT(*) FROM students GROUP BY letter ORDER BY letter;
-- 0 answered
-- answered
SELECT EXTRACT(YEAR FROM enrolled) AS year, COUNT(*) FROM students GROUP BY year ORDER BY year;
-- 0 answered
-- answered
SELECT MIN(score), MAX(score), AVG(score) FROM students;
-- 1 answered
-- answered
SELECT course, MIN(score) AS lowest, MAX(score) AS highest FROM students GROUP BY course;
-- 1 answered
-- answered
SELECT MAX(score) - MIN(score) AS span FROM students WHERE course = 'Math';
-- 1 answered
-- answered
SELECT MIN(enrolled), MAX(enrolled) FROM students;
-- 1 answered
-- answered
SELECT MIN(name) FROM students;
-- 1 answered
-- answered
SELECT MAX(score) FROM students WHERE score < (SELECT MAX(score) FROM students);
-- 8 answered
-- answered
SELECT COUNT(DISTINCT course) FROM students;
-- 2 answered
-- answered
SELECT COUNT(DISTINCT name) FROM students;
-- 2 answered
-- answered
SELECT city, COUNT(DISTINCT course) FROM students GROUP BY city HAVING COUNT(DISTINCT course) > 3;
-- 2 answered
-- answered
SELECT STDDEV(score), VARIANCE(score) FROM students;
-- 5 answered
-- answered
SELECT course, STDDEV_SAMP(score) FROM students GROUP BY course;
-- 5 answered
-- answered
SELECT MEDIAN(score) FROM students WHERE grade = 12;
-- 5 answered
-- answered
SELECT MODE(course) FROM students;
-- 5 answered
-- answered
SELECT bool_and(passed), bool_or(passed) FROM students WHERE course = 'Art';
-- 5 answered
-- answered
SELECT arg_max(course, score) FROM students;
-- 5 answered
-- UnsupportedQuery: line 1, column 8: arg_max() shows one person's value | GROUP BY the first column and take MIN or MAX of the second
SELECT VAR(score) FROM students;
-- 12 refused: var_samp
-- UnsupportedQuery: line 1, column 8: the function var is not answered | write var_samp(x) or var_pop(x)
SELECT COUNT(*) FROM students WHERE city = "Boston";
-- 12 refused: quotes
-- UnknownName: line 1, column 44: there is no column 'Boston' in students | a string stands between single quotes: 'Boston'
SELECT TOP 5 course, COUNT(*) FROM students GROUP BY course;
-- 12 refused: LIMIT
-- UnsupportedQuery: line 1, column 8: TOP is not answered | write LIMIT 5 at the end
SELECT COUNT(*) FROM students WHERE enrolled >= to_date('2021-01-01', 'YYYY-MM-DD');
-- 12 refused: strptime
-- UnsupportedQuery: line 1, column 49: the function to_date is not answered | write strptime(text, '%Y-%m-%d'), or DATE '2024-01-31'
SELECT COUNT(*) FROM students WHERE (city, course) IN (('Boston', 'Math'), ('Austin', 'Art'));
-- 12 answered
-- answered
SELECT COUNT(*) FROM students WHERE city = ANY (['Boston', 'Denver']);
-- 12 answered
-- answered
SELECT COUNT(*) FROM students WHERE city = SOME (SELECT city FROM airports);
-- 12 answered
-- answered
SELECT COUNT(*) FROM students WHERE (grade, age) = (10, 15);
-- 12 answered
-- answered
SELECT IFNULL(city, 'none') AS city, COUNT(*) FROM students GROUP BY 1;
-- 0 answered
-- answered
SELECT NVL(city, 'none') AS city, COUNT(*) FROM students GROUP BY 1;
-- 12 refused: coalesce
-- UnsupportedQuery: line 1, column 8: the function nvl is not answered | write coalesce(x, other)
SELECT COUNT(*) FROM students WHERE ISNULL(city);
-- 12 refused: IS NULL
-- UnsupportedQuery: line 1, column 37: the function isnull is not answered | write x IS NULL, or coalesce(x, other)
SELECT COUNT(*) FROM students WHERE city == 'Boston';
-- 0 answered
-- answered
SELECT COUNT(*) FROM students WHERE city != 'Boston';
-- 0 answered
-- answered
SELECT COUNT(*) FROM students WHERE score > 80 && passed;
-- 12 refused: AND
-- UnsupportedQuery: line 1, column 45: && is not answered | write AND
SELECT CONCAT('n = ', COUNT(*)) FROM students;
-- 0 answered
-- answered
SELECT course, COUNT(*) FROM students GROUP BY course LIMIT 3, 2;
-- 12 refused: OFFSET
-- UnsupportedQuery: line 1, column 55: LIMIT takes one number | write LIMIT 2 OFFSET 3
SELECT DATEPART(year, enrolled) AS y, COUNT(*) FROM students GROUP BY DATEPART(year, enrolled);
-- 12 refused: quotes
-- UnknownName: line 1, column 80: there is no column 'year' in students | write the part between quotes: 'year'
SELECT TO_CHAR(enrolled, 'YYYY-MM') AS m, COUNT(*) FROM students GROUP BY 1;
-- 12 refused: strftime
-- UnsupportedQuery: line 1, column 8: the function to_char is not answered | write strftime(date, '%Y-%m')
SELECT DATE_FORMAT(enrolled, '%Y-%m') AS m, COUNT(*) FROM students GROUP BY 1;
-- 12 refused: strftime
-- UnsupportedQuery: line 1, column 8: the function date_format is not answered | write strftime(date, '%Y-%m')
SELECT LEN(city) AS l, COUNT(*) FROM students GROUP BY 1;
-- 0 answered
-- answered

-- ## Joins and subqueries
SELECT d.dname, COUNT(*) FROM emp e JOIN dept d ON e.deptno = d.deptno GROUP BY d.dname;
-- 4 answered
-- answered
SELECT d.dname, AVG(e.sal) AS pay FROM emp e, dept d WHERE e.deptno = d.deptno GROUP BY d.dname ORDER BY pay DESC;
-- 4 answered
-- answered
SELECT dname, job, SUM(sal) FROM emp NATURAL JOIN dept GROUP BY dname, job;
-- 4 answered
-- answered
SELECT loc, COUNT(*) FROM emp JOIN dept USING (deptno) WHERE job = 'CLERK' GROUP BY loc;
-- 4 answered
-- answered
SELECT d.dname, COUNT(e.deptno) FROM dept d LEFT JOIN emp e ON d.deptno = e.deptno GROUP BY d.dname;
-- 4 answered
-- answered
SELECT COUNT(*) FROM emp WHERE deptno IN (SELECT deptno FROM dept WHERE loc = 'DALLAS');
-- 0 answered
-- answered
SELECT COUNT(*) FROM emp e WHERE EXISTS (SELECT 1 FROM dept d WHERE d.deptno = e.deptno AND d.loc = 'CHICAGO');
-- 4 answered
-- answered
SELECT dept.dname, t.n FROM dept JOIN (SELECT deptno, COUNT(*) AS n FROM emp GROUP BY deptno) t ON dept.deptno = t.deptno;
-- 0 answered
-- answered
SELECT job, COUNT(*) FROM emp WHERE sal > (SELECT AVG(sal) FROM emp) GROUP BY job;
-- 8 answered
-- answered
SELECT COUNT(*) FROM emp WHERE sal > 2 * (SELECT AVG(sal) FROM emp WHERE job = 'CLERK');
-- 8 answered
-- answered
SELECT COUNT(*) FROM students WHERE course = (SELECT course FROM students GROUP BY course ORDER BY COUNT(*) DESC LIMIT 1);
-- 8 answered
-- answered
SELECT AVG(score) FROM students WHERE city IN (SELECT city FROM students GROUP BY city HAVING COUNT(*) > 100);
-- 8 answered
-- answered
WITH a AS (SELECT AVG(score) AS m FROM students) SELECT COUNT(*) FROM students, a WHERE score > a.m;
-- 8 answered
-- answered
SELECT COUNT(*) FROM emp e WHERE sal > (SELECT AVG(sal) FROM emp x WHERE x.deptno = e.deptno);
-- 8 answered
-- UnsupportedQuery: line 1, column 62: a correlated subquery over emp, which is no public table | name public tables in it, or count in a subquery of FROM and join that
SELECT e.job, e.sal FROM emp e WHERE e.sal = (SELECT MAX(sal) FROM emp);
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 1: this returns rows of the private table emp | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT job, SUM(sal + COALESCE(comm, 0)) AS pay FROM emp GROUP BY job;
-- 6 answered
-- answered
SELECT deptno, job, COUNT(*) FROM emp GROUP BY ROLLUP (deptno, job);
-- 11 answered
-- answered
SELECT deptno, job, SUM(sal) FROM emp GROUP BY CUBE (deptno, job);
-- 11 answered
-- answered
SELECT city FROM students WHERE course = 'Art' INTERSECT SELECT city FROM students WHERE course = 'Music';
-- 11 answered
-- answered
SELECT city FROM airports EXCEPT SELECT city FROM students;
-- 11 answered
-- answered
SELECT 'students' AS t, COUNT(*) FROM students UNION ALL SELECT 'emp', COUNT(*) FROM emp;
-- 0 answered
-- answered
SELECT COUNT(*) FROM (SELECT score FROM students WHERE course = 'Math' UNION ALL SELECT score FROM students WHERE course = 'Art') AS t;
-- 12 answered
-- answered
SELECT AVG(score) FROM (SELECT score FROM students WHERE gender = 'F' UNION ALL SELECT score FROM students WHERE gender = 'M') AS t;
-- 12 answered
-- answered
SELECT course, COUNT(*) FROM (SELECT course FROM students WHERE grade = 9 UNION ALL SELECT course FROM students WHERE grade = 12) GROUP BY course;
-- 12 answered
-- answered
SELECT course, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM students GROUP BY course;
-- 0 answered
-- answered
SELECT grade, course, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY grade), 1) AS pct FROM students GROUP BY grade, course;
-- 0 answered
-- answered
SELECT name, RANK() OVER (PARTITION BY course ORDER BY score DESC) FROM students;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table students | count them: SELECT COUNT(*), with GROUP BY for a breakdown
PIVOT (SELECT course, gender, COUNT(*) AS n FROM students GROUP BY ALL) ON gender USING SUM(n);
-- 11 answered
-- answered
PIVOT students ON gender USING COUNT(*) GROUP BY course;
-- 11 answered
-- answered
DESCRIBE students;
-- 11 answered
-- answered
SHOW TABLES;
-- 11 answered
-- answered
EXPLAIN SELECT COUNT(*) FROM students;
-- 11 answered
-- answered
INSERT INTO students (grade) VALUES (9);
-- 0 unanswerable: the database is only read
-- UnsupportedQuery: line 1, column 1: INSERT is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
UPDATE students SET score = 100;
-- 0 unanswerable: the database is only read
-- UnsupportedQuery: line 1, column 1: UPDATE is not a SELECT statement | only SELECT is answered; the owner changes tables, policy and settings
CREATE VIEW seniors AS SELECT course, COUNT(*) AS n FROM students WHERE grade = 12 GROUP BY course;
-- 11 answered
-- answered
CREATE TEMP TABLE by_city AS SELECT city, AVG(score) AS m FROM students GROUP BY city;
-- 11 answered
-- answered

-- ## Sent by tools and courses, written before any was tried
SELECT sex, COUNT(age) AS count, AVG(age) AS mean, STDDEV_SAMP(age) AS std, MIN(age) AS min, MEDIAN(age) AS p50, MAX(age) AS max FROM adult GROUP BY sex;
-- 0 answered
-- answered
SELECT education, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS freq FROM adult GROUP BY education ORDER BY n DESC;
-- 0 answered
-- answered
SELECT CORR(dep_delay, arr_delay) FROM flights;
-- 5 answered
-- answered
SELECT SKEWNESS(age), KURTOSIS(age) FROM adult;
-- 5 answered
-- answered
SELECT NTILE(4) OVER (ORDER BY n) AS q, workclass, n FROM (SELECT workclass, COUNT(*) AS n FROM adult GROUP BY workclass);
-- 0 answered
-- answered
SELECT width_bucket, COUNT(*) FROM (SELECT least(9, floor(hours_per_week / 10))::int AS width_bucket FROM adult) GROUP BY 1 ORDER BY 1;
-- 0 answered
-- answered
SELECT COUNT(DISTINCT age) AS nunique FROM adult WHERE income = '>50K';
-- 2 answered
-- answered
SELECT mode(education), mode(age) FROM adult;
-- 5 answered
-- answered
SELECT course, AVG(score) AS avg_score FROM students GROUP BY course HAVING AVG(score) > (SELECT AVG(score) FROM students);
-- 0 answered
-- answered
SELECT city, COUNT(*) FILTER (WHERE passed) AS p, COUNT(*) FILTER (WHERE NOT passed) AS f, ROUND(100.0 * COUNT(*) FILTER (WHERE passed) / COUNT(*), 1) AS rate FROM students GROUP BY city;
-- 0 answered
-- answered
SELECT d.dname, COUNT(e.job) AS heads FROM dept d LEFT JOIN emp e ON e.deptno = d.deptno GROUP BY d.dname ORDER BY heads DESC;
-- 0 answered
-- answered
SELECT job, COUNT(*) FROM emp e WHERE EXISTS (SELECT 1 FROM dept d WHERE d.deptno = e.deptno AND d.loc = 'CHICAGO') GROUP BY job;
-- 0 answered
-- answered
SELECT deptno, (SELECT dname FROM dept d WHERE d.deptno = e.deptno) AS dname, COUNT(*) FROM emp e GROUP BY deptno ORDER BY deptno;
-- 0 answered
-- answered
SELECT YEAR(hiredate) AS y, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY YEAR(hiredate)) AS growth FROM emp GROUP BY y ORDER BY y;
-- 0 answered
-- answered
SELECT course, max_by(city, n) AS top_city FROM (SELECT course, city, COUNT(*) AS n FROM students GROUP BY course, city) GROUP BY course ORDER BY course;
-- 0 answered
-- answered
SELECT left(name, 1) AS initial, COUNT(*) FROM students GROUP BY initial HAVING COUNT(*) >= 10 ORDER BY COUNT(*) DESC;
-- 7 answered
-- answered
SELECT * FROM (SELECT city, course, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY city ORDER BY COUNT(*) DESC) AS rn FROM students GROUP BY city, course) WHERE rn = 1;
-- 0 answered
-- answered
SELECT grade, GREATEST(COUNT(*) - 100, 0) AS over FROM students GROUP BY grade;
-- 0 answered
-- answered
SELECT COALESCE(city, 'ALL') AS city, COALESCE(gender, 'ALL') AS gender, COUNT(*) FROM students GROUP BY CUBE (city, gender);
-- 0 answered
-- answered
SELECT CASE WHEN score >= 90 THEN 'A' WHEN score >= 80 THEN 'B' WHEN score >= 70 THEN 'C' ELSE 'F' END AS letter, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM students) AS pct FROM students GROUP BY letter ORDER BY letter;
-- 0 answered
-- answered
