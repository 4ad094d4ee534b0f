-- ## Charts
SELECT region AS region, COUNT(*) AS count FROM main.sales GROUP BY region ORDER BY count DESC LIMIT 10000;
-- 0 answered
-- answered
SELECT sum(sales) AS "SUM(sales)" FROM main.sales WHERE order_date >= CAST('2023-03-01' AS DATE) AND order_date < CAST('2023-06-01' AS DATE) LIMIT 50000;
-- 0 answered
-- answered
SELECT DATE_TRUNC('MONTH', order_date) AS order_date, sum(sales) AS "SUM(sales)" FROM main.sales GROUP BY DATE_TRUNC('MONTH', order_date) ORDER BY "SUM(sales)" DESC LIMIT 10000;
-- 0 answered
-- answered
SELECT DATE_TRUNC('WEEK', order_date) AS __timestamp, segment AS segment, COUNT(*) AS count FROM main.sales GROUP BY segment, DATE_TRUNC('WEEK', order_date) ORDER BY count DESC LIMIT 10000;
-- 0 answered
-- answered
SELECT category AS category, sum(profit) / sum(sales) AS "Margin" FROM (SELECT category, profit, sales FROM main.sales) AS virtual_table GROUP BY category ORDER BY "Margin" DESC LIMIT 1000;
-- 0 answered
-- answered
SELECT education AS education, sex AS sex, AVG(hours_per_week) AS "AVG(hours_per_week)" FROM main.adult WHERE income IN ('>50K') GROUP BY education, sex ORDER BY "AVG(hours_per_week)" DESC LIMIT 1000;
-- 0 answered
-- answered
SELECT CASE WHEN age < 30 THEN 'under 30' WHEN age < 50 THEN '30 to 49' ELSE '50 and over' END AS "Age group", COUNT(*) AS count FROM main.adult GROUP BY CASE WHEN age < 30 THEN 'under 30' WHEN age < 50 THEN '30 to 49' ELSE '50 and over' END ORDER BY count DESC LIMIT 100;
-- 0 answered
-- answered
SELECT COUNT(*) AS count FROM main.adult WHERE ((age >= 25) AND education NOT IN ('HS-grad') AND occupation IS NOT NULL) LIMIT 50000;
-- 0 answered
-- answered
SELECT carrier AS carrier, COUNT(*) AS count, 100.0 * sum(CASE WHEN cancelled THEN 1 ELSE 0 END) / COUNT(*) AS "% cancelled" FROM main.flights GROUP BY carrier ORDER BY "% cancelled" DESC LIMIT 100;
-- 0 answered
-- answered
SELECT dest AS dest, sum(CASE WHEN dep_delay > 15 THEN 1 ELSE 0 END) AS "Late" FROM main.flights WHERE month = 9 AND carrier IN ('AA', 'UA') GROUP BY dest ORDER BY "Late" DESC LIMIT 25;
-- 0 answered
-- answered
SELECT COUNT(*) AS "rowcount" FROM (SELECT region AS region, COUNT(*) AS count FROM main.sales GROUP BY region LIMIT 1000) AS rowcount_qry;
-- 0 answered
-- answered
SELECT region AS region, MAX(sales) AS "MAX(sales)", MIN(sales) AS "MIN(sales)" FROM main.sales GROUP BY region ORDER BY "MAX(sales)" DESC LIMIT 100;
-- 1 answered
-- answered
SELECT max(order_date) AS "MAX(order_date)" FROM main.sales LIMIT 50000;
-- 1 answered
-- answered
SELECT COUNT(DISTINCT customer_id) AS "COUNT_DISTINCT(customer_id)" FROM main.sales LIMIT 50000;
-- 2 answered
-- answered
SELECT DATE_TRUNC('MONTH', order_date) AS __timestamp, COUNT(DISTINCT customer_id) AS "Customers" FROM main.sales GROUP BY DATE_TRUNC('MONTH', order_date) ORDER BY "Customers" DESC LIMIT 10000;
-- 2 answered
-- answered
SELECT carrier AS carrier, COUNT(DISTINCT dest) AS "COUNT_DISTINCT(dest)" FROM main.flights GROUP BY carrier ORDER BY 2 DESC LIMIT 100;
-- 2 answered
-- answered
SELECT count(distinct tailnum) AS "Planes" FROM main.flights LIMIT 50000;
-- 2 answered
-- answered
SELECT sex AS sex, quantile_cont(hours_per_week, 0.25) AS "q1", median(hours_per_week) AS "median", quantile_cont(hours_per_week, 0.75) AS "q3" FROM main.adult GROUP BY sex LIMIT 1000;
-- 5 answered
-- answered
SELECT stddev(dep_delay) AS "STDDEV(dep_delay)" FROM main.flights LIMIT 50000;
-- 5 answered
-- answered
SELECT month AS month, dest AS dest, AVG(arr_delay) AS "AVG(arr_delay)" FROM main.flights WHERE carrier IN ('DL') AND origin IN ('JFK') GROUP BY month, dest ORDER BY "AVG(arr_delay)" DESC LIMIT 10;
-- 10 answered
-- answered
SELECT education_num AS education_num, education AS education, AVG(hours_per_week) AS "AVG(hours_per_week)" FROM main.adult GROUP BY education_num, education ORDER BY "AVG(hours_per_week)" DESC LIMIT 10;
-- 10 answered
-- answered

