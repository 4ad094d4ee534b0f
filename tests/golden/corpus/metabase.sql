-- ## Summaries
SELECT COUNT(*) AS "count" FROM "main"."sales";
-- 0 answered
-- answered
SELECT "main"."sales"."region" AS "region", COUNT(*) AS "count" FROM "main"."sales" GROUP BY "main"."sales"."region" ORDER BY "main"."sales"."region" ASC;
-- 0 answered
-- answered
SELECT "source"."category" AS "category", SUM("source"."sales") AS "sum" FROM (SELECT "main"."sales"."category" AS "category", "main"."sales"."sales" AS "sales" FROM "main"."sales") AS "source" GROUP BY "source"."category" ORDER BY "source"."category" ASC;
-- 0 answered
-- answered
SELECT "main"."sales"."segment" AS "segment", AVG("main"."sales"."quantity") AS "avg" FROM "main"."sales" GROUP BY "main"."sales"."segment" ORDER BY "avg" DESC, "main"."sales"."segment" ASC LIMIT 2000;
-- 0 answered
-- answered
SELECT DATE_TRUNC('month', "main"."sales"."order_date") AS "order_date", SUM("main"."sales"."sales") AS "sum" FROM "main"."sales" GROUP BY DATE_TRUNC('month', "main"."sales"."order_date") ORDER BY DATE_TRUNC('month', "main"."sales"."order_date") ASC;
-- 0 answered
-- answered
SELECT CAST(DATE_TRUNC('week', CAST("main"."sales"."order_date" AS TIMESTAMP)) AS DATE) AS "order_date", COUNT(*) AS "count" FROM "main"."sales" GROUP BY CAST(DATE_TRUNC('week', CAST("main"."sales"."order_date" AS TIMESTAMP)) AS DATE) ORDER BY 1 ASC;
-- 0 answered
-- answered
SELECT CAST("main"."sales"."order_date" AS date) AS "order_date", COUNT(*) AS "count" FROM "main"."sales" GROUP BY CAST("main"."sales"."order_date" AS date) ORDER BY CAST("main"."sales"."order_date" AS date) ASC LIMIT 1048575;
-- 0 answered
-- answered
SELECT FLOOR((("main"."adult"."age" - 10.0) / 10.0)) * 10.0 + 10.0 AS "age", COUNT(*) AS "count" FROM "main"."adult" GROUP BY FLOOR((("main"."adult"."age" - 10.0) / 10.0)) * 10.0 + 10.0 ORDER BY FLOOR((("main"."adult"."age" - 10.0) / 10.0)) * 10.0 + 10.0 ASC;
-- 0 answered
-- answered
SELECT EXTRACT(month FROM "main"."sales"."order_date") AS "order_date", COUNT(*) AS "count" FROM "main"."sales" GROUP BY EXTRACT(month FROM "main"."sales"."order_date") ORDER BY 1 ASC;
-- 0 answered
-- answered
SELECT EXTRACT(dow FROM "main"."sales"."order_date") + 1 AS "order_date", SUM("main"."sales"."quantity") AS "sum" FROM "main"."sales" GROUP BY EXTRACT(dow FROM "main"."sales"."order_date") + 1 ORDER BY 1;
-- 0 answered
-- answered
SELECT SUM(CASE WHEN "main"."sales"."returned" = TRUE THEN 1 ELSE 0.0 END) / NULLIF(CAST(COUNT(*) AS DOUBLE), 0.0) AS "share" FROM "main"."sales";
-- 0 answered
-- answered
SELECT COUNT(CASE WHEN "main"."adult"."income" = '>50K' THEN 1 END) AS "count-where", SUM(CASE WHEN "main"."adult"."sex" = 'Female' THEN "main"."adult"."hours_per_week" ELSE 0.0 END) AS "sum-where" FROM "main"."adult";
-- 0 answered
-- answered
SELECT "main"."adult"."education" AS "education", "main"."adult"."sex" AS "sex", COUNT(*) AS "count" FROM "main"."adult" WHERE ("main"."adult"."age" >= 30) AND ("main"."adult"."age" < 40) GROUP BY "main"."adult"."education", "main"."adult"."sex" ORDER BY "main"."adult"."education" ASC, "main"."adult"."sex" ASC;
-- 0 answered
-- answered
SELECT "source"."education" AS "education", "source"."count" AS "count" FROM (SELECT "main"."adult"."education" AS "education", COUNT(*) AS "count" FROM "main"."adult" GROUP BY "main"."adult"."education" ORDER BY "main"."adult"."education" ASC) AS "source" WHERE "source"."count" > 100 LIMIT 1048575;
-- 0 answered
-- answered
SELECT SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', "main"."sales"."order_date") ASC ROWS UNBOUNDED PRECEDING) AS "count", DATE_TRUNC('month', "main"."sales"."order_date") AS "order_date" FROM "main"."sales" GROUP BY DATE_TRUNC('month', "main"."sales"."order_date") ORDER BY 2 ASC;
-- 0 answered
-- answered
SELECT "source"."m" AS "m", LAG("source"."n", 1) OVER (ORDER BY "source"."m" ASC) AS "previous", "source"."n" AS "n" FROM (SELECT DATE_TRUNC('month', "main"."sales"."order_date") AS "m", COUNT(*) AS "n" FROM "main"."sales" GROUP BY 1) AS "source" ORDER BY 1;
-- 0 answered
-- answered

