CREATE TABLE airlines (carrier VARCHAR, name VARCHAR, alliance VARCHAR);
INSERT INTO airlines VALUES ('AA', 'American', 'oneworld'), ('AS', 'Alaska', 'oneworld'), ('B6', 'JetBlue', NULL),
  ('DL', 'Delta', 'SkyTeam'), ('UA', 'United', 'Star'), ('WN', 'Southwest', NULL);
CREATE TABLE airports (faa VARCHAR, city VARCHAR, state VARCHAR, alt INTEGER);
INSERT INTO airports VALUES ('ATL', 'Atlanta', 'GA', 1026), ('BOS', 'Boston', 'MA', 19), ('LAX', 'Los Angeles', 'CA', 126),
  ('MIA', 'Miami', 'FL', 8), ('ORD', 'Chicago', 'IL', 668), ('SFO', 'San Francisco', 'CA', 13), ('EWR', 'Newark', 'NJ', 18),
  ('JFK', 'New York', 'NY', 13), ('LGA', 'New York', 'NY', 22);
CREATE TABLE nation (n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER);
INSERT INTO nation VALUES (0, 'ALGERIA', 0), (1, 'BRAZIL', 1), (2, 'CHINA', 2), (3, 'FRANCE', 3), (4, 'GERMANY', 3), (5, 'EGYPT', 4);
CREATE TABLE region (r_regionkey INTEGER, r_name VARCHAR);
INSERT INTO region VALUES (0, 'AFRICA'), (1, 'AMERICA'), (2, 'ASIA'), (3, 'EUROPE'), (4, 'MIDDLE EAST');
CREATE TABLE part AS SELECT i AS p_partkey, ['Brand#12', 'Brand#23', 'Brand#34'][1 + i % 3] AS p_brand,
  ['PROMO TIN', 'ECONOMY STEEL', 'STANDARD BRASS', 'PROMO NICKEL'][1 + i % 4] AS p_type, 1 + i % 15 AS p_size,
  ['SM CASE', 'MED BAG', 'LG BOX'][1 + i % 3] AS p_container FROM range(1, 41) AS t(i);
CREATE TABLE supplier AS SELECT i AS s_suppkey, i % 6 AS s_nationkey FROM range(1, 21) AS t(i);
CREATE TABLE dept (deptno INTEGER, dname VARCHAR, loc VARCHAR);
INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS'), (30, 'SALES', 'CHICAGO'), (40, 'OPERATIONS', 'BOSTON');
CREATE TABLE managers (region VARCHAR, manager VARCHAR);
INSERT INTO managers VALUES ('East', 'Desk 1'), ('West', 'Desk 2'), ('South', 'Desk 3'), ('Central', 'Desk 4');
