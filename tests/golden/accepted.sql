-- ## Counting rows
SELECT COUNT(*) FROM people;
-- people()
SELECT count(*) AS n FROM main.people AS p WHERE p.age >= 18 AND p.sex = 'Male';
-- people(age, sex)
SELECT COUNT(1), COUNT(age), COUNT(age + kids), COUNT(name) FROM people;
-- people(age, name)
SELECT COUNT(*) FILTER (WHERE member) AS members, COUNT(*) AS everyone FROM people;
-- people(member)
SELECT COUNT(CASE WHEN age > 20 THEN 1 END), SUM(CASE WHEN age > 20 THEN 1 ELSE 0 END), COUNT_IF(age > 20), countif(age > 20) FROM people;
-- people(age)
SELECT 100.0 * COUNT(*) FILTER (WHERE sex = 'Male') / COUNT(*) AS percent_male FROM people;
-- people(sex)
FROM people SELECT COUNT(*) WHERE age < 20;
-- people(age)
/* comments */ select Count(*) -- are skipped
from "people" where "AGE" < 20;
-- people(age)

-- ## Conditions
SELECT COUNT(*) FROM people WHERE age BETWEEN 18 AND 20 OR age = 25;
-- people(age)
SELECT COUNT(*) FROM people WHERE NOT (age > 20 AND sex = 'Male') AND city IS NOT NULL;
-- people(age, city, sex)
SELECT COUNT(*) FROM people WHERE city LIKE '%o%' AND city ~ '[A-Z].*' AND length(city) > 3;
-- people(city)
SELECT COUNT(*) FROM people WHERE joined >= DATE '2019-12-01' AND joined < DATE '2020-01-01' + INTERVAL 1 MONTH;
-- people(joined)
SELECT COUNT(*) FROM people WHERE year(joined) = 2019 AND EXTRACT(month FROM joined) = 12 AND strftime(joined, '%d') = '01';
-- people(joined)
SELECT COUNT(*) FROM people WHERE CASE WHEN member THEN age > 20 ELSE kids = 0 END;
-- people(age, kids, member)
SELECT COUNT(*) FROM people WHERE coalesce(city, 'none') IN ('none', 'Rome') AND hours::INT % 2 = 0;
-- people(city, hours)
SELECT COUNT(*) FROM people WHERE kids = age - 17 AND member IS DISTINCT FROM TRUE;
-- people(age, kids, member)
SELECT COUNT(*) FROM people WHERE hours BETWEEN 5 AND 30 AND round(hours / 3, 1) > 2;
-- people(hours)
SELECT COUNT(*) FROM people WHERE city IN (SELECT city FROM cities WHERE country <> 'USA');
-- people(city)
SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM cities);
-- people(age)
SELECT COUNT(*) FROM people WHERE TRUE AND NOT (1 > 2);
-- people()
SELECT COUNT(*) FROM people WHERE city NOT ILIKE 'r%' AND sex NOT ILIKE '!female' ESCAPE '!';
-- people(city, sex)
SELECT DATE '2020-01-31'::TIMESTAMP::VARCHAR AS moment, COUNT(*) FROM people WHERE joined < TIMESTAMP '2020-01-01 10:00:00'::DATE GROUP BY ALL;
-- people(joined) by 1 groups

-- ## Text columns
SELECT COUNT(*) FROM people WHERE name = 'a';
-- people(name)
SELECT COUNT(*) FROM people WHERE name IN ('a', 'b') AND age > 20;
-- people(age, name)
SELECT COUNT(*) FROM people WHERE name NOT IN ('a', 'b');
-- people(name)
SELECT COUNT(*) FROM people WHERE name <> 'a' OR name IS NULL;
-- people(name)
SELECT COUNT(*) FROM people WHERE name IN ('a', 'ab', 'b') AND name LIKE 'a%';
-- people(name)
SELECT COUNT(*) FROM people WHERE (name = 'a' AND member) OR (pet = 'b' AND age < 20);
-- people(age, member, name, pet)
SELECT name, COUNT(*) FROM people WHERE name IN ('a', 'b') GROUP BY name;
-- people(name) by 2 groups
SELECT upper(name) AS n, COUNT(*) FROM people WHERE name IN ('a', 'ab') GROUP BY n;
-- people(name) by 2 groups
SELECT name = 'a' AS is_a, COUNT(*) FROM people GROUP BY is_a;
-- people(name) by 3 groups
SELECT COUNT(*) FROM people WHERE name IN (SELECT lower(left(country, 1)) FROM cities);
-- people(name)