-- ## Series limits and virtual tables
SELECT DATE_TRUNC('MONTH', order_date) AS order_date, region AS region, sum(sales) AS "SUM(sales)" FROM main.sales JOIN (SELECT region AS region__, sum(sales) AS mme_inner__ FROM main.sales GROUP BY region ORDER BY mme_inner__ DESC LIMIT 2) AS series_limit ON region = region__ GROUP BY DATE_TRUNC('MONTH', order_date), region ORDER BY "SUM(sales)" DESC LIMIT 10000;
-- 8 answered
-- answered
SELECT month AS month, carrier AS carrier, COUNT(*) AS count FROM main.flights JOIN (SELECT carrier AS carrier__, COUNT(*) AS mme_inner__ FROM main.flights WHERE month >= 6 GROUP BY carrier ORDER BY mme_inner__ DESC LIMIT 3) AS anon_1 ON carrier = carrier__ WHERE month >= 6 GROUP BY month, carrier ORDER BY count DESC LIMIT 10000;
-- 8 answered
-- answered
SELECT name AS name, COUNT(*) AS count FROM (SELECT f.month, a.name FROM main.flights f JOIN main.airlines a ON f.carrier = a.carrier) AS virtual_table GROUP BY name ORDER BY count DESC LIMIT 100;
-- 4 answered
-- answered
SELECT state AS state, sum(CASE WHEN cancelled THEN 1 ELSE 0 END) AS "Cancelled" FROM (SELECT * FROM main.flights JOIN main.airports ON dest = faa) AS virtual_table GROUP BY state ORDER BY 2 DESC LIMIT 100;
-- 4 answered
-- answered
SELECT carrier AS carrier, "Late" AS "Late" FROM (SELECT carrier, AVG(CASE WHEN dep_delay > 15 THEN 1.0 ELSE 0.0 END) AS "Late" FROM flights GROUP BY carrier) AS virtual_table ORDER BY "Late" DESC LIMIT 10;
-- 0 answered
-- answered
SELECT origin AS origin, sum(n) AS "SUM(n)" FROM (SELECT origin, dest, COUNT(*) AS n FROM flights GROUP BY origin, dest) AS virtual_table GROUP BY origin ORDER BY "SUM(n)" DESC LIMIT 100;
-- 0 answered
-- answered
SELECT segment AS segment, returned AS returned, COUNT(*) AS count FROM main.sales GROUP BY GROUPING SETS ((segment, returned), (segment), ()) ORDER BY count DESC LIMIT 1000;
-- 11 answered
-- answered
SELECT region, segment, category, sum(sales) AS "SUM(sales)" FROM main.sales GROUP BY ROLLUP (region, segment, category) ORDER BY 4 DESC LIMIT 1000;
-- 11 answered
-- answered
SELECT * FROM main.sales LIMIT 1001;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT order_date AS order_date, region AS region, sales AS sales FROM main.sales ORDER BY order_date DESC LIMIT 1000;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT product_name AS product_name FROM main.sales WHERE product_name LIKE '%table%' GROUP BY product_name LIMIT 1000;
-- 7 answered
-- answered
SELECT COUNT(*) AS count FROM main.sales WHERE product_name ILIKE '%lamp%' LIMIT 50000;
-- 7 answered
-- answered
SELECT DATE_TRUNC('HOUR', "EventTime") AS __timestamp, COUNT(*) AS count FROM main.hits GROUP BY DATE_TRUNC('HOUR', "EventTime") ORDER BY count DESC LIMIT 10000;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 98: EventTime is declared by day, and HOUR is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT COUNT(*) AS count FROM main.sales WHERE order_date >= DATE_TRUNC('DAY', CURRENT_TIMESTAMP) - INTERVAL '7 days' LIMIT 50000;
-- 9 answered
-- answered
SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name;
-- 11 answered
-- answered
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'sales' ORDER BY ordinal_position;
-- 11 answered
-- answered
SELECT avg(n) AS "Orders per customer" FROM (SELECT customer_id, COUNT(*) AS n FROM sales GROUP BY customer_id) AS virtual_table LIMIT 50000;
-- 3 answered
-- answered
SELECT n AS n, COUNT(*) AS count FROM (SELECT "UserID", COUNT(*) AS n FROM hits GROUP BY "UserID") AS virtual_table GROUP BY n ORDER BY n LIMIT 100;
-- 3 answered
-- answered

-- ## Sent by tools and courses, written before any was tried
SELECT carrier AS carrier, COUNT(*) AS count, AVG(dep_delay) AS "AVG(dep_delay)" FROM flights WHERE cancelled = false AND month >= 6 AND month < 9 GROUP BY carrier ORDER BY count DESC LIMIT 1000;
-- 0 answered
-- answered
SELECT region, category, SUM(profit) AS p FROM sales JOIN (SELECT region AS region__, SUM(profit) AS mme_inner__ FROM sales GROUP BY region ORDER BY mme_inner__ DESC LIMIT 2) AS series_limit ON region = region__ GROUP BY region, category;
-- 0 answered
-- answered
SELECT origin, min(dep_delay) AS lo, quantile_cont(dep_delay, 0.25) AS q1, median(dep_delay) AS med, quantile_cont(dep_delay, 0.75) AS q3, max(dep_delay) AS hi FROM flights GROUP BY origin;
-- 5 answered
-- answered
SELECT CASE WHEN age < 30 THEN 'young' WHEN age BETWEEN 30 AND 60 THEN 'mid' ELSE 'old' END AS band, income, COUNT(*) AS c FROM adult GROUP BY ALL ORDER BY ALL;
-- 0 answered
-- answered
