-- What the synthetic table should answer well: counts, one query for each group.
SELECT sex, income, COUNT(*) FROM adult GROUP BY ALL;
SELECT education, COUNT(*) FROM adult WHERE hours_per_week >= 41 GROUP BY education;
SELECT age // 10 * 10 AS decade, income, COUNT(*) FROM adult GROUP BY ALL;
SELECT COUNT(*) FROM adult WHERE workclass = 'Private' AND marital_status = 'Never-married' AND age < 30;