-- ## Prefixes of text columns
SELECT COUNT(*) FROM pets WHERE animal_name LIKE 'Re%';
-- pets(animal_name[:2])
SELECT COUNT(*) FROM pets WHERE animal_name NOT LIKE 'R%' AND species = 'Dog';
-- pets(animal_name[:1], species)
SELECT COUNT(*) FROM pets WHERE starts_with(animal_name, 'Re') OR animal_name ^@ 'Ma';
-- pets(animal_name[:2])
SELECT COUNT(*) FROM pets WHERE left(animal_name, 2) IN ('Re', 'Bo') AND animal_name <> 'Rex';
-- pets(animal_name, animal_name[:2])
SELECT COUNT(*) FROM pets WHERE substr(animal_name, 1, 1) = 'M' OR animal_name LIKE 'Re%' OR animal_name = 'Bo';
-- pets(animal_name, animal_name[:1], animal_name[:2])

-- ## Expressions of text
SELECT SUM(length(name)) FROM people;
-- people(name)
SELECT COUNT(*) FROM (SELECT DISTINCT age, lower(name) FROM people);
-- free
SELECT COUNT(*) FROM people WHERE name LIKE 'a%';
-- people(name)
SELECT COUNT(*) FROM people WHERE length(name) > 3;
-- people(name)
SELECT COUNT(*) FROM people WHERE name > 'm';
-- people(name)
SELECT COUNT(*) FROM people WHERE lower(name) = 'a';
-- people(name)
SELECT COUNT(*) FROM people WHERE name = 'a' OR name LIKE 'b%';
-- people(name)
SELECT COUNT(*) FROM pets WHERE animal_name LIKE 'Rex%';
-- pets(animal_name)
SELECT COUNT(*) FROM pets WHERE animal_name LIKE '%x';
-- pets(animal_name)
SELECT COUNT(*) FROM pets WHERE animal_name LIKE 'R_x%';
-- pets(animal_name)
SELECT COUNT(*) FROM pets WHERE animal_name ILIKE 'r%';
-- pets(animal_name)
SELECT COUNT(*) FROM pets WHERE animal_name LIKE 'R!%%' ESCAPE '!';
-- free
SELECT COUNT(*) FROM pets WHERE animal_name LIKE 'R%' AND length(animal_name) > 3;
-- free
SELECT left(animal_name, 3), COUNT(*) FROM pets GROUP BY 1;
-- pets(animal_name) by 4 groups
SELECT upper(animal_name), COUNT(*) FROM pets GROUP BY 1;
-- pets(animal_name) by 4 groups
SELECT COUNT(*) FROM pets WHERE animal_name NOT LIKE '%x' AND species = 'Cat';
-- pets(animal_name, species)
SELECT COUNT(*) FILTER (WHERE animal_name ~ 'R.*'), COUNT(*) FROM pets;
-- pets(animal_name)
SELECT AVG(length(animal_name)) FROM pets;
-- pets(animal_name)
SELECT upper(left(animal_name, 1)) AS initial, COUNT(*) FROM pets GROUP BY initial ORDER BY initial;
-- pets(animal_name) by 3 groups
-- ## Groups of text columns
SELECT animal_name, COUNT(*) FROM pets GROUP BY animal_name;
-- pets(animal_name) by 4 groups
SELECT name, COUNT(*) AS n FROM people WHERE sex = 'Male' GROUP BY name ORDER BY n DESC, name LIMIT 10;
-- people(name, sex) by 9 groups
SELECT left(animal_name, 2) AS start, species, COUNT(*) FROM pets WHERE animal_name IS NOT NULL GROUP BY ALL HAVING COUNT(*) > 0;
-- pets(animal_name[:2], species) by 6 groups
SELECT DISTINCT name FROM people;
-- free
SELECT animal_name, COUNT(*) FROM pets WHERE length(animal_name) = 3 AND upper(animal_name) LIKE 'RE%' GROUP BY animal_name;
-- pets(animal_name) by 2 groups

