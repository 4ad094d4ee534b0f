-- ## As written
select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price, sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty, avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus;
-- 6 answered
-- answered
select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, avg(l_quantity) as avg_qty, count(*) as count_order from lineitem where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus;
-- 0 answered
-- answered
select sum(l_extendedprice * l_discount) as revenue from lineitem where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24;
-- 6 answered
-- answered
select sum(l_extendedprice * (1 - l_discount)) as sum_disc_price from lineitem where l_quantity < 24;
-- 6 answered
-- answered
select count(*) from lineitem where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24;
-- 0 answered
-- answered
select o_orderpriority, count(*) as order_count from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-07-01' + interval '3' month group by o_orderpriority order by o_orderpriority;
-- 0 answered
-- answered
select o_orderpriority, count(*) as order_count from orders where o_orderdate >= date '1993-07-01' and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) group by o_orderpriority order by o_orderpriority;
-- 4 unanswerable: it joins two private tables by a key that neither declares
-- UnknownName: line 1, column 141: there is no column 'l_orderkey' in lineitem | did you mean l_partkey?
select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) from customer left outer join orders on c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey) as c_orders (c_custkey, c_count) group by c_count order by custdist desc, c_count desc;
-- 4 unanswerable: it joins two private tables by a key that neither declares
-- UnsupportedQuery: line 1, column 110: a join of private tables | count each in its own subquery, or ask the owner for a view of both, declared with its unit
select c_count, count(*) as custdist from (select o_custkey, count(*) from orders group by o_custkey) as c_orders (c_custkey, c_count) group by c_count order by custdist desc, c_count desc;
-- 3 answered
-- answered
select o_custkey, count(*) from orders group by o_custkey having count(*) > 3;
-- 3 unanswerable: it names units
-- UnsupportedQuery: line 1, column 8: this lists each o_custkey of orders | count them by their rows: SELECT n, COUNT(*) FROM (SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey) GROUP BY n
select count(*) from (select o_custkey from orders group by o_custkey having count(*) >= 2) as t;
-- 3 answered
-- answered
select count(*) from (select o_custkey from orders group by o_custkey having sum(o_totalprice) > 300000) as t;
-- 3 unanswerable: it sums a number for each unit
-- UnsupportedQuery: line 1, column 78: of each o_custkey only the number of rows is answered | count units by COUNT(*), or sum over all of them
select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / sum(l_extendedprice * (1 - l_discount)) as promo_revenue from lineitem, part where l_partkey = p_partkey and l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-09-01' + interval '1' month;
-- 4 answered
-- answered
select p_brand, p_type, p_size, count(*) as n from lineitem, part where p_partkey = l_partkey and p_brand <> 'Brand#23' and p_size in (4, 8, 12) group by p_brand, p_type, p_size order by n desc, p_brand, p_type, p_size;
-- 4 answered
-- answered
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand = 'Brand#23' and p_container = 'MED BAG' and l_quantity < 10;
-- 4 answered
-- answered
select n_name, sum(l_extendedprice) as revenue from lineitem, supplier, nation where l_suppkey = s_suppkey and s_nationkey = n_nationkey group by n_name order by revenue desc;
-- 4 answered
-- answered
select n_name, count(*) from customer, nation, region where c_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE' group by n_name order by n_name;
-- 4 answered
-- answered
select n_name, c_mktsegment, avg(c_acctbal) from customer join nation on c_nationkey = n_nationkey group by n_name, c_mktsegment;
-- 4 answered
-- answered
select count(*) from customer where c_nationkey in (select n_nationkey from nation where n_name in ('FRANCE', 'GERMANY'));
-- 0 answered
-- answered
select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal from (select substring(c_phone from 1 for 2) as cntrycode, c_acctbal from customer where substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17')) as custsale group by cntrycode order by cntrycode;
-- 12 answered
-- answered
select count(*) as numcust from customer where substring(c_phone from 1 for 2) in ('13', '31') and c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00);
-- 8 answered
-- answered
select count(*) from customer where c_acctbal > (select avg(c_acctbal) from customer);
-- 8 answered
-- answered
select count(*) from lineitem where l_quantity < (select 0.2 * avg(l_quantity) from lineitem);
-- 8 answered
-- answered
select l_shipmode, sum(case when l_quantity > 25 then 1 else 0 end) as high_line_count, sum(case when l_quantity <= 25 then 1 else 0 end) as low_line_count from lineitem where l_shipmode in ('MAIL', 'SHIP') and l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' group by l_shipmode order by l_shipmode;
-- 0 answered
-- answered
select extract(year from l_shipdate) as l_year, sum(l_extendedprice) as volume from lineitem where l_shipdate between date '1995-01-01' and date '1996-12-31' group by l_year order by l_year;
-- 0 answered
-- answered
select year(o_orderdate) as o_year, o_orderstatus, count(*), sum(o_totalprice) from orders group by 1, 2 order by 1, 2;
-- 0 answered
-- answered
select c_mktsegment, count(*) as n, avg(c_acctbal) as balance from customer group by c_mktsegment having count(*) > 10 order by balance desc;
-- 0 answered
-- answered
with revenue as (select l_suppkey as supplier_no, sum(l_extendedprice) as total_revenue from lineitem where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01' group by l_suppkey) select supplier_no, total_revenue from revenue where total_revenue = (select max(total_revenue) from revenue) order by supplier_no;
-- 0 answered
-- answered
with revenue as (select l_suppkey as supplier_no, sum(l_extendedprice) as total_revenue from lineitem group by l_suppkey) select s_suppkey, n_name, total_revenue from supplier join revenue on s_suppkey = supplier_no join nation on s_nationkey = n_nationkey order by total_revenue desc limit 5;
-- 0 answered
-- answered
select sum(l_extendedprice) as revenue from lineitem where (l_shipinstruct = 'DELIVER IN PERSON' and l_shipmode in ('AIR', 'REG AIR') and l_quantity between 1 and 11) or (l_shipinstruct = 'DELIVER IN PERSON' and l_shipmode in ('AIR', 'REG AIR') and l_quantity between 20 and 30);
-- 0 answered
-- answered
select o_comment, count(*) from orders where o_comment not like '%special%requests%' group by o_comment;
-- 7 answered
-- answered
select count(*) from orders where o_comment like '%special%requests%';
-- 7 answered
-- answered
select max(l_shipdate), min(l_shipdate) from lineitem;
-- 1 answered
-- answered
select l_suppkey, max(l_extendedprice) from lineitem group by l_suppkey;
-- 1 answered
-- answered
select count(distinct l_suppkey) from lineitem where l_shipmode = 'AIR';
-- 2 answered
-- answered
select * from lineitem where l_quantity > 49 limit 20;
-- 0 unanswerable: it shows rows
-- UnsupportedQuery: line 1, column 8: this returns rows of the private table lineitem | count them: SELECT COUNT(*), with GROUP BY for a breakdown

-- ## Sent by tools and courses, written before any was tried
select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / sum(l_extendedprice * (1 - l_discount)) as promo_revenue from lineitem, part where l_partkey = p_partkey;
-- 0 answered
-- answered
select sum(l_extendedprice * l_discount) as revenue from lineitem where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year and l_discount between 0.05 and 0.07 and l_quantity < 24;
-- 0 answered
-- answered
select n_name, count(*) as custs, avg(c_acctbal) as bal from customer, nation where c_nationkey = n_nationkey group by n_name order by custs desc;
-- 0 answered
-- answered
select r_name, n_name, count(*) from customer join nation on c_nationkey = n_nationkey join region on n_regionkey = r_regionkey group by rollup (r_name, n_name);
-- 0 answered
-- answered
select o_orderpriority, count(*) as order_count from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01' and o_totalprice > 1000 group by o_orderpriority order by o_orderpriority;
-- 0 answered
-- answered
select substring(c_phone from 1 for 2) as cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal from customer where substring(c_phone from 1 for 2) in ('13','31','23') group by cntrycode order by cntrycode;
-- 7 answered
-- answered
select c_mktsegment, count(*) from customer where c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00) group by c_mktsegment;
-- 0 answered
-- answered
with rev as (select l_suppkey as supplier_no, sum(l_quantity) as total from lineitem group by l_suppkey) select s_suppkey, total from supplier, rev where s_suppkey = supplier_no and total = (select max(total) from rev);
-- 0 answered
-- answered
select case when l_quantity between 1 and 20 then '1-20' when l_quantity between 21 and 40 then '21-40' else '41+' end as bucket, count(*), avg(l_discount), avg(l_tax) from lineitem group by bucket;
-- 0 answered
-- answered
select l_shipmode, sum(l_quantity) as q, sum(sum(l_quantity)) over () as tot, sum(l_quantity) * 100.0 / sum(sum(l_quantity)) over () as pct from lineitem group by l_shipmode;
-- 0 answered
-- answered
