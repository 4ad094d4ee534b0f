-- ## Explores
SELECT sales.region AS "sales.region", COUNT(*) AS "sales.count" FROM sales AS sales GROUP BY 1 ORDER BY 2 DESC FETCH NEXT 500 ROWS ONLY;
-- 0 answered
-- answered
SELECT sales.category AS "sales.category", COALESCE(SUM(sales.sales), 0) AS "sales.total_sales" FROM sales AS sales WHERE (sales.segment = 'Consumer') GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
-- 0 answered
-- answered
SELECT DATE_TRUNC('month', sales.order_date) AS "sales.order_month", COUNT(*) AS "sales.count" FROM sales AS sales WHERE ((sales.order_date >= DATE '2023-01-01') AND (sales.order_date < DATE '2023-07-01')) GROUP BY 1 ORDER BY 1 DESC LIMIT 500;
-- 0 answered
-- answered
SELECT strftime(DATE_TRUNC('month', sales.order_date), '%Y-%m') AS "sales.order_month", SUM(sales.profit) AS "sales.profit" FROM sales AS sales GROUP BY 1 ORDER BY 1 DESC LIMIT 500;
-- 0 answered
-- answered
SELECT CASE WHEN adult.age < 20 THEN '0' WHEN adult.age >= 20 AND adult.age < 40 THEN '1' ELSE '2' END AS "adult.age_tier__sort_", COUNT(*) AS "adult.count" FROM adult AS adult GROUP BY 1 ORDER BY 1 LIMIT 500;
-- 0 answered
-- answered
SELECT COUNT(CASE WHEN sales.returned THEN 1 ELSE NULL END) AS "sales.returned_count", 1.0 * COUNT(CASE WHEN sales.returned THEN 1 ELSE NULL END) / NULLIF(COUNT(*), 0) AS "sales.returned_rate" FROM sales AS sales LIMIT 500;
-- 0 answered
-- answered
SELECT CASE WHEN sales.returned THEN 'Yes' ELSE 'No' END AS "sales.is_returned", AVG(sales.sales) AS "sales.average_sale" FROM sales AS sales GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
-- 0 answered
-- answered
SELECT * FROM (SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) AS z___pivot_row_rank, RANK() OVER (PARTITION BY z__pivot_col_rank ORDER BY z___min_rank) AS z__pivot_col_ordering FROM (SELECT *, MIN(z___rank) OVER (PARTITION BY "sales.region") AS z___min_rank FROM (SELECT *, RANK() OVER (ORDER BY "sales.region" ASC, z__pivot_col_rank) AS z___rank FROM (SELECT *, DENSE_RANK() OVER (ORDER BY "sales.category" NULLS LAST) AS z__pivot_col_rank FROM (SELECT sales.category AS "sales.category", sales.region AS "sales.region", COUNT(*) AS "sales.count" FROM sales AS sales GROUP BY 1, 2) ww) bb WHERE z__pivot_col_rank <= 16384) aa) xx) zz WHERE z___pivot_row_rank <= 500 OR z__pivot_col_ordering = 1 ORDER BY z___pivot_row_rank;
-- 0 answered
-- answered
SELECT sales.region AS "sales.region", COUNT(*) AS "sales.count", COUNT(*) / SUM(COUNT(*)) OVER () AS "sales.share" FROM sales AS sales GROUP BY 1 HAVING (COUNT(*) > 5) ORDER BY 2 DESC LIMIT 500;
-- 0 answered
-- answered
SELECT COUNT(*) AS "adult.count" FROM adult AS adult WHERE (adult.education IN ('Bachelors', 'Masters')) AND (adult.hours_per_week > 40) AND (adult.sex <> 'Male' OR adult.sex IS NULL) LIMIT 500;
-- 0 answered
-- answered
SELECT COUNT(DISTINCT sales.customer_id) AS "sales.customer_count" FROM sales AS sales LIMIT 500;
-- 2 answered
-- answered
SELECT sales.segment AS "sales.segment", COUNT(DISTINCT sales.customer_id) AS "customers.count", COALESCE(SUM(sales.sales), 0) / NULLIF(COUNT(DISTINCT sales.customer_id), 0) AS "sales.per_customer" FROM sales AS sales GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
-- 2 answered
-- answered
SELECT COUNT(DISTINCT CASE WHEN sales.returned THEN sales.customer_id ELSE NULL END) AS "customers.returning" FROM sales AS sales LIMIT 500;
-- 2 answered
-- answered
SELECT MAX(sales.order_date) AS "sales.latest_order", MIN(sales.order_date) AS "sales.first_order" FROM sales AS sales LIMIT 500;
-- 1 answered
-- answered
SELECT flights.carrier AS "flights.carrier", MAX(flights.dep_delay) AS "flights.worst_delay" FROM flights AS flights GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
-- 1 answered
-- answered
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY flights.dep_delay) AS "flights.median_delay" FROM flights AS flights LIMIT 500;
-- 5 answered
-- answered
SELECT flights.origin AS "flights.origin", APPROX_QUANTILE(flights.dep_delay, 0.95) AS "flights.p95" FROM flights AS flights GROUP BY 1 LIMIT 500;
-- 5 answered
-- answered
SELECT airlines.name AS "airlines.name", COUNT(*) AS "flights.count" FROM flights AS flights LEFT JOIN airlines AS airlines ON flights.carrier = airlines.carrier GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
-- 4 answered
-- answered
SELECT origin.city AS "origin.city", dest.city AS "dest.city", COUNT(*) AS "flights.count" FROM flights AS flights LEFT JOIN airports AS origin ON flights.origin = origin.faa LEFT JOIN airports AS dest ON flights.dest = dest.faa GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 500;
-- 4 answered
-- answered
SELECT airports.state AS "airports.state", AVG(flights.arr_delay) AS "flights.average_delay" FROM flights AS flights LEFT JOIN airports AS airports ON flights.dest = airports.faa WHERE (airports.state = 'CA') GROUP BY 1 LIMIT 500;
-- 4 answered
-- answered
WITH facts AS (SELECT customer_id, COUNT(*) AS lifetime_orders, SUM(sales) AS lifetime_sales FROM sales GROUP BY customer_id) SELECT facts.lifetime_orders AS "facts.lifetime_orders", COUNT(*) AS "facts.count" FROM facts GROUP BY 1 ORDER BY 1 LIMIT 500;
-- 3 answered
-- answered
WITH facts AS (SELECT customer_id, COUNT(*) AS lifetime_orders FROM sales GROUP BY 1) SELECT COUNT(CASE WHEN facts.lifetime_orders > 1 THEN 1 END) AS "facts.repeat_customers" FROM facts LIMIT 500;
-- 3 answered
-- answered
SELECT sales.category AS "sales.category", COUNT(*) AS "sales.count" FROM sales AS sales WHERE sales.region IN (SELECT region FROM (SELECT region, SUM(sales) AS s FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 2) AS t) GROUP BY 1 LIMIT 500;
-- 8 answered
-- answered
SELECT COUNT(*) AS "sales.count" FROM sales AS sales WHERE ((sales.order_date >= (DATE_TRUNC('day', CURRENT_DATE) - INTERVAL 29 DAY)) AND (sales.order_date < (DATE_TRUNC('day', CURRENT_DATE) + INTERVAL 1 DAY))) LIMIT 500;
-- 9 answered
-- answered
SELECT EXTRACT(HOUR FROM hits."EventTime") AS "hits.hour_of_day", COUNT(*) AS "hits.count" FROM hits AS hits GROUP BY 1 ORDER BY 1 LIMIT 500;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 26: EventTime is declared by day, and HOUR is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT COUNT(*) AS "sales.count" FROM sales AS sales WHERE (sales.product_name LIKE '%Chair%' OR sales.product_name LIKE '%Table%') LIMIT 500;
-- 7 answered
-- answered
SELECT flights.carrier AS "flights.carrier", AVG(flights.air_time) AS "flights.air_time" FROM flights AS flights WHERE (flights.month = 9) AND (flights.dest = 'LAX') GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
-- 6 answered
-- answered
SELECT `sales`.`region` AS `sales.region`, COUNT(*) AS `sales.count` FROM sales AS sales GROUP BY 1 LIMIT 500;
-- 12 answered
-- answered
SELECT sales.product_name AS "sales.product_name", sales.sales AS "sales.sales" FROM sales AS sales GROUP BY 1, 2 ORDER BY 1 LIMIT 500;
-- 6 answered
-- UnsupportedQuery: line 1, column 1: sales has more values than can be groups | group by steps of it, as in GROUP BY floor(sales / 10) * 10

-- ## Sent by tools and courses, written before any was tried
SELECT carrier, origin, COUNT(*) AS n FROM (SELECT *, CASE WHEN arr_delay > 15 THEN 'late' ELSE 'on time' END AS status FROM flights) f WHERE f.status = 'late' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 500;
-- 0 answered
-- answered
SELECT COALESCE(SUM(n), 0) AS total, COUNT(*) AS units FROM (SELECT customer_id, COUNT(*) AS n FROM sales GROUP BY customer_id) t;
-- 3 answered
-- answered
SELECT a.name AS airline, COUNT(*) AS c, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM flights f LEFT JOIN airlines a ON f.carrier = a.carrier GROUP BY 1 QUALIFY r <= 3;
-- 0 answered
-- answered
SELECT ap.state, COUNT(*) AS n FROM flights INNER JOIN airports AS ap ON flights.dest = ap.faa GROUP BY ap.state ORDER BY n DESC;
-- 0 answered
-- answered