-- ## Sums and averages
SELECT SUM(age), AVG(age), AVG(hours), SUM(age * kids) FROM people;
-- people(age, hours, kids)
SELECT SUM(age::INT), AVG(CASE WHEN member THEN 1 ELSE 0 END), SUM((age > 20)::INT) FROM people;
-- people(age, member)
SELECT SUM(CASE WHEN sex = 'Male' THEN kids ELSE -1 END), mean(kids) FILTER (WHERE age > 20) FROM people;
-- people(age, kids, sex)
SELECT AVG(CASE WHEN hours > 10 THEN hours END), SUM(nullif(hours, 40)), COUNT(coalesce(hours, age)) FROM people;
-- people(age, hours)
SELECT SUM(age) FROM people WHERE name = 'a';
-- people(age, name)

-- ## Extremes, quantiles and distinct values
SELECT MIN(age), MAX(age), MAX(kids) FILTER (WHERE member) FROM people;
-- people(age, kids, member)
SELECT sex, MAX(age) - MIN(age) AS range FROM people GROUP BY sex ORDER BY range DESC, sex;
-- people(age, sex) by 3 groups
SELECT MIN(joined), MAX(city), MIN(name), MAX(member) FROM people;
-- people(city, joined, member, name)
SELECT median(age), quantile_cont(age, 0.25), quantile_disc(age, 0.9), approx_quantile(kids, 0.5) FROM people;
-- people(age, kids)
SELECT city, percentile_cont(0.75) WITHIN GROUP (ORDER BY age) AS upper_quartile, percentile_disc(0.5) WITHIN GROUP (ORDER BY kids) AS k FROM people GROUP BY city;
-- people(age, city, kids) by 5 groups
SELECT percentile_cont(0.1) WITHIN GROUP (ORDER BY age DESC) AS tenth FROM people WHERE age > 18;
-- people(age)
SELECT COUNT(DISTINCT age), COUNT(DISTINCT CASE WHEN member THEN city END), approx_count_distinct(age // 10) FROM people;
-- people(age, city, member)
SELECT sex, histogram(kids) AS h, approx_top_k(city, 2) AS k FROM people WHERE member GROUP BY sex;
-- people(city, kids, member, sex) by 3 groups
SELECT skewness(age), kurtosis(kids), kurtosis_pop(kids) FROM people;
-- people(age, kids)
SELECT mode(sex), bool_or(age > 20), bool_and(age >= 18) FROM people;
-- people(age, sex)
SELECT COUNT(DISTINCT name), COUNT(DISTINCT pet) FILTER (WHERE member AND age > 20) FROM people WHERE sex = 'Male' OR kids > 0;
-- people(age, kids, member, name, pet, sex)
SELECT sex, COUNT(*) AS n, COUNT(DISTINCT CASE WHEN age < 20 THEN name END) AS names FROM people WHERE pet <> 'a' GROUP BY sex ORDER BY names, sex;
-- people(age, name, pet, sex) by 3 groups
SELECT sex, COUNT(DISTINCT city) AS cities FROM people GROUP BY sex HAVING COUNT(DISTINCT city) > 1;
-- people(city, sex) by 3 groups
SELECT MAX(age + kids), median(2 * kids) FROM people;
-- people(age, kids)
SELECT SUM(DISTINCT age), SUM(DISTINCT kids - 1) FILTER (WHERE member), SUM(DISTINCT age // 10) FROM people;
-- people(age, kids, member)
SELECT sex, COUNT(DISTINCT (kids, city)) AS homes, COUNT(DISTINCT (member, age)) AS pairs FROM people GROUP BY sex;
-- people(age, city, kids, member, sex) by 3 groups

-- ## Variances, correlations and regressions
SELECT stddev(age), var_samp(age), variance(kids), stddev_pop(age), var_pop(kids), sem(age) FROM people;
-- people(age, kids)
SELECT sex, stddev_samp(age) FILTER (WHERE member) AS spread FROM people GROUP BY sex;
-- people(age, member, sex) by 3 groups
SELECT corr(age, kids), covar_pop(age, kids), covar_samp(age, kids) FROM people;
-- people(age, kids)
SELECT regr_slope(kids, age), regr_intercept(kids, age), regr_r2(kids, age), regr_count(kids, age) FROM people;
-- people(age, kids)
SELECT regr_avgx(kids, age), regr_avgy(kids, age), regr_sxx(kids, age), regr_syy(kids, age), regr_sxy(kids, age) FROM people;
-- people(age, kids)
SELECT stddev(age) / AVG(age) AS relative FROM people;
-- people(age)

-- ## Groups
SELECT sex, COUNT(*) FROM people GROUP BY sex;
-- people(sex) by 3 groups
SELECT sex, member, COUNT(*) AS n FROM people GROUP BY 1, 2;
-- people(member, sex) by 9 groups
SELECT sex, COUNT(*), member FROM people GROUP BY ALL;
-- people(member, sex) by 9 groups
SELECT age // 2 AS half, COUNT(*) FROM people GROUP BY half;
-- people(age) by 6 groups
SELECT CASE WHEN age < 20 THEN 'young' ELSE 'old' END AS class, AVG(kids) FROM people GROUP BY class;
-- people(age, kids) by 2 groups
SELECT COUNT(*) FROM people GROUP BY sex;
-- people(sex) by 3 groups
SELECT age, COUNT(*) FROM people WHERE age IN (18, 20) GROUP BY age;
-- people(age) by 2 groups
SELECT date_trunc('year', joined) AS y, COUNT(*) FROM people GROUP BY y;
-- people(joined) by 3 groups
SELECT sex FROM people GROUP BY sex;
-- free
SELECT DISTINCT sex, member FROM people WHERE sex IS NOT NULL;
-- free

-- ## On the released numbers
SELECT age, COUNT(*) AS n FROM people GROUP BY age HAVING COUNT(*) > 50 ORDER BY n DESC, age;
-- people(age) by 10 groups
SELECT age, COUNT(*) AS n FROM people GROUP BY age HAVING n > 50 AND age > 18 ORDER BY 1 DESC LIMIT 3 OFFSET 1;
-- people(age) by 10 groups
SELECT age, sex, COUNT(*) FROM people GROUP BY ALL ORDER BY ALL;
-- people(age, sex) by 30 groups
SELECT age + 1 AS next, COUNT(*) * 2, COUNT(*) + age FROM people WHERE age IS NOT NULL GROUP BY age;
-- people(age) by 9 groups
SELECT age % 2 + 1 AS odd, COUNT(*) FROM people GROUP BY age % 2;
-- people(age) by 3 groups
SELECT COUNT(*) AS n, n * 2 AS twice, round(100 * n / SUM(n) OVER (), 1) AS share FROM people GROUP BY sex;
-- people(sex) by 3 groups
SELECT sex, COUNT(*), rank() OVER (ORDER BY COUNT(*) DESC, sex) AS place FROM people GROUP BY sex QUALIFY place <= 2;
-- people(sex) by 3 groups
SELECT sex, SUM(COUNT(*)) OVER w AS running FROM people GROUP BY sex WINDOW w AS (ORDER BY sex);
-- people(sex) by 3 groups
SELECT DISTINCT COUNT(*) > 0 AS some FROM people GROUP BY sex;
-- people(sex) by 3 groups
SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM people;
-- people()
SELECT sex, count(*) n, dp_interval_low(n) lo, dp_interval_high(n) hi FROM people GROUP BY ALL;
-- people(sex) by 3 groups
SELECT sex, 100.0 * COUNT(*) FILTER (member) / COUNT(*) AS share, DP_INTERVAL_LOW(share) AS low FROM people GROUP BY sex;
-- people(member, sex) by 3 groups

-- ## Aliases that hide a column
SELECT sex, AVG(age) AS age FROM people GROUP BY ALL ORDER BY age DESC;
-- people(age, sex) by 3 groups
SELECT sex, -SUM(kids) AS age FROM people GROUP BY sex HAVING age < -4 AND SUM(age) > 4 ORDER BY (age) NULLS FIRST, SUM(age);
-- people(age, kids, sex) by 3 groups
SELECT kids % 2 AS kids, COUNT(*) AS n FROM people GROUP BY kids % 2 HAVING kids > 0;
-- people(kids) by 2 groups
SELECT kids AS age, age AS kids, COUNT(*) AS n FROM people GROUP BY age, kids HAVING age > 18 ORDER BY age, kids;
-- people(age, kids) by 30 groups
SELECT -kids AS kids, COUNT(*) AS n FROM people GROUP BY kids ORDER BY kids * 2;
-- people(kids) by 3 groups
SELECT DISTINCT ON (age) sex, COUNT(*) AS age FROM people GROUP BY ALL ORDER BY age;
-- people(sex) by 3 groups
SELECT sex, COUNT(*) AS g0 FROM people GROUP BY sex ORDER BY g0 + 1;
-- people(sex) by 3 groups
SELECT sex, COUNT(*) AS n, n + 1 AS next, rank() OVER (ORDER BY n) AS place FROM people GROUP BY ALL ORDER BY n;
-- people(sex) by 3 groups
SELECT age AS a, -COUNT(*) AS a FROM people WHERE age < 20 GROUP BY age HAVING a < 0 ORDER BY abs(a) DESC, age;
-- people(age) by 3 groups
SELECT COUNT(*) AS sex, sex FROM people GROUP BY sex ORDER BY (sex) DESC LIMIT 2;
-- people(sex) by 3 groups

-- ## Subqueries, CTEs, unions and joins
SELECT COUNT(*) FROM (SELECT age, kids + 1 AS k FROM people WHERE age > 18) AS t WHERE t.k = 2;
-- people(age, kids)
WITH adults AS (SELECT * FROM people WHERE age >= 18) SELECT sex, COUNT(*) FROM adults GROUP BY sex;
-- people(age, sex) by 3 groups
WITH a AS (SELECT age AS years, name FROM people), b AS (SELECT years FROM a WHERE name = 'a') SELECT COUNT(*) FROM b WHERE years > 20;
-- people(age, name)
SELECT * FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) WHERE n > 10 ORDER BY n, sex;
-- people(sex) by 3 groups
SELECT "count_star()" + 1 AS m FROM (SELECT COUNT(*) FROM people);
-- people()
WITH g AS (SELECT age, COUNT(*) AS n FROM people GROUP BY age) SELECT MAX(n) AS top, median(n) AS middle FROM g;
-- people(age) by 10 groups
SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM people GROUP BY sex, member);
-- people(member, sex) by 9 groups
SELECT 'old' AS class, COUNT(*) AS n FROM people WHERE age > 20 UNION ALL SELECT 'young', COUNT(*) FROM people WHERE age <= 20;
-- people(age); people(age)
SELECT (SELECT COUNT(*) FROM people WHERE member) AS members, (SELECT COUNT(*) FROM people) AS everyone;
-- people(); people(member)
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > (SELECT COUNT(*) / 10 FROM people);
-- people(sex) by 3 groups; people()
SELECT c.country, r.n FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) AS r JOIN cities AS c ON r.city = c.city;
-- people(city) by 5 groups
SELECT c.country, COUNT(*) AS n FROM people p JOIN cities c ON p.city = c.city GROUP BY c.country;
-- people(city) by 3 groups
SELECT country, AVG(kids), COUNT(*) FROM people NATURAL LEFT JOIN (SELECT city, country FROM cities) WHERE member GROUP BY country;
-- people(city, kids, member) by 4 groups
SELECT COUNT(*), SUM(cities.age) FROM people, cities WHERE people.city = cities.city AND cities.age < people.age;
-- people(age, city)
SELECT country, COUNT(p.city) AS n FROM cities c LEFT JOIN people p USING (city) WHERE c.city IS NOT NULL GROUP BY country;
-- people(city) by 3 groups
SELECT COUNT(*) FROM people p JOIN cities c ON p.kids = c.age % 2;
-- people(kids)
SELECT COUNT(*) FROM people AS p WHERE EXISTS (SELECT 1 FROM cities c WHERE c.city = p.city AND c.country = p.sex);
-- free
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities WHERE cities.age > people.age + kids);
-- people(age, kids)
SELECT city, (SELECT max(c.country) FROM cities c WHERE c.city = p.city) AS country, COUNT(*) AS n FROM people p GROUP BY city;
-- people(city) by 5 groups
SELECT (SELECT count(*) FROM cities c WHERE c.age <= p.age) AS younger_cities, COUNT(*) FROM people p GROUP BY ALL;
-- people(age) by 5 groups
SELECT COUNT(*) FROM people p WHERE p.age > (SELECT AVG(c.age) FROM cities c WHERE length(c.city) > p.kids);
-- people(age)
WITH parent AS (SELECT city AS c FROM cities) SELECT COUNT(*) AS orphans FROM people LEFT JOIN parent ON city = c WHERE c IS NULL AND city IS NOT NULL;
-- people(city)
SELECT a.sex, a.n - b.n AS difference FROM (SELECT sex, COUNT(*) n FROM people GROUP BY sex) a JOIN (SELECT sex, COUNT(*) n FROM people WHERE member GROUP BY sex) b USING (sex);
-- people(sex) by 3 groups; people(member, sex) by 3 groups
SELECT p.n + q.n AS total FROM (SELECT COUNT(*) n FROM people) p, (SELECT COUNT(*) n FROM pets WHERE animal_name = 'Rex') q;
-- people(); pets(animal_name)
WITH unread AS (SELECT COUNT(*) AS n FROM people WHERE member), through AS (SELECT n FROM unread), read AS (SELECT COUNT(*) AS n FROM people) SELECT n + 1 AS m FROM read;
-- people()
WITH cities AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex), more AS (SELECT * FROM cities) SELECT MAX(n) AS top FROM more;
-- people(sex) by 3 groups
SELECT * FROM (SELECT sex, COUNT(*) AS n, n * 2 AS m FROM people GROUP BY sex HAVING n > 3) q WHERE n > 10 ORDER BY 2 DESC LIMIT 2;
-- people(sex) by 3 groups
WITH g AS (SELECT age, COUNT(*) AS n FROM people GROUP BY age), h AS (SELECT n AS m, age, age % 2 = 0 AS even FROM g WHERE age > 18) SELECT h.*, m + 1 AS more FROM h WHERE even ORDER BY ALL;
-- people(age) by 10 groups
SELECT n, _row FROM (SELECT COUNT(*) AS n, sex AS _row FROM people GROUP BY sex) ORDER BY n DESC;
-- people(sex) by 3 groups
SELECT q FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) AS q WHERE n > 10;
-- people(sex) by 3 groups
WITH cities AS (SELECT country, COUNT(*) AS n FROM people JOIN cities USING (city) GROUP BY country) SELECT country, n FROM cities WHERE n > 3;
-- people(city) by 3 groups

