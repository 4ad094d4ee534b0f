-- ## Measures
SELECT SUM(1) AS "cnt:sales:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 0 answered
-- answered
SELECT "sales"."region" AS "region", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT "sales"."category" AS "category", "sales"."region" AS "region", SUM("sales"."quantity") AS "sum:quantity:ok", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" GROUP BY 1, 2;
-- 0 answered
-- answered
SELECT AVG(CAST("sales"."quantity" AS DOUBLE)) AS "avg:quantity:ok", "sales"."ship_mode" AS "ship_mode" FROM "main"."sales" "sales" GROUP BY 2;
-- 0 answered
-- answered
SELECT SUM((CASE WHEN ("sales"."category" = 'Technology') THEN 1 ELSE 0 END)) AS "sum:Calculation_0750303184207872:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 0 answered
-- answered
SELECT (CASE WHEN ("sales"."discount" > 0.20000000000000001) THEN 'High' ELSE 'Low' END) AS "Calculation_1", COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT SUM("sales"."profit") / NULLIF(SUM("sales"."sales"), 0) AS "usr:Profit Ratio:ok", "sales"."segment" AS "segment" FROM "main"."sales" "sales" GROUP BY 2;
-- 0 answered
-- answered
SELECT COUNT(DISTINCT "sales"."customer_id") AS "ctd:customer_id:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 2 answered
-- answered
SELECT "sales"."region" AS "region", COUNT(DISTINCT "sales"."customer_id") AS "ctd:customer_id:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 2 answered
-- answered
SELECT COUNT(DISTINCT "sales"."ship_mode") AS "ctd:ship_mode:ok", "sales"."category" AS "category" FROM "main"."sales" "sales" GROUP BY 2;
-- 2 answered
-- answered
SELECT COUNT(DISTINCT "sales"."product_name") AS "ctd:product_name:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 2 answered
-- answered
SELECT MIN("sales"."sales") AS "min:sales:ok", MAX("sales"."sales") AS "max:sales:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 1 answered
-- answered
SELECT "sales"."category" AS "category", MAX("sales"."profit") AS "max:profit:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 1 answered
-- answered
SELECT MIN("sales"."order_date") AS "min:order_date:ok", MAX("sales"."order_date") AS "max:order_date:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 1 answered
-- answered
SELECT "sales"."region" AS "region", MIN("sales"."segment") AS "TEMP(attr:segment:nk)(1)(0)", MAX("sales"."segment") AS "TEMP(attr:segment:nk)(2)(0)" FROM "main"."sales" "sales" GROUP BY 1;
-- 1 answered
-- answered
SELECT STDDEV_SAMP("sales"."sales") AS "std:sales:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 5 answered
-- answered
SELECT "sales"."region" AS "region", VAR_SAMP("sales"."profit") AS "var:profit:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 5 answered
-- answered
SELECT STDDEV_POP("sales"."quantity") AS "stp:quantity:ok", "sales"."segment" AS "segment" FROM "main"."sales" "sales" GROUP BY 2;
-- 5 answered
-- answered
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "sales"."sales") AS "med:sales:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 5 answered
-- answered
SELECT "sales"."category" AS "category", MEDIAN("sales"."profit") AS "med:profit:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 5 answered
-- answered
SELECT CORR("sales"."sales", "sales"."profit") AS "usr:Calculation_2:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 5 answered
-- answered
SELECT MAX(1) AS "TblMax" FROM (SELECT * FROM "main"."sales" "sales") "sales";
-- 1 answered
-- answered