-- ## Distinct, extremes and spread
SELECT COUNT(DISTINCT "main"."sales"."customer_id") AS "count" FROM "main"."sales";
-- 2 answered
-- answered
SELECT COUNT(DISTINCT "main"."sales"."category") AS "count" FROM "main"."sales" WHERE "main"."sales"."region" = 'East';
-- 2 answered
-- answered
SELECT DATE_TRUNC('month', "main"."sales"."order_date") AS "order_date", COUNT(DISTINCT "main"."sales"."customer_id") AS "count" FROM "main"."sales" GROUP BY DATE_TRUNC('month', "main"."sales"."order_date") ORDER BY 1 ASC;
-- 2 answered
-- answered
SELECT "main"."adult"."education" AS "education", COUNT(DISTINCT "main"."adult"."occupation") AS "count" FROM "main"."adult" GROUP BY "main"."adult"."education" ORDER BY 1 ASC;
-- 2 answered
-- answered
SELECT MIN("main"."adult"."age") AS "min", MAX("main"."adult"."age") AS "max" FROM "main"."adult";
-- 1 answered
-- answered
SELECT "main"."adult"."education" AS "education", MAX("main"."adult"."hours_per_week") AS "max" FROM "main"."adult" GROUP BY "main"."adult"."education" ORDER BY 1 ASC;
-- 1 answered
-- answered
SELECT MIN("main"."sales"."order_date") AS "min", MAX("main"."sales"."order_date") AS "max" FROM "main"."sales";
-- 1 answered
-- answered
SELECT STDDEV_POP("main"."adult"."age") AS "stddev", VAR_POP("main"."adult"."age") AS "var" FROM "main"."adult";
-- 5 answered
-- answered
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY "main"."adult"."hours_per_week") AS "percentile" FROM "main"."adult";
-- 5 answered
-- answered
SELECT "main"."sales"."region" AS "region", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "main"."sales"."sales") AS "median" FROM "main"."sales" GROUP BY "main"."sales"."region" ORDER BY 1 ASC;
-- 5 answered
-- answered
SELECT count(distinct substring("main"."sales"."product_name", 1, 1234)) AS "distinct-count", avg(length("main"."sales"."product_name")) AS "avg" FROM "main"."sales";
-- 2 answered
-- UnsupportedQuery: line 1, column 8: a count of distinct values of an expression of text is not answered | take it of the column itself