-- ## Free: nothing private is asked
SELECT 1;
-- free
SELECT 1 + 1 AS two, 'x' || 'y';
-- free
SELECT country, COUNT(*) FROM cities GROUP BY country ORDER BY country;
-- free
SELECT * FROM people LIMIT 0;
-- free
SELECT age, sex FROM people WHERE 1 = 0;
-- free
SELECT COUNT(*) FROM people WHERE age > 20 AND 1 = 0;
-- free
SELECT COUNT(*) AS n FROM people WHERE FALSE;
-- free
VALUES (1, 'a'), (2, 'b');
-- free
WITH unread AS (SELECT COUNT(*) AS n FROM people) SELECT 1 AS one;
-- free
SELECT replace(lpad('7', 3, '0'), '0', 'ab') AS padded, format('{:5d}', 7), printf('%05.1f', 7.5);
-- free

-- ## Spellings of other dialects
SELECT `sex`, COUNT(*) AS `n` FROM `people` GROUP BY `sex`;
-- people(sex) by 3 groups
SELECT COUNT(*) FROM people WHERE substring(city FROM 1 FOR 2) = 'Ro' OR trim(LEADING 'B' FROM city) = 'onn';
-- people(city)
SELECT COUNT(*) FROM pets WHERE substring(animal_name FROM 1 FOR 2) = 'Re';
-- pets(animal_name[:2])
SELECT COUNT(*) FROM people WHERE position('a' IN sex) = 2;
-- people(sex)
SELECT COUNT(*) FROM people WHERE (sex, age) IN (('Male', 20), ('Female', NULL)) OR (city, member) = ('Rome', TRUE);
-- people(age, city, member, sex)
SELECT COUNT(*) FROM people WHERE (name, sex) IN (('a', 'Male'), ('b', 'Female'));
-- people(name, sex)
SELECT COUNT(*) FROM people WHERE city = ANY (['Rome', 'Bonn']) AND age = SOME (SELECT age FROM cities);
-- people(age, city)
SELECT COUNT(*) FROM people WHERE list_contains([18, 20], age) AND name = ANY (['a', 'b']);
-- people(age, name)
SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n DESC FETCH FIRST 2 ROWS ONLY;
-- people(sex) by 3 groups

