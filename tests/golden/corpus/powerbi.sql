-- ## Direct queries
select "rows"."region" as "region", sum("rows"."sales") as "a0" from (select "region", "sales" from "main"."sales" "$Table") "rows" group by "region" limit 1000001;
-- 0 answered
-- answered
SELECT "c1", "a0" FROM (SELECT "t0"."category" AS "c1", CAST(SUM("t0"."quantity") AS BIGINT) AS "a0" FROM (SELECT "category", "quantity" FROM "main"."sales") AS "t0" GROUP BY "t0"."category") AS "MainTable" WHERE NOT "a0" IS NULL LIMIT 1000001;
-- 0 answered
-- answered
select count(1) as "a0" from (select "_"."region", "_"."segment" from "main"."sales" as "_" where "_"."segment" = 'Consumer' and "_"."segment" is not null) as "rows";
-- 0 answered
-- answered
SELECT "basetable0"."a0", "basetable0"."c1" FROM (SELECT COUNT(*) AS "a0", "t0"."sex" AS "c1" FROM "adult" AS "t0" WHERE "t0"."income" IN ('>50K') GROUP BY "t0"."sex") AS "basetable0" ORDER BY "basetable0"."a0" DESC LIMIT 1001;
-- 0 answered
-- answered
select sum("rows"."sales") as "a0", count("rows"."sales") as "a1" from "main"."sales" as "rows" where "rows"."order_date" >= date '2023-04-01' and "rows"."order_date" < date '2023-07-01';
-- 0 answered
-- answered
select "_"."region" as "region", avg("_"."discount") as "a0" from "sales" as "_" group by "_"."region" order by "_"."region" limit 501;
-- 0 answered
-- answered
select "rows"."year" as "y", "rows"."month" as "m", sum("rows"."sales") as "a0" from (select year("order_date") as "year", month("order_date") as "month", "sales" from "sales") as "rows" group by "rows"."year", "rows"."month" limit 1000001;
-- 0 answered
-- answered
select "t0"."education" as "c1", count(*) as "a0", count(case when "t0"."income" = '>50K' then 1 end) as "a1" from "adult" as "t0" where ("t0"."age" >= 25 and "t0"."age" <= 34) group by "t0"."education" limit 1000001;
-- 0 answered
-- answered
select count(distinct "rows"."customer_id") + max(case when "rows"."customer_id" is null then 1 else 0 end) as "a0" from "sales" as "rows";
-- 2 answered
-- UnsupportedQuery: line 1, column 61: customer_id tells units apart, and no condition or group may | count them: COUNT(DISTINCT customer_id)
select count(distinct "rows"."category") as "a0" from "sales" as "rows";
-- 2 answered
-- answered
select "rows"."region" as "region", count(distinct "rows"."segment") as "a0" from "sales" as "rows" group by "rows"."region" limit 1000001;
-- 2 answered
-- answered
select min("rows"."order_date") as "a0", max("rows"."order_date") as "a1" from (select "order_date" from "sales") "rows";
-- 1 answered
-- answered
select min("rows"."age") as "a0", max("rows"."age") as "a1" from "adult" as "rows" where "rows"."sex" = 'Male';
-- 1 answered
-- answered
select "rows"."carrier" as "carrier", min("rows"."dep_delay") as "a0" from "flights" as "rows" group by "rows"."carrier" limit 1000001;
-- 1 answered
-- answered
select stddev_samp("rows"."sales") as "a0", var_pop("rows"."sales") as "a1" from "sales" as "rows";
-- 5 answered
-- answered
select percentile_cont(0.75) within group (order by "rows"."profit") as "a0" from "sales" as "rows";
-- 5 answered
-- answered
select "a"."name" as "c1", sum(case when "f"."cancelled" then 1 else 0 end) as "a0" from "flights" as "f" left outer join "airlines" as "a" on "f"."carrier" = "a"."carrier" group by "a"."name" limit 1000001;
-- 4 answered
-- answered
select "$Outer"."name" as "name", count(1) as "a0" from "flights" as "$Inner" left outer join (select "carrier" as "k", "name" from "airlines") as "$Outer" on ("$Inner"."carrier" = "$Outer"."k") group by "$Outer"."name";
-- 4 answered
-- answered
select count(*) as "a0" from "flights" as "f" inner join "airports" as "p" on "f"."dest" = "p"."faa" where "p"."state" = 'CA' and "p"."alt" < 100;
-- 4 answered
-- answered
SELECT TOP (1000001) * FROM (SELECT [t0].[region] AS [c1], SUM([t0].[sales]) AS [a0] FROM [sales] AS [t0] GROUP BY [t0].[region]) AS [MainTable];
-- 12 refused: LIMIT
-- UnsupportedQuery: line 1, column 8: TOP is not answered | write LIMIT 1000001 at the end
SELECT TOP (502) "t0"."segment" AS "c1", COUNT_BIG(*) AS "a0" FROM "sales" AS "t0" GROUP BY "t0"."segment";
-- 12 refused: LIMIT
-- UnsupportedQuery: line 1, column 8: TOP is not answered | write LIMIT 502 at the end
SELECT COUNT_BIG(*) AS "a0" FROM "sales" AS "t0";
-- 12 refused: count
-- UnsupportedQuery: line 1, column 8: the function count_big is not answered | write count(*)
SELECT DISTINCT "t0"."region" AS "c1", "t0"."segment" AS "c2" FROM "sales" AS "t0" ORDER BY "c1", "c2" LIMIT 101;
-- 0 answered
-- answered
select "_"."order_date", "_"."sales" from "sales" as "_" limit 200;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
select "TABLE_NAME", "TABLE_SCHEMA" from information_schema.tables where table_type = 'BASE TABLE';
-- 11 answered
-- answered
select c.column_name, c.ordinal_position, c.is_nullable, c.data_type from information_schema.columns c where c.table_schema = 'main' and c.table_name = 'adult' order by c.ordinal_position;
-- 11 answered
-- answered

-- ## Sent by tools and courses, written before any was tried
select top_rows.region, top_rows.a0 from (select rows_.region, sum(rows_.sales) as a0 from (select * from sales) as rows_ group by rows_.region) as top_rows where not top_rows.a0 is null order by top_rows.a0 desc limit 1001;
-- 0 answered
-- answered
select count(distinct(customer_id)) + max(case when customer_id is null then 1 else 0 end) as a0 from sales;
-- 2 refused: COUNT(DISTINCT customer_id)
-- UnsupportedQuery: line 1, column 53: customer_id tells units apart, and no condition or group may | count them: COUNT(DISTINCT customer_id)
select sum(case when quantity > 5 then 1 else 0 end) c1, sum(case when quantity <= 5 then 1 else 0 end) c2, avg(cast(quantity as double)) c3 from sales where order_date >= timestamp '2023-03-01 00:00:00' and order_date < timestamp '2023-06-01 00:00:00';
-- 0 answered
-- answered