-- ## Joined tables and filters
SELECT "Airlines"."name" AS "Airlines__name", COUNT(*) AS "count" FROM "main"."flights" LEFT JOIN "main"."airlines" AS "Airlines" ON "main"."flights"."carrier" = "Airlines"."carrier" GROUP BY "Airlines"."name" ORDER BY "Airlines"."name" ASC;
-- 4 answered
-- answered
SELECT "Airports"."state" AS "Airports__state", AVG("main"."flights"."dep_delay") AS "avg" FROM "main"."flights" INNER JOIN "main"."airports" AS "Airports" ON "main"."flights"."dest" = "Airports"."faa" GROUP BY "Airports"."state" ORDER BY 1 ASC;
-- 4 answered
-- answered
SELECT COUNT(*) AS "count" FROM "main"."flights" LEFT JOIN "main"."airlines" AS "Airlines" ON "main"."flights"."carrier" = "Airlines"."carrier" WHERE "Airlines"."alliance" = 'Star';
-- 4 answered
-- answered
SELECT "main"."sales"."category" AS "category", COUNT(*) AS "count" FROM "main"."sales" WHERE (LOWER("main"."sales"."product_name") LIKE '%desk%') GROUP BY "main"."sales"."category" ORDER BY 1;
-- 7 answered
-- answered
SELECT COUNT(*) AS "count" FROM "main"."sales" WHERE "main"."sales"."product_name" LIKE 'Ch%';
-- 0 answered
-- answered
SELECT COUNT(*) AS "count" FROM "main"."sales" WHERE ("main"."sales"."product_name" IS NULL) OR ("main"."sales"."product_name" = '');
-- 0 answered
-- answered
SELECT COUNT(*) AS "count" FROM "main"."sales" WHERE "main"."sales"."order_date" >= DATE_TRUNC('month', (NOW() + INTERVAL '-1 month')) AND "main"."sales"."order_date" < DATE_TRUNC('month', NOW());
-- 9 answered
-- answered
SELECT CAST(EXTRACT(hour FROM "main"."hits"."EventTime") AS integer) AS "EventTime", COUNT(*) AS "count" FROM "main"."hits" GROUP BY CAST(EXTRACT(hour FROM "main"."hits"."EventTime") AS integer) ORDER BY 1;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 157: EventTime is declared by day, and HOUR is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT DATE_TRUNC('minute', "main"."hits"."EventTime") AS "EventTime", COUNT(*) AS "count" FROM "main"."hits" GROUP BY DATE_TRUNC('minute', "main"."hits"."EventTime") ORDER BY 1;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 120: EventTime is declared by day, and MINUTE is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT "main"."sales"."region" AS "region", "main"."sales"."customer_id" AS "customer_id" FROM "main"."sales" LIMIT 2000;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT "main"."adult"."age" AS "age", "main"."adult"."education" AS "education", "main"."adult"."income" AS "income" FROM "main"."adult" LIMIT 1048575;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table adult | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT TRUE AS "_" FROM "main"."sales" WHERE 1 <> 1 LIMIT 0;
-- 0 answered
-- answered
SELECT "main"."sales"."order_date" AS "order_date", "main"."sales"."sales" AS "sales" FROM "main"."sales" ORDER BY "main"."sales"."sales" DESC LIMIT 10;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT avg("source"."count") AS "avg" FROM (SELECT "main"."sales"."customer_id" AS "customer_id", COUNT(*) AS "count" FROM "main"."sales" GROUP BY "main"."sales"."customer_id") AS "source";
-- 3 answered
-- answered
SELECT COUNT(*) AS "count" FROM (SELECT "main"."sales"."customer_id" AS "customer_id", COUNT(*) AS "count" FROM "main"."sales" GROUP BY "main"."sales"."customer_id") AS "source" WHERE "source"."count" > 1;
-- 3 answered
-- answered

-- ## Sent by tools and courses, written before any was tried
SELECT DATE_TRUNC('month', "sales"."order_date") AS "order_date", SUM("sales"."sales") AS "sum", SUM(SUM("sales"."sales")) OVER (ORDER BY DATE_TRUNC('month', "sales"."order_date") ASC ROWS UNBOUNDED PRECEDING) AS "cum" FROM "sales" GROUP BY 1 ORDER BY 1;
-- 0 answered
-- answered
SELECT FLOOR("age" / 10.0) * 10.0 AS "age", COUNT(*) AS "count" FROM "adult" GROUP BY FLOOR("age" / 10.0) * 10.0 ORDER BY 1;
-- 0 answered
-- answered
SELECT CAST(extract(isodow FROM "order_date") AS integer) AS "d", COUNT(*) AS "count" FROM "sales" GROUP BY 1 ORDER BY 1;
-- 0 answered
-- answered
SELECT "source"."region", AVG("source"."count") AS "avg" FROM (SELECT "region", "order_date", COUNT(*) AS "count" FROM "sales" GROUP BY 1, 2) AS "source" GROUP BY 1;
-- 0 answered
-- answered
SELECT COUNT(CASE WHEN "returned" THEN 1 END) AS r, SUM(CASE WHEN "discount" > 0.2 THEN "sales" ELSE 0.0 END) / SUM("sales") AS "share" FROM "sales";
-- 0 answered
-- answered