-- ## UNION ALL of rows
SELECT COUNT(*) FROM (SELECT age FROM people WHERE sex = 'Male' UNION ALL SELECT age FROM people WHERE age > 20);
-- people(age, sex)
SELECT AVG(x), SUM(x), COUNT(x) FROM (SELECT hours AS x FROM people WHERE member UNION ALL SELECT kids * 1.5::DOUBLE FROM people WHERE city = 'Rome' UNION ALL SELECT hours + age FROM people) AS t WHERE x > 1;
-- people(age, city, hours, kids, member)
SELECT sex, COUNT(*) AS n, AVG(age) FILTER (WHERE age > 18) AS m FROM (SELECT sex, age FROM people WHERE kids = 0 UNION ALL SELECT sex, age FROM people) AS t GROUP BY sex ORDER BY n;
-- people(age, kids, sex) by 3 groups
WITH t AS (SELECT sex AS s, name FROM people UNION ALL (SELECT sex, name FROM people WHERE member UNION ALL SELECT sex, pet FROM people)) SELECT COUNT(*) FROM t WHERE name IN ('a', 'b') AND s = 'Male';
-- people(member, name, pet, sex)

-- ## Sets of groups
SELECT sex, city, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, city) ORDER BY sex, city, n;
-- people(city, sex) by 15 groups; people(sex) by 3 groups; people()
SELECT coalesce(sex, 'all') AS who, AVG(age), GROUPING(sex) AS level FROM people GROUP BY CUBE (sex, member) HAVING COUNT(*) > 10 ORDER BY ALL;
-- people(age, member, sex) by 9 groups; people(age, sex) by 3 groups; people(age, member) by 3 groups; people(age)
SELECT age >= 40 AS older, member, COUNT(*) FROM people GROUP BY ROLLUP (member, age >= 40) ORDER BY ALL;
-- people(age, member) by 6 groups; people(member) by 3 groups; people()
SELECT p.sex, SUM(kids) FROM people AS p WHERE p.age > 18 GROUP BY GROUPING SETS ((p.sex, member), (member), ()) ORDER BY GROUPING_ID(sex, member), 2;
-- people(age, kids, member, sex) by 9 groups; people(age, kids, member) by 3 groups; people(age, kids)
SELECT year(joined) AS y, member, COUNT(*) FILTER (WHERE age > 20) FROM people GROUP BY member, ROLLUP (y, (sex, city));
-- people(age, city, joined, member, sex) by 135 groups; people(age, joined, member) by 9 groups; people(age, member) by 3 groups
SELECT member, COUNT(*) * 2 AS twice, SUM(kids) FROM people GROUP BY ROLLUP (1) ORDER BY COUNT(*) DESC LIMIT 2;
-- people(kids, member) by 3 groups; people(kids)
SELECT year(joined) AS y, COUNT(*) AS n, COUNT(*) FILTER (WHERE year(joined) = 2020) AS this FROM people WHERE y >= 2019 GROUP BY ROLLUP (y) ORDER BY n;
-- people(joined) by 2 groups; people(joined)
SELECT sex AS a, -COUNT(*) AS a FROM people GROUP BY ROLLUP (sex) ORDER BY a LIMIT 2;
-- people(sex) by 3 groups; people()
SELECT sex FROM people GROUP BY CUBE (sex);
-- free
SELECT sex FROM people GROUP BY ROLLUP (sex) HAVING GROUPING(sex) = 1;
-- free
SELECT sex, grouping(sex), COUNT(*) FROM people GROUP BY sex;
-- people(sex) by 3 groups
SELECT member FROM people GROUP BY ROLLUP (member) EXCEPT SELECT CASE WHEN sex = 'Male' THEN true END FROM people GROUP BY CUBE (sex);
-- free
WITH t AS (SELECT sex, member, COUNT(*) AS n FROM (SELECT * FROM people WHERE age > 19) GROUP BY ROLLUP (sex, member)) SELECT sex, max(n) FROM t WHERE member IS NULL GROUP BY sex;
-- people(age, member, sex) by 9 groups; people(age, sex) by 3 groups; people(age)

