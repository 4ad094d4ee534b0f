-- ## Generic tests
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select sales from "memory"."main"."sales" where sales is null) dbt_internal_test;
-- 12 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select region from main.sales where region is null) dbt_internal_test;
-- 0 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (with all_values as (select segment as value_field, count(*) as n_records from main.sales group by segment) select * from all_values where value_field not in ('Consumer', 'Corporate', 'Home Office')) dbt_internal_test;
-- 10 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select customer_id as unique_field, count(*) as n_records from main.sales where customer_id is not null group by customer_id having count(*) > 1) dbt_internal_test;
-- 3 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (with child as (select carrier as from_field from main.flights where carrier is not null), parent as (select carrier as to_field from main.airlines) select from_field from child left join parent on child.from_field = parent.to_field where parent.to_field is null) dbt_internal_test;
-- 4 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select 1 from main.sales where not (sales >= 0)) dbt_internal_test;
-- 0 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select 1 from main.sales where not (profit <= sales)) dbt_internal_test;
-- 6 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (with validation as (select region, sum(case when quantity > 0 then 1 else 0 end) as ok, count(*) as total from main.sales group by region) select * from validation where ok < 0.95 * total) dbt_internal_test;
-- 0 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select max(order_date) as most_recent from main.sales having max(order_date) < date '2023-12-01') dbt_internal_test;
-- 1 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (with grouped_expression as (select (min(score) >= 0 and max(score) <= 100) as expression from main.students) select * from grouped_expression where not (expression)) dbt_internal_test;
-- 1 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select avg(score) as m from main.students having not (avg(score) between 40 and 80)) dbt_internal_test;
-- 0 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select stddev(score) as s from main.students having stddev(score) > 40) dbt_internal_test;
-- 5 answered
-- answered
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select count(distinct course) as n from main.students having count(distinct course) < 3) dbt_internal_test;
-- 2 answered
-- answered
with a as (select count(*) as count_a from main.flights where month = 1), b as (select count(*) as count_b from main.flights where month = 2), final as (select count_a, count_b, abs(count_a - count_b) as diff_count from a cross join b) select * from final;
-- 0 answered
-- answered
select count(*) as failures from (select * from (select month, day, carrier, origin, dest, count(*) as n from main.flights group by 1, 2, 3, 4, 5) where n > 1) dbt_internal_test;
-- 6 answered
-- answered

-- ## Singular tests and models
select course, sum(score) as total from main.students group by 1 having not(total >= 0);
-- 0 answered
-- answered
select order_date, count(*) as n from main.sales group by order_date having count(*) = 0;
-- 0 answered
-- answered
with daily as (select order_date, sum(sales) as revenue from main.sales group by 1) select order_date, revenue, avg(revenue) over (order by order_date rows between 6 preceding and current row) as weekly from daily;
-- 0 answered
-- answered
with months as (select unnest(generate_series(1, 12)) as m), n as (select month, count(*) as c from main.flights group by 1) select m, coalesce(c, 0) from months left join n on m = month order by m;
-- 11 answered
-- answered
with source as (select * from main.students), renamed as (select grade as school_grade, score, case when passed then 'yes' else 'no' end as outcome from source) select outcome, avg(score) from renamed group by outcome;
-- 0 answered
-- answered
with first_orders as (select customer_id, min(order_date) as first_order from main.sales group by 1) select date_trunc('month', first_order) as cohort, count(*) from first_orders group by 1;
-- 3 unanswerable: it takes the first row of each unit
-- UnsupportedQuery: line 1, column 129: of each customer_id only the number of rows is answered | count units by COUNT(*), or sum over all of them
with orders as (select customer_id, count(*) as number_of_orders from main.sales group by 1) select number_of_orders, count(*) as customers from orders group by 1 order by 1;
-- 3 answered
-- answered
select sum(case when name is null or trim(name) = '' then 1 else 0 end) as blank, count(*) as total from main.students;
-- 7 answered
-- answered
select region, segment, count(*) from main.sales where sales > (select quantile_cont(sales, 0.9) from main.sales) group by 1, 2;
-- 8 answered
-- answered
select count(*) from main.students where name like '% %';
-- 7 answered
-- answered
select * from main.sales where sales < 0;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table sales | count them: SELECT COUNT(*), with GROUP BY for a breakdown
BEGIN;
-- 11 answered
-- answered
COMMIT;
-- 11 answered
-- answered
ROLLBACK;
-- 11 answered
-- answered
begin transaction;
-- 11 answered
-- answered
create or replace view main.summary as select region, count(*) as n from main.sales group by region;
-- 11 answered
-- answered
select table_name, table_schema, table_type from information_schema.tables where table_schema = 'main';
-- 11 answered
-- answered
select column_name, data_type, character_maximum_length, numeric_precision, numeric_scale from information_schema.columns where table_name = 'students' order by ordinal_position;
-- 11 answered
-- answered
select case when count(*) > 0 then 'has rows' else 'empty' end from main.emp;
-- 0 answered
-- answered

-- ## Sent by tools and courses, written before any was tried
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select * from sales where quantity < 0) dbt_internal_test;
-- 0 answered
-- answered
with all_values as (select region as value_field, count(*) as n_records from sales group by region) select * from all_values where value_field not in ('East','West','South');
-- 0 answered
-- answered
select sum(case when product_name is null then 1 else 0 end) / count(*)::double as pct_null from sales;
-- 0 answered
-- answered
select order_date, count(*) as n from sales group by 1 having count(*) < 1;
-- 0 answered
-- answered
select 'adult' as tbl, count(*) as n from adult union all select 'emp', count(*) from emp;
-- 0 answered
-- answered
with a as (select count(*) as n from sales where returned), b as (select count(*) as n from sales) select a.n, b.n, a.n * 100.0 / nullif(b.n, 0) as pct from a cross join b;
-- 0 answered
-- answered
select count(*) - count(distinct customer_id) as dup from sales;
-- 2 answered
-- answered
