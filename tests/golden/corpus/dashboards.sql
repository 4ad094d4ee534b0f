-- ## Grafana
SELECT date_trunc('day', order_date) AS time, count(*) AS value FROM sales WHERE order_date BETWEEN '2023-05-01' AND '2023-05-31' GROUP BY 1 ORDER BY 1;
-- 0 answered
-- answered
SELECT order_date AS time, segment AS metric, sum(sales) AS value FROM sales WHERE order_date >= '2023-02-01' AND order_date < '2023-03-01' GROUP BY order_date, segment ORDER BY 1, 2;
-- 0 answered
-- answered
SELECT count(*) AS "Orders", round(avg(sales), 2) AS "Average order" FROM sales WHERE region IN ('East','West');
-- 0 answered
-- answered
SELECT date_trunc('week', order_date) AS time, 100.0 * count(*) FILTER (WHERE returned) / count(*) AS "Returned %" FROM sales GROUP BY 1 ORDER BY 1;
-- 0 answered
-- answered
SELECT time_bucket(INTERVAL '7 days', order_date) AS time, count(*) AS value FROM sales GROUP BY time ORDER BY time;
-- 0 answered
-- answered
SELECT time_bucket(INTERVAL '1 hour', "EventTime") AS time, count(*) FROM hits GROUP BY 1 ORDER BY 1;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 8: EventTime is declared by day, and a bucket that is not of whole days is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT floor(extract(epoch FROM "EventTime") / 3600) * 3600 AS time, count(*) AS value FROM hits GROUP BY 1 ORDER BY 1;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 33: EventTime is declared by day, and EPOCH is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT max(order_date) AS "Last order" FROM sales;
-- 1 answered
-- answered
SELECT quantile_cont(dep_delay, 0.95) AS p95, quantile_cont(dep_delay, 0.5) AS p50 FROM flights WHERE carrier = 'UA';
-- 5 answered
-- answered
SELECT dep_hour, approx_quantile(dep_delay, 0.9) AS p90 FROM flights GROUP BY dep_hour ORDER BY dep_hour;
-- 5 answered
-- answered

-- ## Redash and notebooks
SELECT carrier, count(*) AS flights, avg(dep_delay) AS delay FROM flights GROUP BY carrier HAVING count(*) > 50 ORDER BY delay DESC;
-- 0 answered
-- answered
SELECT month, count(*) AS n, count(*) - lag(count(*)) OVER (ORDER BY month) AS change FROM flights GROUP BY month ORDER BY month;
-- 0 answered
-- answered
WITH monthly AS (SELECT month, sum(distance) AS miles FROM flights GROUP BY month) SELECT month, miles, sum(miles) OVER (ORDER BY month) AS running, miles / sum(miles) OVER () AS share FROM monthly ORDER BY month;
-- 0 answered
-- answered
SELECT origin, dest, count(*) AS n, row_number() OVER (PARTITION BY origin ORDER BY count(*) DESC) AS place FROM flights GROUP BY origin, dest QUALIFY place <= 3 ORDER BY origin, place;
-- 0 answered
-- answered
SELECT carrier, width_bucket(dep_delay, -20, 180, 10) AS bucket, count(*) FROM flights GROUP BY 1, 2 ORDER BY 1, 2;
-- 12 refused: floor
-- UnsupportedQuery: line 1, column 17: the function width_bucket is not answered | write floor((x - low) / width)
SELECT corr(dep_delay, arr_delay) AS r, covar_samp(dep_delay, arr_delay) AS c FROM flights;
-- 5 answered
-- answered
SELECT regr_slope(arr_delay, dep_delay) AS slope, regr_intercept(arr_delay, dep_delay) AS base, regr_r2(arr_delay, dep_delay) AS r2 FROM flights;
-- 5 answered
-- answered
SELECT mode(dest) AS most, count(*) FROM flights WHERE origin = 'JFK';
-- 5 answered
-- answered
SELECT month, dest, avg(arr_delay) FROM flights WHERE carrier = 'AS' AND origin = 'LGA' GROUP BY ALL ORDER BY 3 DESC LIMIT 10;
-- 10 answered
-- answered
SELECT month, day, avg(dep_delay) AS d FROM flights GROUP BY month, day ORDER BY d DESC LIMIT 5;
-- 10 answered
-- answered
SELECT dest, dep_hour, avg(air_time) AS t FROM flights WHERE origin = 'EWR' GROUP BY dest, dep_hour ORDER BY t DESC LIMIT 10;
-- 10 answered
-- answered
SELECT age, education, occupation, avg(capital_gain) AS gain FROM adult GROUP BY age, education, occupation ORDER BY gain DESC LIMIT 20;
-- 10 answered
-- answered
SELECT day, month FROM flights GROUP BY day, month HAVING avg(dep_delay) > 60 ORDER BY month, day;
-- 10 answered
-- answered
SELECT native_country, occupation, avg(hours_per_week) AS h FROM adult WHERE sex = 'Female' GROUP BY 1, 2 HAVING avg(hours_per_week) > 45;
-- 10 answered
-- answered
SELECT carrier, dest, 100.0 * sum(CASE WHEN cancelled THEN 1 ELSE 0 END) / count(*) AS pct FROM flights GROUP BY carrier, dest ORDER BY pct DESC LIMIT 5;
-- 10 answered
-- answered
SELECT age, marital_status, avg(hours_per_week) FROM adult GROUP BY 1, 2 ORDER BY 3 LIMIT 10;
-- 10 answered
-- answered
SELECT carrier, avg(air_time) FROM flights WHERE month = 9 AND dest = 'LAX' GROUP BY carrier;
-- 6 answered
-- answered
SELECT origin, avg(dep_delay), avg(arr_delay) FROM flights WHERE month BETWEEN 6 AND 8 AND dep_hour < 12 AND carrier <> 'WN' GROUP BY origin;
-- 6 answered
-- answered
SELECT avg(arr_delay - dep_delay) AS made_up FROM flights WHERE distance > 1000;
-- 6 answered
-- answered
SELECT sum(dep_delay * air_time) FROM flights WHERE carrier = 'UA' AND month = 1;
-- 6 answered
-- answered
SELECT count(*) FROM flights WHERE dep_delay > arr_delay AND origin = 'JFK' AND month IN (12, 1, 2);
-- 6 answered
-- answered
SELECT dest, count(*) FROM flights WHERE air_time > 60 AND dep_delay + arr_delay > 100 AND cancelled = FALSE GROUP BY dest;
-- 6 answered
-- answered
SELECT age, education, occupation, native_country, count(*) FROM adult WHERE income = '>50K' GROUP BY 1, 2, 3, 4;
-- 6 answered
-- answered
SELECT month, day, dep_hour, avg(dep_delay) FROM flights WHERE origin = 'JFK' GROUP BY ALL;
-- 6 answered
-- answered
SELECT sum(sales * quantity), avg(sales * (1 - discount)) FROM sales WHERE region = 'East';
-- 6 answered
-- answered