-- ## PIVOT and UNPIVOT
PIVOT people ON sex USING COUNT(*) GROUP BY city ORDER BY city DESC LIMIT 2;
-- people(city, sex) by 5 groups
PIVOT people ON sex, member USING COUNT(*) AS n, AVG(age) GROUP BY kids;
-- people(age, kids, member, sex) by 3 groups
PIVOT (SELECT * FROM people WHERE age > 20) ON sex IN ('Female', 'Male') USING SUM(kids) AS kids GROUP BY member;
-- people(age, kids, member, sex) by 3 groups
SELECT city, "Male" - "Female" AS more FROM (PIVOT people ON sex GROUP BY city) ORDER BY city;
-- people(city, sex) by 5 groups
SELECT * FROM people PIVOT (COUNT(*) AS n, SUM(age) FOR sex IN ('Female' AS f, 'Male') member IN (true) GROUP BY kids);
-- people(age, kids, member, sex) by 3 groups
UNPIVOT (SELECT COUNT(*) AS all_of_them, COUNT_IF(member) AS members FROM people) ON all_of_them, members INTO NAME who VALUE n;
-- people(member); people(member)
SELECT * FROM (SELECT sex, COUNT(*) AS n, SUM(kids) AS kids FROM people GROUP BY sex) UNPIVOT (x FOR what IN (n AS rows, kids));
-- people(kids, sex) by 3 groups; people(kids, sex) by 3 groups
WITH p AS (SELECT sex, member FROM people) PIVOT p ON sex USING COUNT(*) GROUP BY member ORDER BY ALL;
-- people(member, sex) by 3 groups
WITH p AS (SELECT sex, city FROM people WHERE member) SELECT COUNT(value) AS n FROM (UNPIVOT p ON sex, city);
-- people(city, member, sex)

