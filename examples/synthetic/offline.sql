-- What the synthetic table should answer well. Every count is one query, every group of a GROUP BY one more.
SELECT sex, income, COUNT(*) AS people FROM adult GROUP BY sex, income;
SELECT education, income, COUNT(*) AS people FROM adult GROUP BY education, income;
SELECT COUNT(*) AS working_long FROM adult WHERE hours_per_week >= 41 AND sex = 'Male';
SELECT COUNT(*) AS young_and_rich FROM adult WHERE age < 30 AND income = '>50K';
