-- ## On the policy that init drafts of a whole database
SELECT COUNT(*) FROM trips;
-- 13 answered
-- answered
SELECT vendor, COUNT(*) FROM trips GROUP BY vendor;
-- 13 answered
-- answered
SELECT zone, COUNT(*) AS n FROM trips GROUP BY zone ORDER BY n DESC;
-- 13 answered
-- answered
SELECT z.borough, COUNT(*) FROM trips t JOIN zones z ON t.zone = z.zone GROUP BY z.borough;
-- 13 answered
-- answered
SELECT COUNT(*) FROM trips WHERE zone IN (SELECT zone FROM zones WHERE borough = 'Queens');
-- 13 answered
-- answered
SELECT * FROM zones ORDER BY zone;
-- 13 answered
-- answered
SELECT borough, COUNT(*) FROM zones GROUP BY borough;
-- 13 answered
-- answered
SELECT AVG(distance), SUM(fare) FROM trips WHERE passengers > 2;
-- 13 answered
-- answered
SELECT passengers, COUNT(*) FROM trips GROUP BY passengers;
-- 13 answered
-- answered
SELECT date_trunc('month', day) AS m, COUNT(*) FROM trips GROUP BY m ORDER BY m;
-- 13 answered
-- answered
SELECT day, COUNT(*) FROM trips WHERE day >= DATE '2024-03-01' GROUP BY day ORDER BY day;
-- 13 answered
-- answered
SELECT COUNT(DISTINCT rider) FROM trips;
-- 13 answered
-- answered
SELECT p.label, COUNT(*) FROM trips t LEFT JOIN payments p ON t.payment = p.payment GROUP BY p.label;
-- 13 answered
-- answered
SELECT hour, COUNT(*) FROM trips GROUP BY hour ORDER BY hour;
-- 13 answered
-- answered
