-- Questions on the pet licences of Seattle (City of Seattle Open Data, public domain).
-- dpsql run data/pets.duckdb examples/pets/queries.sql -p zip=98103

SELECT species, COUNT(*) AS n FROM pets GROUP BY species;

-- animal_name is unbounded: nobody listed the names in advance. Ask for those that you know.
SELECT COUNT(*) AS n FROM pets WHERE animal_name = 'Luna';

SELECT COUNT(*) AS n FROM pets WHERE species = 'Dog' AND animal_name IN ('Luna', 'Bella', 'Lucy', 'Charlie');

-- Or for those in a public table.
SELECT COUNT(*) AS n FROM pets WHERE animal_name IN (SELECT name FROM baby_names WHERE given_to = 'girl');

-- All the others: the total without them.
SELECT COUNT(*) AS n FROM pets WHERE animal_name NOT IN ('Luna', 'Bella');

-- A date column is declared by month.
SELECT COUNT(*) AS n FROM pets WHERE species = 'Cat' AND issued >= DATE '2018-01-01' AND issued < DATE '2018-07-01';

-- The parameter comes from -p zip=98103; write -p "zip='98103'" to be sure that it stays a string.
SELECT species, COUNT(*) AS n FROM pets WHERE zip_code = CAST($zip AS VARCHAR) GROUP BY species;

SELECT COUNT(*) AS n
FROM pets
WHERE zip_code IN (SELECT zip_code FROM zip_areas WHERE area = 'West Seattle');