-- ## Dates
SELECT CAST(EXTRACT(YEAR FROM "sales"."order_date") AS BIGINT) AS "yr:order_date:ok", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT CAST(EXTRACT(MONTH FROM "sales"."order_date") AS BIGINT) AS "mn:order_date:ok", COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT DATE_TRUNC('MONTH', CAST("sales"."order_date" AS DATE)) AS "tmn:order_date:ok", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT DATE_TRUNC('QUARTER', CAST("sales"."order_date" AS DATE)) AS "tqr:order_date:ok", "sales"."category" AS "category", SUM("sales"."profit") AS "sum:profit:ok" FROM "main"."sales" "sales" GROUP BY 1, 2;
-- 0 answered
-- answered
SELECT CAST(EXTRACT(QUARTER FROM "sales"."order_date") AS BIGINT) AS "qr:order_date:ok", SUM("sales"."quantity") AS "sum:quantity:ok" FROM "main"."sales" "sales" WHERE (CAST(EXTRACT(YEAR FROM "sales"."order_date") AS BIGINT) = 2023) GROUP BY 1;
-- 0 answered
-- answered
SELECT (DATE_TRUNC('DAY', CAST("sales"."order_date" AS DATE)) + (-EXTRACT(DOW FROM "sales"."order_date") * INTERVAL '1 DAY')) AS "twk:order_date:ok", COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT DATE_TRUNC('DAY', CAST("sales"."order_date" AS DATE)) AS "tdy:order_date:ok", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" WHERE (("sales"."order_date" >= DATE '2023-03-01') AND ("sales"."order_date" <= DATE '2023-03-31')) GROUP BY 1;
-- 0 answered
-- answered
SELECT ((CAST(EXTRACT(YEAR FROM "sales"."order_date") AS BIGINT) * 100) + CAST(EXTRACT(MONTH FROM "sales"."order_date") AS BIGINT)) AS "my:order_date:ok", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT (("flights"."month" * 100) + "flights"."day") AS "Calculation_3", AVG("flights"."dep_delay") AS "avg:dep_delay:ok" FROM "main"."flights" "flights" GROUP BY 1;
-- 6 answered
-- answered
SELECT CAST(EXTRACT(HOUR FROM "hits"."EventTime") AS BIGINT) AS "hr:EventTime:ok", COUNT(1) AS "cnt:1:ok" FROM "main"."hits" "hits" GROUP BY 1;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 31: EventTime is declared by day, and HOUR is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT DATE_TRUNC('HOUR', "hits"."EventTime") AS "thr:EventTime:ok", COUNT(1) AS "cnt:1:ok" FROM "main"."hits" "hits" GROUP BY 1;
-- 9 refused: day
-- UnsupportedQuery: line 1, column 8: EventTime is declared by day, and HOUR is finer | ask for parts of EventTime down to the day, such as date_trunc('day', EventTime)
SELECT SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" WHERE ("sales"."order_date" >= (CURRENT_DATE - INTERVAL '30 DAY')) HAVING (COUNT(1) > 0);
-- 9 answered
-- answered
SELECT SUM((CASE WHEN (CAST(EXTRACT(YEAR FROM "sales"."order_date") AS BIGINT) = EXTRACT(YEAR FROM CURRENT_TIMESTAMP)) THEN "sales"."sales" ELSE NULL END)) AS "usr:YTD:ok" FROM "main"."sales" "sales" HAVING (COUNT(1) > 0);
-- 9 answered
-- answered

-- ## Filters and quick filters
SELECT "sales"."region" AS "region" FROM "main"."sales" "sales" GROUP BY 1 ORDER BY "region" ASC NULLS FIRST;
-- 0 answered
-- answered
SELECT DISTINCT "sales"."segment" AS "segment" FROM "main"."sales" "sales" ORDER BY 1 ASC;
-- 0 answered
-- answered
SELECT "sales"."region" AS "region", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" WHERE (("sales"."category" IN ('Furniture', 'Technology')) AND ("sales"."segment" = 'Consumer')) GROUP BY 1 HAVING ((SUM("sales"."sales") >= 100.0) AND (SUM("sales"."sales") <= 9000000.0));
-- 0 answered
-- answered
SELECT SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" WHERE (NOT ("sales"."region" IN ('East', 'West'))) HAVING (COUNT(1) > 0);
-- 0 answered
-- answered
SELECT COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" WHERE (("sales"."region" IS NULL) OR (NOT ("sales"."region" = 'East')));
-- 0 answered
-- answered
SELECT COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" WHERE (POSITION('Chair' IN "sales"."product_name") > 0);
-- 7 answered
-- answered
SELECT "sales"."category" AS "category", COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" WHERE (LOWER("sales"."product_name") LIKE '%paper%') GROUP BY 1;
-- 7 answered
-- answered
SELECT MIN("sales"."sales") AS "LowerBound", MAX("sales"."sales") AS "UpperBound" FROM "main"."sales" "sales" WHERE ("sales"."category" = 'Furniture') HAVING (COUNT(1) > 0);
-- 1 answered
-- answered
SELECT "sales"."product_name" AS "product_name", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered

-- ## Top N, sets and levels of detail
SELECT "sales"."region" AS "region", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" INNER JOIN (SELECT "sales"."region" AS "region", SUM("sales"."sales") AS "X__alias__0" FROM "main"."sales" "sales" GROUP BY 1 ORDER BY 2 DESC LIMIT 2) "t0" ON ("sales"."region" = "t0"."region") GROUP BY 1;
-- 8 answered
-- answered
SELECT "sales"."category" AS "category", SUM("sales"."profit") AS "sum:profit:ok" FROM "main"."sales" "sales" INNER JOIN (SELECT "sales"."category" AS "category", COUNT(1) AS "X__alias__0" FROM "main"."sales" "sales" GROUP BY 1 HAVING (COUNT(1) > 10)) "t0" ON ("sales"."category" = "t0"."category") GROUP BY 1;
-- 8 answered
-- answered
SELECT SUM("sales"."sales") AS "sum:sales:ok", "t0"."__measure__0" AS "m" FROM "main"."sales" "sales" CROSS JOIN (SELECT AVG("sales"."sales") AS "__measure__0" FROM "main"."sales" "sales") "t0" WHERE "sales"."sales" > "t0"."__measure__0" GROUP BY 2;
-- 8 answered
-- answered
SELECT "t0"."region" AS "region", SUM("t0"."__measure__0") AS "sum:x:ok" FROM (SELECT "sales"."region" AS "region", "sales"."segment" AS "segment", SUM("sales"."sales") AS "__measure__0" FROM "main"."sales" "sales" GROUP BY 1, 2) "t0" GROUP BY 1;
-- 0 answered
-- answered
SELECT "t0"."region" AS "region", AVG("t0"."__measure__0") AS "avg:x:ok" FROM (SELECT "sales"."customer_id" AS "customer_id", "sales"."region" AS "region", COUNT(1) AS "__measure__0" FROM "main"."sales" "sales" GROUP BY 1, 2) "t0" GROUP BY 1;
-- 3 answered
-- answered
SELECT COUNT(1) AS "cnt:1:ok", "t0"."__measure__0" AS "Orders per customer" FROM (SELECT "sales"."customer_id" AS "customer_id", COUNT(1) AS "__measure__0" FROM "main"."sales" "sales" GROUP BY 1) "t0" GROUP BY 2;
-- 3 answered
-- answered
SELECT "managers"."manager" AS "manager", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" INNER JOIN "main"."managers" "managers" ON ("sales"."region" = "managers"."region") GROUP BY 1;
-- 4 answered
-- answered
SELECT "managers"."manager" AS "manager", "sales"."category" AS "category", COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" LEFT JOIN "main"."managers" "managers" ON ("sales"."region" = "managers"."region") GROUP BY 1, 2;
-- 4 answered
-- answered
SELECT SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" INNER JOIN "main"."managers" "managers" ON ("sales"."region" = "managers"."region") WHERE ("managers"."manager" = 'Desk 1') HAVING (COUNT(1) > 0);
-- 4 answered
-- answered
SELECT FLOOR("sales"."sales" / 50.0) * 50 AS "sales (bin)", COUNT(1) AS "cnt:1:ok" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT (CASE WHEN 50 = 0 THEN NULL ELSE FLOOR("sales"."sales" / 50) END) AS "Sales (bin)", SUM(1) AS "n" FROM "main"."sales" "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT * FROM "main"."sales" "sales" LIMIT 0;
-- 0 answered
-- answered
SELECT * FROM "main"."sales" "sales" LIMIT 1000;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT "sales"."product_name" AS "product_name", "sales"."sales" AS "sales" FROM "main"."sales" "sales" LIMIT 10000;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
SELECT "sales"."region", "sales"."segment", SUM("sales"."sales"), GROUPING("sales"."region") FROM "main"."sales" "sales" GROUP BY GROUPING SETS (("sales"."region"), ("sales"."region", "sales"."segment"));
-- 11 answered
-- answered
SELECT TOP 10 "sales"."region" AS "region", SUM("sales"."sales") AS "sum:sales:ok" FROM "main"."sales" "sales" GROUP BY "sales"."region";
-- 12 refused: LIMIT
-- UnsupportedQuery: line 1, column 8: TOP is not answered | write LIMIT 10 at the end
SELECT `sales`.`region` AS `region`, SUM(`sales`.`sales`) AS `sum:sales:ok` FROM `sales` GROUP BY 1;
-- 12 answered
-- answered
CREATE LOCAL TEMPORARY TABLE "#Tableau_1_Connect" ("COL" INTEGER) ON COMMIT PRESERVE ROWS;
-- 11 unanswerable: the database is only read
-- UnsupportedQuery: line 1, column 1: CREATE is not a SELECT statement | write CREATE VIEW name AS SELECT ...: it names a query in this session
DROP TABLE IF EXISTS "#Tableau_1_Connect";
-- 11 answered
-- answered

-- ## Sent by tools and courses, written before any was tried
SELECT "sales"."region" AS "region", SUM(1) AS "cnt", SUM("sales"."profit") / SUM("sales"."sales") AS "ratio" FROM "sales" GROUP BY 1 HAVING (COUNT(1) > 0);
-- 0 answered
-- answered
SELECT (CASE WHEN ("sales"."profit" > 0) THEN 'Profit' ELSE 'Loss' END) AS "calc", COUNT(*) AS c, SUM(sales) AS s FROM "sales" GROUP BY 1;
-- 0 answered
-- answered
SELECT "t0"."region" AS "region", AVG("t0"."x") AS "avg" FROM (SELECT "region" AS "region", "segment" AS "segment", SUM("sales") AS "x" FROM "sales" GROUP BY 1, 2) "t0" GROUP BY 1;
-- 0 answered
-- answered
SELECT MIN("sales"."order_date") AS "lo", MAX("sales"."order_date") AS "hi" FROM "sales" HAVING (COUNT(1) > 0);
-- 1 answered
-- answered
SELECT DATEPART('year', "order_date") AS "y", DATEPART('quarter', "order_date") AS "q", SUM("quantity") AS "s" FROM "sales" GROUP BY 1, 2;
-- 0 answered
-- answered