-- ## INTERSECT, EXCEPT and UNION of values
SELECT city FROM people WHERE member INTERSECT SELECT city FROM cities ORDER BY city;
-- free
SELECT city FROM cities EXCEPT SELECT city FROM people;
-- free
SELECT city FROM people UNION SELECT country FROM cities;
-- free

-- ## Series, lists and structs
SELECT age, coalesce(n, 0) AS n FROM generate_series(16, 30) AS s(age) LEFT JOIN (SELECT age, COUNT(*) AS n FROM people GROUP BY age) USING (age) ORDER BY age;
-- people(age) by 10 groups
WITH m AS (SELECT unnest(range(1, 4)) AS m) SELECT m, n FROM m, (SELECT COUNT(*) AS n FROM people);
-- people()
SELECT COUNT(*) FROM people WHERE kids IN (SELECT x FROM unnest([0, 2]) AS t(x));
-- people(kids)
SELECT COUNT(*) FROM people JOIN range(18, 21) AS r(a) ON people.age = r.a;
-- people(age)
SELECT * FROM generate_series(DATE '2020-01-01', DATE '2020-03-01', INTERVAL 1 MONTH) AS d(month);
-- free
SELECT sex, [COUNT(*), COUNT_IF(member)] AS both, {'n': COUNT(*), 'kids': SUM(kids)} AS s, struct_pack(n := COUNT(*)) AS t FROM people GROUP BY sex;
-- people(kids, member, sex) by 3 groups
SELECT sex, {'n':COUNT(*),'k':1} AS s, map{'n':COUNT(*),'kids':SUM(kids)} AS m FROM people GROUP BY sex;
-- people(kids, sex) by 3 groups
SELECT quantile_disc(age, [0.25, 0.75]) AS quartiles FROM people;
-- people(age)
SELECT fsum(kids), favg(age), kahan_sum(kids), sumkahan(kids) FROM people;
-- people(age, kids)

-- ## EXISTS in a look-up table
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities WHERE cities.city = people.city AND country <> 'USA');
-- people(city)
SELECT sex, COUNT(*) FROM people AS p WHERE NOT EXISTS (SELECT * FROM cities c WHERE p.city = c.city) OR kids = 0 GROUP BY sex;
-- people(city, kids, sex) by 3 groups
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT country FROM cities WHERE country = 'USA') AND age < 20;
-- people(age)
