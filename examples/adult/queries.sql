-- Questions on UCI Adult: 48,842 people of the 1994 US census (Becker and Kohavi 1996, CC BY 4.0).
-- dpsql run data/adult.duckdb examples/adult/queries.sql

-- How many people are there? The row count itself is private.
SELECT COUNT(*) AS people FROM adult;

-- One condition.
SELECT COUNT(*) AS n FROM adult WHERE age >= 65;

-- The same question in other words: the same answer, free.
SELECT COUNT(*) AS n FROM adult WHERE NOT (age < 65);

-- Every declared cell is shown, also the empty ones.
SELECT sex, income, COUNT(*) AS n FROM adult GROUP BY sex, income;

-- A released table is an ordinary table: HAVING, ORDER BY and LIMIT cost nothing.
SELECT education, COUNT(*) AS n
FROM adult
WHERE income = '>50K'
GROUP BY education
HAVING n > 500
ORDER BY n DESC
LIMIT 5;

-- Averages come from the declared values.
SELECT income, AVG(age) AS years FROM adult GROUP BY income;

-- Conditions inside the aggregate.
SELECT
    COUNT(*) FILTER (WHERE hours_per_week >= 41) AS long_hours,
    SUM(CASE WHEN workclass LIKE '%-gov' THEN 1 ELSE 0 END) AS government
FROM adult;

-- A share, computed from two released numbers.
WITH by_sex AS (
    SELECT sex, COUNT(*) AS n, COUNT(*) FILTER (WHERE income = '>50K') AS rich FROM adult GROUP BY sex
)
SELECT sex, round(100 * rich / n) AS percent FROM by_sex;
